"""The Estimators of `tf.contrib.boosted_trees`."""

from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch import (
    dnn_tree_combined_estimator,
    estimator,
)
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.instead import INSTEAD
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = ["INSTEAD", "dnn_tree_combined_estimator", "estimator"]

__getattr__, _advice_for = _unsupported_names(globals(), INSTEAD)
