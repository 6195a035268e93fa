"""Trains, evaluates and exports TensorFlow Estimators."""

# First, because it keeps the files of the current folder from being imported as modules.
import estimator_bridge as estimator_bridge
