"""All trees of a random forest as arrays, and their form in checkpoints of 1.x."""

from typing import NamedTuple, Optional

import numpy as np

from estimator_bridge.tf1.contrib.tensor_forest.messages import (
    Model,
    read_numbers,
    write_numbers,
)
from estimator_bridge.tf1.unsupported import NotSuppliedError

__all__ = ["Flat", "Forest", "Shape"]

_FIRST_CAPACITY = 64


class Shape(NamedTuple):
    """What is fixed about a forest.

    Attributes:
      trees: int, number of trees.
      outputs: int, number of classes, or of numbers that are predicted.
      width: int, number of columns.
      columns: list of int32 arrays, the columns of the input that each tree knows; None for all
        that the input has, which may be more than `width`, as in 1.x.
      regression: whether leaves have means; otherwise counts of the classes.
      sparse: whether leaves are written with the classes that they have only.
      strict: whether rows go left if the value is less than the threshold; otherwise also if equal.
    """

    trees: int
    outputs: int
    width: int
    columns: Optional[list]
    regression: bool
    sparse: bool
    strict: bool


class Flat(NamedTuple):
    """The trees for prediction. A leaf is its own child.

    Attributes:
      feature: int32 [nodes], column of the input.
      threshold: float32 [nodes].
      left: int32 [nodes].
      right: int32 [nodes].
      value: float32 [nodes, outputs], what a leaf predicts.
      roots: int32 [trees].
      sizes: int32 [trees], number of nodes.
      depth: int32, length of the longest path.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    sizes: np.ndarray
    depth: np.ndarray


class Forest:
    """The trees while they grow: one leaf each at first.

    The nodes of all trees share arrays. `number` is the place of a node in its own tree, as in the
    checkpoint.

    Args:
      shape: Shape.
    """

    def __init__(self, shape):
        self.shape = shape
        self.count = 0
        self.nodes = [[] for _ in range(shape.trees)]
        self.columns = None if shape.columns is None else np.array(shape.columns, np.int32)
        self.feature = np.zeros(0, np.int32)
        self.threshold = np.zeros(0, np.float32)
        self.left = np.zeros(0, np.int32)
        self.right = np.zeros(0, np.int32)
        self.tree = np.zeros(0, np.int32)
        self.number = np.zeros(0, np.int32)
        self.level = np.zeros(0, np.int32)
        self.value = np.zeros([0, shape.outputs], np.float32)
        for tree in range(shape.trees):
            self.add(np.array([tree]), np.zeros([1, shape.outputs]), np.zeros(1, np.int32))
        self.roots = np.array([nodes[0] for nodes in self.nodes], np.int32)

    def add(self, trees, values, levels):
        """Adds leaves; returns their places.

        Args:
          trees: int array [n].
          values: array [n, outputs].
          levels: int array [n], distances from the root.
        """
        first, size = self.count, len(trees)
        while first + size > len(self.feature):
            self._enlarge()
        places = np.arange(first, first + size, dtype=np.int32)
        self.count += size
        self.feature[places], self.threshold[places] = 0, 0
        self.left[places] = self.right[places] = places
        self.tree[places], self.value[places], self.level[places] = trees, values, levels
        for place, tree in zip(places.tolist(), np.asarray(trees).tolist()):
            self.number[place] = len(self.nodes[tree])
            self.nodes[tree].append(place)
        return places

    def _enlarge(self):
        for name in ("feature", "threshold", "left", "right", "tree", "number", "level", "value"):
            old = getattr(self, name)
            new = np.zeros([max(_FIRST_CAPACITY, 2 * len(old)), *old.shape[1:]], old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def split(self, leaves, features, thresholds, values):
        """Gives leaves two children each; returns the places of the left and the right ones.

        Args:
          leaves: int array [n].
          features: int array [n], the place of the column among those that the tree knows.
          thresholds: float32 array [n].
          values: array [n, 2, outputs] of the children.
        """
        both = np.repeat(leaves, 2)
        children = self.add(
            self.tree[both], values.reshape([-1, values.shape[2]]), self.level[both] + 1
        )
        self.feature[leaves], self.threshold[leaves] = features, thresholds
        self.left[leaves], self.right[leaves] = children[::2], children[1::2]
        return children[::2], children[1::2]

    def sizes(self):
        """Returns the number of nodes of each tree, int32 [trees]."""
        return np.array([len(nodes) for nodes in self.nodes], np.int32)

    def usage(self):
        """Returns how many nodes split by each column, int32 [trees, columns that it knows]."""
        inner = np.flatnonzero(self.left[: self.count] != np.arange(self.count))
        width = max(self.shape.width, self.feature[inner].max(initial=0) + 1)
        counts = np.zeros([self.shape.trees, width], np.int32)
        np.add.at(counts, (self.tree[inner], self.feature[inner]), 1)
        return counts

    def input_columns(self, trees, features):
        """Returns which columns of the input features of trees are.

        Args:
          trees: int array.
          features: int array.
        """
        return features if self.columns is None else self.columns[trees, features]

    def descend(self, data, trees, rows):
        """Returns the leaves in which rows end.

        Args:
          data: float32 array [batch, columns].
          trees: int array [n].
          rows: int array [n].

        Returns:
          int32 array [n].
        """
        node = self.roots[trees].copy()
        going = np.arange(len(node))
        while len(going):
            at = node[going]
            below = self.left[at]
            inner = below != at
            going, at, below = going[inner], at[inner], below[inner]
            column = self.input_columns(self.tree[at], self.feature[at])
            number, limit = data[rows[going], column], self.threshold[at]
            goes_left = number < limit if self.shape.strict else number <= limit
            node[going] = np.where(goes_left, below, self.right[at])
        return node

    def predict(self, data):
        """Returns what each tree predicts, float32 [trees, batch, outputs].

        Args:
          data: float32 array [batch, columns].
        """
        trees = np.repeat(np.arange(self.shape.trees), len(data))
        rows = np.tile(np.arange(len(data)), self.shape.trees)
        found = self._predictions()[self.descend(data, trees, rows)]
        return found.reshape([self.shape.trees, len(data), self.shape.outputs])

    def _predictions(self):
        """Returns what each leaf predicts; one without rows predicts zeros."""
        value = self.value[: self.count]
        if self.shape.regression:
            return value
        total = value.sum(1, keepdims=True, dtype=np.float32)
        return np.divide(value, total, out=np.zeros_like(value), where=total > 0)

    def flatten(self):
        """Returns the trees for prediction."""
        used = slice(0, self.count)
        return Flat(
            self.input_columns(self.tree[used], self.feature[used]),
            self.threshold[used],
            self.left[used],
            self.right[used],
            self._predictions(),
            self.roots,
            self.sizes(),
            np.int32(self.level[used].max()),
        )

    def serialize(self, tree):
        """Returns a tree as a checkpoint keeps it.

        Args:
          tree: int.
        """
        model = Model()
        for number, place in enumerate(self.nodes[tree]):
            node = model.decision_tree.nodes.add()
            if number:
                node.node_id.value = number
            if self.left[place] == place:
                leaf = node.leaf.sparse_vector if self.shape.sparse else node.leaf.vector
                write_numbers(leaf, self.value[place].tolist())
                continue
            split = node.binary_node
            split.left_child_id.value = int(self.number[self.left[place]])
            split.right_child_id.value = int(self.number[self.right[place]])
            write_test(split, self.feature[place], self.threshold[place], self.shape.strict)
        return model.SerializeToString()

    def parse(self, tree, serialized):
        """Replaces a tree, which must be a single leaf, by one of a checkpoint.

        Args:
          tree: int.
          serialized: bytes.

        Raises:
          NotSuppliedError: the tree tests for equality, as for columns of integers or strings, or a
            column that it does not have.
        """
        nodes = Model.FromString(serialized).decision_tree.nodes
        places = np.concatenate(
            [
                self.nodes[tree],
                self.add(np.full(len(nodes) - 1, tree), 0, np.zeros(len(nodes) - 1, np.int32)),
            ]
        ).astype(np.int32)
        for place, node in zip(places.tolist(), nodes):
            if node.WhichOneof("node_type") != "binary_node":
                leaf = node.leaf
                is_sparse = leaf.HasField("sparse_vector")
                self.value[place] = 0
                read_numbers(leaf.sparse_vector if is_sparse else leaf.vector, self.value[place])
                continue
            split = node.binary_node
            if split.HasField("custom_left_child_test"):
                raise NotSuppliedError(
                    "a tree of the checkpoint splits a column of integers or strings, which is not "
                    "supplied; train it anew with the column as float32"
                )
            test = split.inequality_left_child_test
            feature = int(test.feature_id.id.value)
            if self.columns is not None and feature >= self.columns.shape[1]:
                raise NotSuppliedError(
                    f"tree {tree} of the checkpoint splits column {feature} of "
                    f"{self.columns.shape[1]}; with feature_bagging_fraction, 1.x read "
                    "beyond the columns of a tree: train it anew"
                )
            self.feature[place] = feature
            self.threshold[place] = test.threshold.float_value
            children = places[[split.left_child_id.value, split.right_child_id.value]]
            self.left[place], self.right[place] = children
            self.level[children] = self.level[place] + 1


def write_test(split, feature, threshold, strict):
    """Writes the test of a split.

    Args:
      split: BinaryNode message.
      feature: int.
      threshold: number.
      strict: whether equal values go right.
    """
    test = split.inequality_left_child_test
    test.feature_id.id.value = str(int(feature))
    test.type = int(strict)
    test.threshold.float_value = float(threshold)
