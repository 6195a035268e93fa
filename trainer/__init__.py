"""Trains, evaluates and exports TensorFlow Estimators."""

from trainer import signals

# Before anything else is imported, which may take seconds.
signals.end_at_sigterm()
