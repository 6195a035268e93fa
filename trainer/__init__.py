"""Trains, evaluates and exports TensorFlow Estimators."""
