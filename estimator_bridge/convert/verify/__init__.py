"""Compares an Estimator with its Keras model on the same rows."""
