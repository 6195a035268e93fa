"""The protocol buffer messages in which checkpoints of `tf.contrib.tensor_forest` keep a tree.

The field numbers are those of TensorFlow 1.x; later versions no longer contain the messages. A map
is written as its entries, which is the same on the wire.
"""

from estimator_bridge.message_tables import Messages, OneOf, make_classes

__all__ = ["FertileStats", "Model", "read_numbers", "write_numbers"]

_MESSAGES: Messages = {
    "Int32Value": (("value", 1, "int32", False),),
    "StringValue": (("value", 1, "string", False),),
    "FeatureId": (("id", 1, "StringValue", False),),
    "Value": (("float_value", 1, "float", False),),
    "Vector": (("value", 1, "Value", True),),
    "SparseValueEntry": (("key", 1, "int64", False), ("value", 2, "Value", False)),
    "SparseVector": (("sparse_value", 1, "SparseValueEntry", True),),
    "Leaf": (("vector", 1, "Vector", False), ("sparse_vector", 2, "SparseVector", False)),
    "InequalityTest": (
        ("feature_id", 1, "FeatureId", False),
        # 0: less or equal, 1: less.
        ("type", 2, "int32", False),
        ("threshold", 3, "Value", False),
    ),
    "Any": (("type_url", 1, "string", False), ("value", 2, "bytes", False)),
    "BinaryNode": (
        ("left_child_id", 1, "Int32Value", False),
        ("right_child_id", 2, "Int32Value", False),
        ("default_direction", 3, "int32", False),
        ("inequality_left_child_test", 4, "InequalityTest", False),
        ("custom_left_child_test", 5, "Any", False),
    ),
    "TreeNode": (
        ("node_id", 1, "Int32Value", False),
        ("binary_node", 4, "BinaryNode", False),
        ("leaf", 5, "Leaf", False),
    ),
    "DecisionTree": (("nodes", 1, "TreeNode", True),),
    "Model": (("decision_tree", 1, "DecisionTree", False),),
    "Gini": (("square", 2, "float", False),),
    "Classification": (
        ("dense_counts", 1, "Vector", False),
        ("sparse_counts", 2, "SparseVector", False),
        ("gini", 3, "Gini", False),
    ),
    "Regression": (
        ("mean_output", 1, "Vector", False),
        ("mean_output_squares", 2, "Vector", False),
    ),
    "LeafStat": (
        ("classification", 1, "Classification", False),
        ("regression", 2, "Regression", False),
        ("weight_sum", 3, "float", False),
    ),
    "SplitCandidate": (
        ("split", 1, "BinaryNode", False),
        ("left_stats", 4, "LeafStat", False),
        ("right_stats", 5, "LeafStat", False),
    ),
    "FertileSlot": (
        ("candidates", 1, "SplitCandidate", True),
        ("leaf_stats", 4, "LeafStat", False),
        ("node_id", 5, "int32", False),
        ("post_init_leaf_stats", 6, "LeafStat", False),
        ("depth", 7, "int32", False),
    ),
    "FertileStats": (("node_to_slot", 1, "FertileSlot", True),),
}
_ONE_OF: OneOf = {
    "Value": {"kind": ("float_value",)},
    "Leaf": {"leaf": ("vector", "sparse_vector")},
    "BinaryNode": {
        "left_child_test": ("inequality_left_child_test", "custom_left_child_test"),
    },
    "TreeNode": {"node_type": ("binary_node", "leaf")},
    "LeafStat": {"leaf_stat": ("classification", "regression")},
}

_classes = make_classes("estimator_bridge.tensor_forest", _MESSAGES, _ONE_OF)
Model = _classes["Model"]
FertileStats = _classes["FertileStats"]


def write_numbers(vector, numbers):
    """Writes numbers to a Vector, or those that are not 0 to a SparseVector.

    Args:
      vector: the message, empty.
      numbers: list of floats.
    """
    if vector.DESCRIPTOR.name == "Vector":
        for number in numbers:
            vector.value.add(float_value=number)
        return
    # Also if all of them are 0.
    vector.SetInParent()
    for key, number in enumerate(numbers):
        if number:
            entry = vector.sparse_value.add(key=key)
            entry.value.float_value = number


def read_numbers(vector, numbers):
    """Reads numbers of a Vector or SparseVector.

    Args:
      vector: the message.
      numbers: float32 [n], zeros, to which they are written.
    """
    if vector.DESCRIPTOR.name == "Vector":
        found = [one.float_value for one in vector.value]
        numbers[: len(found)] = found
        return
    for entry in vector.sparse_value:
        numbers[entry.key] = entry.value.float_value
