"""The protocol buffer messages of `tf.contrib.boosted_trees`: options, trees and quantiles.

Names and field numbers are those of TensorFlow 1.14, whose checkpoints hold such messages.
"""

from typing import Any

from ..message_tables import Messages, OneOf, make_classes

__all__ = ["LEARNER", "QUANTILES", "TREES", "Ensemble", "LearnerConfig", "StreamState", "TreeNode"]

_OPTIONS: Messages = {
    "TreeRegularizationConfig": (
        ("l1", 1, "float", False),
        ("l2", 2, "float", False),
        ("tree_complexity", 3, "float", False),
    ),
    "TreeConstraintsConfig": (
        ("max_tree_depth", 1, "uint32", False),
        ("min_node_weight", 2, "float", False),
        ("max_number_of_unique_feature_columns", 3, "int64", False),
    ),
    "LearningRateConfig": (
        ("fixed", 1, "LearningRateFixedConfig", False),
        ("dropout", 2, "LearningRateDropoutDrivenConfig", False),
        ("line_search", 3, "LearningRateLineSearchConfig", False),
    ),
    "LearningRateFixedConfig": (("learning_rate", 1, "float", False),),
    "LearningRateLineSearchConfig": (
        ("max_learning_rate", 1, "float", False),
        ("num_steps", 2, "int32", False),
    ),
    "AveragingConfig": (
        ("average_last_n_trees", 1, "float", False),
        ("average_last_percent_trees", 2, "float", False),
    ),
    "LearningRateDropoutDrivenConfig": (
        ("dropout_probability", 1, "float", False),
        ("probability_of_skipping_dropout", 2, "float", False),
        ("learning_rate", 3, "float", False),
    ),
    "LearnerConfig": (
        ("num_classes", 1, "uint32", False),
        ("feature_fraction_per_tree", 2, "float", False),
        ("feature_fraction_per_level", 3, "float", False),
        ("regularization", 4, "TreeRegularizationConfig", False),
        ("constraints", 5, "TreeConstraintsConfig", False),
        ("pruning_mode", 8, "PruningMode", False),
        ("growing_mode", 9, "GrowingMode", False),
        ("learning_rate_tuner", 6, "LearningRateConfig", False),
        ("multi_class_strategy", 10, "MultiClassStrategy", False),
        ("averaging_config", 11, "AveragingConfig", False),
        ("weak_learner_type", 12, "WeakLearnerType", False),
    ),
}
_OPTIONS_ONE_OF: OneOf = {
    "LearningRateConfig": {"tuner": ("fixed", "dropout", "line_search")},
    "AveragingConfig": {"config": ("average_last_n_trees", "average_last_percent_trees")},
    "LearnerConfig": {
        "feature_fraction": ("feature_fraction_per_tree", "feature_fraction_per_level")
    },
}
_OPTIONS_ENUMS = {
    "LearnerConfig": {
        "PruningMode": ("PRUNING_MODE_UNSPECIFIED", "PRE_PRUNE", "POST_PRUNE"),
        "GrowingMode": ("GROWING_MODE_UNSPECIFIED", "WHOLE_TREE", "LAYER_BY_LAYER"),
        "MultiClassStrategy": (
            "MULTI_CLASS_STRATEGY_UNSPECIFIED",
            "TREE_PER_CLASS",
            "FULL_HESSIAN",
            "DIAGONAL_HESSIAN",
        ),
        "WeakLearnerType": ("NORMAL_DECISION_TREE", "OBLIVIOUS_DECISION_TREE"),
    }
}

