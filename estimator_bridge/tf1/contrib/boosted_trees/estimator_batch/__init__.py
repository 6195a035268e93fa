"""The Estimators of `tf.contrib.boosted_trees`."""

from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch import estimator

__all__ = ["estimator"]
