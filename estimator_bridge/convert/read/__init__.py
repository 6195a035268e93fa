"""Reads an Estimator, a job_dir, a checkpoint or rows of data; returns plans and NumPy arrays."""
