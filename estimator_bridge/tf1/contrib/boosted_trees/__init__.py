"""`tf.contrib.boosted_trees`: gradient boosted trees, as TensorFlow had them until 1.14."""

from estimator_bridge.tf1.contrib.boosted_trees import estimator_batch, proto
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.dnn_tree_combined_estimator import (
    DNNBoostedTreeCombinedClassifier,
    DNNBoostedTreeCombinedRegressor,
)
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.estimator import (
    GradientBoostedDecisionTreeClassifier,
    GradientBoostedDecisionTreeEstimator,
    GradientBoostedDecisionTreeRanker,
    GradientBoostedDecisionTreeRegressor,
)
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "DNNBoostedTreeCombinedClassifier",
    "DNNBoostedTreeCombinedRegressor",
    "GradientBoostedDecisionTreeClassifier",
    "GradientBoostedDecisionTreeEstimator",
    "GradientBoostedDecisionTreeRanker",
    "GradientBoostedDecisionTreeRegressor",
    "estimator_batch",
    "proto",
]

__getattr__, _advice_for = _unsupported_names(globals(), estimator_batch.INSTEAD)
