"""The Estimators of `tf.contrib.boosted_trees`."""

from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch import (
    dnn_tree_combined_estimator,
    estimator,
)

__all__ = ["dnn_tree_combined_estimator", "estimator"]
