"""The trees, as checkpoints keep them: growing by a layer, centering, pruning."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from .messages import Ensemble, LearnerConfig
from .splits import Splits

__all__ = [
    "Counts",
    "Layer",
    "center",
    "count",
    "get_leaf",
    "get_split",
    "grow",
    "is_growing",
    "parse",
]

# Centering ends when no bias changes by more than this part of itself.
_SMALLEST_CHANGE_OF_BIAS = np.float32(0.01)

# What a split is called in a checkpoint, by the kind of its feature.
_KINDS = {
    ("dense", False): "dense_float_binary_split",
    ("sparse", False): "sparse_float_binary_split_default_left",
    ("sparse", True): "sparse_float_binary_split_default_right",
    ("categorical", False): "categorical_id_binary_split",
}
_RANKS = {kind: rank for rank, kind in enumerate(_KINDS)}


class Layer(NamedTuple):
    """The best splits of a layer by one feature.

    Attributes:
      handler: the number of the feature.
      feature: its number among those of its kind.
      kind: 'dense', 'sparse' or 'categorical'.
      splits: the splits.
      class_id: the class whose logit the leaves change; None if they change all.
    """

    handler: int
    feature: int
    kind: str
    splits: Splits
    class_id: Optional[int]


class Counts(NamedTuple):
    """How far the ensemble has grown.

    Attributes:
      num_trees: how many trees have ended.
      num_layers: how many layers the trees have.
      active_tree: the number of trees, with the one that grows.
      active_layer: the number of layers of the last tree.
      attempted_trees: how often a tree was begun.
      attempted_layers: how often a layer was tried.
    """

    num_trees: int
    num_layers: int
    active_tree: int
    active_layer: int
    attempted_trees: int
    attempted_layers: int


def parse(serialized: bytes) -> Any:
    """Returns the message of a checkpoint's trees.

    Args:
      serialized: its bytes; empty before the first tree.

    Raises:
      ValueError: the bytes are no such message.
    """
    try:
        return Ensemble.FromString(serialized)
    except Exception as error:
        raise ValueError(f"the checkpoint has no ensemble of gradient trees: {error}") from error


def count(ensemble: Any) -> Counts:
    """Returns how far an ensemble has grown.

    Args:
      ensemble: the message of the trees.
    """
    meta, growing = ensemble.tree_metadata, ensemble.growing_metadata
    return Counts(
        sum(one.is_finalized for one in meta),
        sum(one.num_layers_grown for one in meta),
        len(ensemble.trees),
        meta[-1].num_layers_grown if meta else 0,
        growing.num_trees_attempted,
        growing.num_layers_attempted,
    )


def is_growing(ensemble: Any) -> bool:
    """Returns whether the last tree has not ended.

    Args:
      ensemble: the message of the trees.
    """
    return bool(ensemble.trees) and not ensemble.tree_metadata[-1].is_finalized


def count_predicted(ensemble: Any, config: Any, center_bias: bool) -> int:
    """Returns how many trees count in predictions.

    With growing_mode=WHOLE_TREE, the last tree counts once it has grown; a bias counts at once.

    Args:
      ensemble: the message of the trees.
      config: the LearnerConfig.
      center_bias: whether the first tree is the bias.
    """
    count = len(ensemble.trees)
    is_bias = center_bias and count == 1
    whole = config.growing_mode == LearnerConfig.WHOLE_TREE
    return count - (whole and is_growing(ensemble) and not is_bias)


def center(ensemble: Any, change: np.ndarray) -> bool:
    """Moves the bias, which is a tree of one leaf.

    Args:
      ensemble: the message of the trees, which is changed.
      change: float32 [logits].

    Returns:
      whether centering goes on.
    """
    if not ensemble.trees:
        leaf = ensemble.trees.add().nodes.add().leaf
        leaf.vector.value[:] = np.zeros(len(change)).tolist()
        ensemble.tree_weights.append(1.0)
        ensemble.tree_metadata.add().num_layers_grown = 1
        ensemble.growing_metadata.num_trees_attempted = 1
        ensemble.growing_metadata.num_layers_attempted = 1
    values = ensemble.trees[0].nodes[0].leaf.vector.value
    moved = np.array(values, np.float32) + change
    values[:] = moved.tolist()
    with np.errstate(divide="ignore", invalid="ignore"):
        goes_on = bool((np.abs(change / moved) > _SMALLEST_CHANGE_OF_BIAS).any())
    if not goes_on:
        ensemble.tree_metadata[0].is_finalized = True
    return goes_on


def grow(
    ensemble: Any, layers: Sequence[Layer], config: Any, max_depth: int, learning_rate: float
) -> bool:
    """Adds a layer: splits nodes of the last layer by the best of their splits.

    Args:
      ensemble: the message of the trees, which is changed.
      layers: the best splits of each feature, in the order of the features.
      config: the LearnerConfig.
      max_depth: the number of layers of a tree.
      learning_rate: the weight of a new tree.

    Returns:
      whether a tree has ended.
    """
    growing = ensemble.growing_metadata
    growing.num_layers_attempted += 1
    if not is_growing(ensemble):
        growing.num_trees_attempted += 1
    chosen = _choose(layers, config)
    if not chosen:
        return False
    if not is_growing(ensemble):
        ensemble.trees.add().nodes.add().leaf.SetInParent()
        ensemble.tree_weights.append(learning_rate)
        ensemble.tree_metadata.add().num_tree_weight_updates = 1
    tree, meta = ensemble.trees[-1], ensemble.tree_metadata[-1]
    for layer, place in chosen:
        _split(tree, layer, place, config)
    if config.constraints.max_number_of_unique_feature_columns > 0:
        used = {*growing.used_handler_ids, *(layer.handler for layer, _ in chosen)}
        growing.used_handler_ids[:] = sorted(used)
    meta.num_layers_grown += 1
    if meta.num_layers_grown < max_depth:
        return False
    if config.pruning_mode == LearnerConfig.POST_PRUNE:
        _prune(tree)
    for node in tree.nodes:
        node.node_metadata.ClearField("original_leaf")
    meta.is_finalized = True
    return True


def _choose(layers: Sequence[Layer], config: Any) -> list[tuple[Layer, int]]:
    """Returns the best split of each node, by the number of the node.

    Of equal gains, the first kind of split wins, and within a kind the last feature.
    """
    best: dict[int, tuple[tuple[float, int], Layer, int]] = {}
    for layer in layers:
        for place, (node, gain) in enumerate(zip(layer.splits.nodes, layer.splits.gains)):
            if config.pruning_mode == LearnerConfig.PRE_PRUNE and gain < 0:
                continue
            rank = float(gain), -_RANKS[layer.kind, bool(layer.splits.default_right[place])]
            rival = best.get(int(node))
            if rival is None or rank >= rival[0]:
                best[int(node)] = rank, layer, place
    return [best[node][1:] for node in sorted(best)]


def _split(tree: Any, layer: Layer, place: int, config: Any) -> None:
    splits = layer.splits
    node = tree.nodes[int(splits.nodes[place])]
    before = type(node.leaf)()
    before.CopyFrom(node.leaf)
    left_id = len(tree.nodes)
    for values, has in ((splits.left, splits.has_left), (splits.right, splits.has_right)):
        leaf = tree.nodes.add().leaf
        leaf.SetInParent()
        if has[place]:
            _set_leaf(leaf, values[place], layer.class_id)
        if config.growing_mode == LearnerConfig.LAYER_BY_LAYER:
            _add_leaf(leaf, before)
    kind = _KINDS[layer.kind, bool(splits.default_right[place])]
    split = getattr(node, kind)
    split.SetInParent()
    split = split.split if layer.kind == "sparse" else split
    split.feature_column = layer.feature
    if layer.kind == "categorical":
        split.feature_id = int(splits.thresholds[place])
    else:
        split.threshold = splits.thresholds[place]
        split.dimension_id = int(splits.dimensions[place])
    split.left_id, split.right_id = left_id, left_id + 1
    node.node_metadata.gain = splits.gains[place]
    if config.pruning_mode == LearnerConfig.POST_PRUNE:
        node.node_metadata.original_leaf.CopyFrom(before)


def _set_leaf(leaf: Any, values: np.ndarray, class_id: Optional[int]) -> None:
    if class_id is None:
        leaf.vector.value[:] = values.tolist()
    else:
        leaf.sparse_vector.index[:] = [class_id]
        leaf.sparse_vector.value[:] = values.tolist()


def _add_leaf(leaf: Any, other: Any) -> None:
    """Adds another leaf, in float32."""
    if other.HasField("vector"):
        values = np.array(other.vector.value, np.float32)
        if leaf.HasField("vector"):
            values = np.array(leaf.vector.value, np.float32) + values
        leaf.vector.value[:] = values.tolist()
    elif other.HasField("sparse_vector"):
        sums = {
            index: np.float32(value)
            for index, value in zip(other.sparse_vector.index, other.sparse_vector.value)
        }
        for index, value in zip(leaf.sparse_vector.index, leaf.sparse_vector.value):
            sums[index] = sums.get(index, np.float32(0)) + np.float32(value)
        leaf.sparse_vector.index[:] = list(sums)
        leaf.sparse_vector.value[:] = list(sums.values())


def get_leaf(leaf: Any, logits: int) -> np.ndarray:
    """Returns what a leaf adds to the logits: float32 [logits].

    Args:
      leaf: the message of the leaf.
      logits: the number of logits.
    """
    values = np.zeros(logits, np.float32)
    if leaf.HasField("vector"):
        values[: len(leaf.vector.value)] = leaf.vector.value
    for index, value in zip(leaf.sparse_vector.index, leaf.sparse_vector.value):
        values[index] = value
    return values


def _prune(tree: Any) -> None:
    """Takes back splits with a negative gain, from the leaves upwards."""
    deleted: set[int] = set()
    # Children have larger numbers than their parents.
    for node in reversed(tree.nodes):
        kind = node.WhichOneof("node")
        if kind == "leaf" or node.node_metadata.gain >= 0:
            continue
        split = get_split(node)
        children = (split.left_id, split.right_id)
        if any(tree.nodes[child].WhichOneof("node") != "leaf" for child in children):
            continue
        deleted.update(children)
        kept = type(node.leaf)()
        kept.CopyFrom(node.node_metadata.original_leaf)
        node.ClearField("node_metadata")
        node.leaf.CopyFrom(kept)
    new_ids: dict[int, int] = {}
    for node_id in range(len(tree.nodes)):
        if node_id not in deleted:
            new_ids[node_id] = len(new_ids)
    pruned = type(tree)()
    for node_id in new_ids:
        pruned.nodes.add().CopyFrom(tree.nodes[node_id])
    for node in pruned.nodes:
        if node.WhichOneof("node") != "leaf":
            split = get_split(node)
            split.left_id, split.right_id = new_ids[split.left_id], new_ids[split.right_id]
    tree.CopyFrom(pruned)


def get_split(node: Any) -> Any:
    """Returns the message that holds the children of a node that is split in two.

    Args:
      node: the message of the node.
    """
    kind = node.WhichOneof("node")
    split = getattr(node, kind)
    return split.split if kind.startswith("sparse_float") else split
