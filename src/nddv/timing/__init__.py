"""Run times of methods on synthetic data."""
