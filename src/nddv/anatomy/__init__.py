"""The anatomy of one run: trajectories, the functions of its control, and kernels compared."""
