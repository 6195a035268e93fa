"""Builds a plan from an Estimator or from a job directory."""
