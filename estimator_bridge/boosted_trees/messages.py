"""The protocol buffer messages in which checkpoints of boosted trees keep their ensemble.

The field numbers are those of TensorFlow up to 2.8; later versions no longer contain the messages.
Fields that no Estimator wrote are left out: protocol buffers keep them as unknown fields.
"""

from typing import Any

from ..message_tables import make_classes

__all__ = ["DebugOutput", "TreeEnsemble"]

# Message -> the name of a group of fields of which one is set -> those fields.
_ONE_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "Leaf": {"leaf": ("vector",)},
    "Node": {"node": ("leaf", "bucketized_split", "categorical_split")},
}

# Message -> (field, number, type, repeated). A type with a capital is another message.
_MESSAGES: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "Vector": (("value", 1, "float", True),),
    "Leaf": (("vector", 1, "Vector", False), ("scalar", 3, "float", False)),
    "BucketizedSplit": (
        ("feature_id", 1, "int32", False),
        ("threshold", 2, "int32", False),
        ("left_id", 3, "int32", False),
        ("right_id", 4, "int32", False),
        ("dimension_id", 5, "int32", False),
        # 0: missing values go to the left, 1: to the right.
        ("default_direction", 6, "int32", False),
    ),
    "CategoricalSplit": (
        ("feature_id", 1, "int32", False),
        ("value", 2, "int32", False),
        ("left_id", 3, "int32", False),
        ("right_id", 4, "int32", False),
        ("dimension_id", 5, "int32", False),
    ),
    "NodeMetadata": (("gain", 1, "float", False), ("original_leaf", 2, "Leaf", False)),
    "Node": (
        ("leaf", 1, "Leaf", False),
        ("bucketized_split", 2, "BucketizedSplit", False),
        ("categorical_split", 3, "CategoricalSplit", False),
        ("metadata", 777, "NodeMetadata", False),
    ),
    "Tree": (("nodes", 1, "Node", True),),
    "PostPruneNodeUpdate": (("new_node_id", 1, "int32", False), ("logit_change", 2, "float", True)),
    "TreeMetadata": (
        ("num_layers_grown", 2, "int32", False),
        ("is_finalized", 3, "bool", False),
        ("post_pruned_nodes_meta", 4, "PostPruneNodeUpdate", True),
    ),
    "GrowingMetadata": (
        ("num_trees_attempted", 1, "int64", False),
        ("num_layers_attempted", 2, "int64", False),
        ("last_layer_node_start", 3, "int32", False),
        ("last_layer_node_end", 4, "int32", False),
    ),
    "TreeEnsemble": (
        ("trees", 1, "Tree", True),
        ("tree_weights", 2, "float", True),
        ("tree_metadata", 3, "TreeMetadata", True),
        ("growing_metadata", 4, "GrowingMetadata", False),
    ),
    "DebugOutput": (
        ("feature_ids", 1, "int32", True),
        ("logits_path", 2, "float", True),
        ("leaf_node_ids", 3, "int32", True),
    ),
}


_classes = make_classes("estimator_bridge.boosted_trees", _MESSAGES, _ONE_OF)
TreeEnsemble: Any = _classes["TreeEnsemble"]
DebugOutput: Any = _classes["DebugOutput"]
