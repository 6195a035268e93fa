"""The trees, as checkpoints keep them: reading, growing by a layer, pruning, writing."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .messages import TreeEnsemble
from .splits import Splits, compute_leaf

__all__ = ["PRUNING_MODES", "Growth", "States", "center_bias", "grow", "parse", "read_states"]

PRUNING_MODES = ("none", "pre", "post")

# Centering ends when the bias changes by less than this part of itself.
_SMALLEST_CHANGE_OF_BIAS = np.float32(0.01)


class States(NamedTuple):
    """How far the ensemble has grown.

    Attributes:
      num_trees: the number of trees, with the one that grows.
      num_finalized_trees: how many of them have ended.
      num_attempted_layers: how often a layer was tried.
      first_node: the first node of the last layer.
      end_node: the node after its last one.
    """

    num_trees: int
    num_finalized_trees: int
    num_attempted_layers: int
    first_node: int
    end_node: int


class Growth(NamedTuple):
    """How trees grow.

    Attributes:
      learning_rate: the part of each leaf that is added.
      max_depth: the number of layers of a tree.
      pruning_mode: one of PRUNING_MODES.
      logits: the number of logits.
    """

    learning_rate: float
    max_depth: int
    pruning_mode: str
    logits: int


def parse(serialized: bytes) -> Any:
    """Returns the TreeEnsemble message of a checkpoint.

    Args:
      serialized: the message's bytes; empty before the first tree.

    Raises:
      ValueError: the bytes are no such message.
    """
    try:
        return TreeEnsemble.FromString(serialized)
    except Exception as error:
        raise ValueError(f"the checkpoint has no ensemble of boosted trees: {error}") from error


def read_states(ensemble: Any) -> States:
    """Returns how far an ensemble has grown.

    Args:
      ensemble: a TreeEnsemble message.
    """
    finalized = sum(meta.is_finalized for meta in ensemble.tree_metadata)
    growing = ensemble.growing_metadata
    return States(
        len(ensemble.trees),
        finalized,
        growing.num_layers_attempted,
        growing.last_layer_node_start,
        # Until a node has been split, the layer is the root.
        growing.last_layer_node_end or 1,
    )


def center_bias(
    ensemble: Any, gradients: np.ndarray, hessians: np.ndarray, l1: float, l2: float
) -> bool:
    """Moves the root of the first tree towards the mean of the labels.

    Args:
      ensemble: the TreeEnsemble message, which is changed.
      gradients: float32 [1], the mean over all rows.
      hessians: float32 [1].
      l1: the l1 regularization.
      l2: the l2 regularization.

    Returns:
      whether centering goes on.
    """
    change, _ = compute_leaf(gradients, hessians, l1, l2)
    if not ensemble.trees:
        _add_tree(ensemble, 1)
        _set_leaf(ensemble.trees[0].nodes[0].leaf, change)
        return True
    leaf = ensemble.trees[0].nodes[0].leaf
    before = _get_leaf(leaf, 1)
    _set_leaf(leaf, before + change)
    # Labels whose mean needs no bias give 0 / 0, which ends centering.
    with np.errstate(divide="ignore", invalid="ignore"):
        return bool(np.abs(change[0] / before[0]) > _SMALLEST_CHANGE_OF_BIAS)


def grow(ensemble: Any, groups: list[Splits], growth: Growth) -> None:
    """Adds a layer: splits the nodes of the last layer by the best of their splits.

    Args:
      ensemble: the TreeEnsemble message, which is changed.
      groups: the best splits among the features of each number of buckets.
      growth: how trees grow.
    """
    if not ensemble.trees:
        _add_tree(ensemble, growth.logits)
    tree_id = len(ensemble.trees) - 1
    tree, meta = ensemble.trees[tree_id], ensemble.tree_metadata[tree_id]
    growing = ensemble.growing_metadata
    growing.num_layers_attempted += 1
    if len(tree.nodes) == 1:
        growing.num_trees_attempted += 1
    start = len(tree.nodes)
    for split in _choose_splits(groups):
        if growth.pruning_mode == "pre" and split.gain < 0:
            continue
        _split_node(tree, split, growth)
    if len(tree.nodes) == start:
        # The same nodes are tried again, with other rows.
        return
    meta.num_layers_grown += 1
    end = len(tree.nodes)
    if meta.num_layers_grown >= growth.max_depth:
        meta.is_finalized = True
        if growth.pruning_mode == "post":
            _prune(tree, meta, growth.logits)
        _add_tree(ensemble, growth.logits)
        start, end = 0, 1
    growing.last_layer_node_start, growing.last_layer_node_end = start, end


def _add_tree(ensemble: Any, logits: int) -> None:
    _set_leaf(ensemble.trees.add().nodes.add().leaf, np.zeros(logits, np.float32))
    ensemble.tree_weights.append(1.0)
    ensemble.tree_metadata.add()


class _Split(NamedTuple):
    node_id: int
    gain: np.float32
    feature_id: int
    threshold: int
    left: np.ndarray
    right: np.ndarray
    is_equality: bool
    default_right: bool


def _choose_splits(groups: list[Splits]) -> Iterator[_Split]:
    """Yields the best split of each node, by the number of the node.

    The larger gain wins, and with equal gains the first feature.
    """
    best: dict[int, _Split] = {}
    for group in groups:
        for values in zip(*group):
            split = _Split(*values)
            rival = best.get(int(split.node_id))
            if rival is None or (-split.gain, split.feature_id) < (-rival.gain, rival.feature_id):
                best[int(split.node_id)] = split
    for node_id in sorted(best):
        yield best[node_id]


def _split_node(tree: Any, split: _Split, growth: Growth) -> None:
    node = tree.nodes[split.node_id]
    before = _get_leaf(node.leaf, growth.logits)
    left_id = len(tree.nodes)
    rate = np.float32(growth.learning_rate)
    for change in (split.left, split.right):
        _set_leaf(tree.nodes.add().leaf, before + rate * change)
    metadata = node.metadata
    metadata.gain = split.gain
    if split.node_id != 0 or node.leaf.HasField("vector") or before.any():
        metadata.original_leaf.CopyFrom(node.leaf)
    if split.is_equality:
        chosen = node.categorical_split
        chosen.value = split.threshold
    else:
        chosen = node.bucketized_split
        chosen.threshold = split.threshold
        chosen.default_direction = int(split.default_right)
    chosen.feature_id = split.feature_id
    chosen.left_id, chosen.right_id = left_id, left_id + 1


def _get_leaf(leaf: Any, logits: int) -> np.ndarray:
    if leaf.HasField("vector"):
        return np.array(leaf.vector.value, np.float32)
    return np.full(logits, leaf.scalar, np.float32)


def _set_leaf(leaf: Any, values: np.ndarray) -> None:
    leaf.SetInParent()
    if len(values) == 1:
        leaf.scalar = values[0]
    else:
        leaf.vector.value[:] = values.tolist()


def _prune(tree: Any, meta: Any, logits: int) -> None:
    """Takes back the splits with a negative gain, from the leaves upwards.

    The metadata say for each node where it went and what its logits change by, so that cached
    predictions can be corrected.
    """
    size = len(tree.nodes)
    target = list(range(size))
    change = np.zeros((size, logits), np.float32)
    deleted = set()
    # Children have larger numbers than their parents.
    for node_id in reversed(range(size)):
        node = tree.nodes[node_id]
        kind = node.WhichOneof("node")
        if kind == "leaf" or node.metadata.gain >= 0:
            continue
        split = getattr(node, kind)
        children = (split.left_id, split.right_id)
        if any(tree.nodes[child].WhichOneof("node") != "leaf" for child in children):
            continue
        kept = _get_leaf(node.metadata.original_leaf, logits)
        for child in children:
            change[child] = kept - _get_leaf(tree.nodes[child].leaf, logits)
            target[child] = node_id
            deleted.add(child)
        node.ClearField("metadata")
        _set_leaf(node.leaf, kept)
    if not deleted:
        return
    new_ids: dict[int, int] = {}
    for node_id in range(size):
        if node_id not in deleted:
            new_ids[node_id] = len(new_ids)
    for node_id in range(size):
        update = meta.post_pruned_nodes_meta.add()
        total = np.zeros(logits, np.float32)
        place = node_id
        while place in deleted:
            total += change[place]
            place = target[place]
        update.new_node_id = new_ids[place]
        update.logit_change[:] = total.tolist()
    kept_nodes = [tree.nodes[node_id] for node_id in new_ids]
    for node in kept_nodes:
        kind = node.WhichOneof("node")
        if kind != "leaf":
            split = getattr(node, kind)
            split.left_id, split.right_id = new_ids[split.left_id], new_ids[split.right_id]
    pruned = type(tree)()
    pruned.nodes.extend(kept_nodes)
    tree.CopyFrom(pruned)
