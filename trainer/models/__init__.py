"""Estimators by name."""
