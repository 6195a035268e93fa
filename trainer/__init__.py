"""Trains, evaluates and exports TensorFlow Estimators."""

# First, because it keeps files of the current folder from being imported as modules.
import estimator_bridge as estimator_bridge
from trainer import signals

# Before the modules are imported that take seconds.
signals.end_at_sigterm()
