"""Trees as arrays, and the walk of rows through them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .ensemble import get_leaf, get_split

__all__ = ["NO_CATEGORY", "Forest", "Rows", "Walk", "flatten", "walk"]

# Fills up the categories of rows that have fewer than others.
NO_CATEGORY = np.iinfo(np.int64).min + 1


class Rows(NamedTuple):
    """The features of a batch.

    Attributes:
      numbers: float32 [columns, batch]; NaN where a row has no value.
      categories: int64 [columns, batch, n], NO_CATEGORY where a row has fewer than n.
    """

    numbers: np.ndarray
    categories: np.ndarray


class Forest(NamedTuple):
    """The nodes of all trees, one after the other; a leaf is its own child.

    Attributes:
      roots: int32 [trees], the first node of each tree.
      weights: float32 [trees].
      column: int32 [nodes], the line of `Rows.numbers` or `Rows.categories`.
      is_category: bool [nodes].
      threshold: float32 [nodes], the largest value that goes to the left.
      category: int64 [nodes], the category that goes to the left.
      missing_left: bool [nodes], whether rows without a value go to the left.
      left: int32 [nodes].
      right: int32 [nodes].
      leaf: float32 [nodes, logits], 0 where a node is split.
      depth: int32, the number of layers of the deepest tree.
    """

    roots: np.ndarray
    weights: np.ndarray
    column: np.ndarray
    is_category: np.ndarray
    threshold: np.ndarray
    category: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf: np.ndarray
    depth: np.ndarray


class _Node(NamedTuple):
    """A node; its children are counted from the root."""

    column: int
    is_category: bool
    threshold: float
    category: int
    missing_left: bool
    left: int
    right: int


def flatten(
    trees: Sequence[Any], weights: Sequence[float], logits: int, sparse_columns: Sequence[int]
) -> Forest:
    """Returns the arrays of trees; at least one tree, which gives 0.

    Args:
      trees: the messages of the trees.
      weights: what each is multiplied by.
      logits: the number of logits.
      sparse_columns: the first line of each sparse feature of numbers in `Rows.numbers`.

    Raises:
      ValueError: a tree has a split that no Estimator makes.
    """
    nodes: list[_Node] = []
    leaves: list[np.ndarray] = []
    roots = []
    depth = 0
    for tree in trees:
        roots.append(len(nodes))
        own, own_leaves = _flatten_tree(tree, logits, sparse_columns)
        first = len(nodes)
        nodes += [node._replace(left=node.left + first, right=node.right + first) for node in own]
        leaves += own_leaves
        depth = max(depth, _measure_depth(own, 0))
    if not roots:
        roots, weights = [0], [1.0]
        nodes, leaves = [_make_leaf(0)], [np.zeros(logits, np.float32)]
    dtypes = (np.int32, bool, np.float32, np.int64, bool, np.int32, np.int32)
    arrays = [np.array(values, dtype) for values, dtype in zip(zip(*nodes), dtypes)]
    ends = np.array(roots, np.int32), np.array(weights, np.float32)
    return Forest(*(*ends, *arrays, np.stack(leaves), np.array(depth, np.int32)))


def _make_leaf(number: int) -> _Node:
    return _Node(0, False, 0.0, 0, False, number, number)


def _measure_depth(nodes: Sequence[_Node], number: int) -> int:
    depth, layer = 0, [number]
    while True:
        layer = [n for n in layer if nodes[n].left != n]
        if not layer:
            return depth
        layer = [child for n in layer for child in (nodes[n].left, nodes[n].right)]
        depth += 1


def _flatten_tree(
    tree: Any, logits: int, sparse_columns: Sequence[int]
) -> tuple[list[_Node], list[np.ndarray]]:
    if tree.nodes and tree.nodes[0].WhichOneof("node").startswith("oblivious"):
        return _flatten_oblivious(tree, logits)
    nodes, leaves = [], []
    for number, node in enumerate(tree.nodes):
        kind = node.WhichOneof("node")
        if kind == "leaf":
            nodes.append(_make_leaf(number))
            leaves.append(get_leaf(node.leaf, logits))
            continue
        if kind not in _NUMBERS and kind != "categorical_id_binary_split":
            raise ValueError(f"a tree of the checkpoint has a {kind}, which no Estimator makes")
        split = get_split(node)
        is_category = kind not in _NUMBERS
        column = split.feature_column
        if kind.startswith("sparse_float"):
            column = sparse_columns[column] + split.dimension_id
        nodes.append(
            _Node(
                column,
                is_category,
                0.0 if is_category else split.threshold,
                split.feature_id if is_category else 0,
                kind.endswith("default_left"),
                split.left_id,
                split.right_id,
            )
        )
        leaves.append(np.zeros(logits, np.float32))
    return nodes, leaves


_NUMBERS = (
    "dense_float_binary_split",
    "sparse_float_binary_split_default_left",
    "sparse_float_binary_split_default_right",
)


def _flatten_oblivious(tree: Any, logits: int) -> tuple[list[_Node], list[np.ndarray]]:
    """Repeats the one split of each layer for all nodes of the layer."""
    layers = [node for node in tree.nodes if node.WhichOneof("node") != "leaf"]
    ends = [get_leaf(node.leaf, logits) for node in tree.nodes[len(layers) :]]
    nodes: list[_Node] = []
    for depth, node in enumerate(layers):
        kind = node.WhichOneof("node")
        split = getattr(node, kind)
        is_category = "categorical" in kind
        for place in range(1 << depth):
            child = (1 << (depth + 1)) - 1 + 2 * place
            nodes.append(
                _Node(
                    split.feature_column,
                    is_category,
                    0.0 if is_category else split.threshold,
                    split.feature_id if is_category else 0,
                    False,
                    child,
                    child + 1,
                )
            )
    leaves = [np.zeros(logits, np.float32)] * len(nodes)
    nodes += [_make_leaf(len(nodes) + place) for place in range(len(ends))]
    return nodes, [*leaves, *ends]


class Walk(NamedTuple):
    """Where rows ended.

    Attributes:
      logits: float32 [batch, logits], the sum over all trees.
      node_ids: int32 [batch], the node of the last tree.
    """

    logits: np.ndarray
    node_ids: np.ndarray


def walk(forest: Forest, rows: Rows) -> Walk:
    """Lets rows walk through all trees, and adds their leaves in the order of the trees.

    Args:
      forest: the trees.
      rows: the features of a batch.
    """
    batch = rows.numbers.shape[1] if len(rows.numbers) else rows.categories.shape[1]
    logits = np.zeros((batch, forest.leaf.shape[1]), np.float32)
    everything = np.arange(batch)
    nodes = np.zeros(batch, np.int32)
    for root, weight in zip(forest.roots, forest.weights):
        nodes = np.full(batch, root, np.int32)
        while True:
            inner = everything[forest.left[nodes] != nodes]
            if not len(inner):
                break
            nodes[inner] = _step(forest, rows, inner, nodes[inner])
        logits += weight * forest.leaf[nodes]
    return Walk(logits, (nodes - forest.roots[-1]).astype(np.int32))


def _step(forest: Forest, rows: Rows, chosen: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    column, is_category = forest.column[nodes], forest.is_category[nodes]
    goes_left = np.zeros(len(nodes), bool)
    if len(rows.numbers):
        value = rows.numbers[np.where(is_category, 0, column), chosen]
        threshold = forest.threshold[nodes]
        # A missing value is NaN, which no comparison holds for.
        goes_left = np.where(forest.missing_left[nodes], ~(value > threshold), value <= threshold)
    if is_category.any():
        known = rows.categories[np.where(is_category, column, 0), chosen]
        has = (known == forest.category[nodes][:, np.newaxis]).any(axis=1)
        goes_left = np.where(is_category, has, goes_left)
    return np.where(goes_left, forest.left[nodes], forest.right[nodes])