_SPLITS = (
    ("dense_float_binary_split", 2, "DenseFloatBinarySplit", False),
    ("sparse_float_binary_split_default_left", 3, "SparseFloatBinarySplitDefaultLeft", False),
    ("sparse_float_binary_split_default_right", 4, "SparseFloatBinarySplitDefaultRight", False),
    ("categorical_id_binary_split", 5, "CategoricalIdBinarySplit", False),
    (
        "categorical_id_set_membership_binary_split",
        6,
        "CategoricalIdSetMembershipBinarySplit",
        False,
    ),
    ("oblivious_dense_float_binary_split", 7, "ObliviousDenseFloatBinarySplit", False),
    ("oblivious_categorical_id_binary_split", 8, "ObliviousCategoricalIdBinarySplit", False),
)
_TREES: Messages = {
    "TreeNode": (
        ("leaf", 1, "Leaf", False),
        *_SPLITS,
        ("node_metadata", 777, "TreeNodeMetadata", False),
    ),
    "TreeNodeMetadata": (
        ("gain", 1, "float", False),
        ("original_leaf", 2, "Leaf", False),
        ("original_oblivious_leaves", 3, "Leaf", True),
    ),
    "Leaf": (("vector", 1, "Vector", False), ("sparse_vector", 2, "SparseVector", False)),
    "Vector": (("value", 1, "float", True),),
    "SparseVector": (("index", 1, "int32", True), ("value", 2, "float", True)),
    "DenseFloatBinarySplit": (
        ("feature_column", 1, "int32", False),
        ("dimension_id", 5, "int32", False),
        ("threshold", 2, "float", False),
        ("left_id", 3, "int32", False),
        ("right_id", 4, "int32", False),
    ),
    "SparseFloatBinarySplitDefaultLeft": (("split", 1, "DenseFloatBinarySplit", False),),
    "SparseFloatBinarySplitDefaultRight": (("split", 1, "DenseFloatBinarySplit", False),),
    "CategoricalIdBinarySplit": (
        ("feature_column", 1, "int32", False),
        ("feature_id", 2, "int64", False),
        ("left_id", 3, "int32", False),
        ("right_id", 4, "int32", False),
    ),
    "CategoricalIdSetMembershipBinarySplit": (
        ("feature_column", 1, "int32", False),
        ("feature_ids", 2, "int64", True),
        ("left_id", 3, "int32", False),
        ("right_id", 4, "int32", False),
    ),
    "ObliviousDenseFloatBinarySplit": (
        ("feature_column", 1, "int32", False),
        ("threshold", 2, "float", False),
    ),
    "ObliviousCategoricalIdBinarySplit": (
        ("feature_column", 1, "int32", False),
        ("feature_id", 2, "int64", False),
    ),
    "DecisionTreeConfig": (("nodes", 1, "TreeNode", True),),
    "DecisionTreeMetadata": (
        ("num_tree_weight_updates", 1, "int32", False),
        ("num_layers_grown", 2, "int32", False),
        ("is_finalized", 3, "bool", False),
    ),
    "GrowingMetadata": (
        ("num_trees_attempted", 1, "int64", False),
        ("num_layers_attempted", 2, "int64", False),
        ("used_handler_ids", 3, "int64", True),
    ),
    "DecisionTreeEnsembleConfig": (
        ("trees", 1, "DecisionTreeConfig", True),
        ("tree_weights", 2, "float", True),
        ("tree_metadata", 3, "DecisionTreeMetadata", True),
        ("growing_metadata", 4, "GrowingMetadata", False),
    ),
}
_TREES_ONE_OF: OneOf = {
    "TreeNode": {"node": ("leaf", *(name for name, *_ in _SPLITS))},
    "Leaf": {"leaf": ("vector", "sparse_vector")},
}

_QUANTILES: Messages = {
    "QuantileConfig": (("eps", 1, "double", False), ("num_quantiles", 2, "int64", False)),
    "QuantileEntry": (
        ("value", 1, "float", False),
        ("weight", 2, "float", False),
        ("min_rank", 3, "float", False),
        ("max_rank", 4, "float", False),
    ),
    "QuantileSummaryState": (("entries", 1, "QuantileEntry", True),),
    "QuantileStreamState": (("summaries", 1, "QuantileSummaryState", True),),
}

# Message -> its class, of the three files of messages.
LEARNER = make_classes(
    "tensorflow.boosted_trees.learner", _OPTIONS, _OPTIONS_ONE_OF, _OPTIONS_ENUMS
)
TREES = make_classes("tensorflow.boosted_trees.trees", _TREES, _TREES_ONE_OF)
QUANTILES = make_classes("boosted_trees", _QUANTILES, {})

LearnerConfig: Any = LEARNER["LearnerConfig"]
Ensemble: Any = TREES["DecisionTreeEnsembleConfig"]
TreeNode: Any = TREES["TreeNode"]
StreamState: Any = QUANTILES["QuantileStreamState"]
