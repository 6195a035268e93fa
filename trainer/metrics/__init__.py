"""Metric names and directions, baselines, and metrics by slice."""
