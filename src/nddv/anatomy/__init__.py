"""What happens inside a run: trajectories, the functions of its control, and its kernels."""
