"""Boosted trees as plain values: which numbers they read, and their nodes.

This module does not import TensorFlow.
"""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["NodeColumns", "TreeFeatures", "Trees"]


class NodeColumns(NamedTuple):
    """The places of the numbers of a node; its logits follow."""

    feature: int = 0
    threshold: int = 1
    left: int = 2
    right: int = 3
    leaf: int = 4


class TreeFeatures(NamedTuple):
    """The numbers that one feature column gives to the trees.

    Attributes:
      column: a Numeric, an Indicator, or a categorical plan column.
      names: a name for each number.
      ids: of a categorical column, the ids for which there is a number: 1 for rows with this id,
        else 0; () for other columns.
      nan_is_above: whether NaN counts as above all numbers, as in bucketized columns.
    """

    column: Any
    names: tuple[str, ...]
    ids: tuple[int, ...] = ()
    nan_is_above: bool = False


class Trees(NamedTuple):
    """All trees of a model.

    Attributes:
      features: where the numbers come from, in their order.
      nodes: float32 [nodes, 4 + logits], the nodes of one tree after those of another. The columns
        are those of NodeColumns: a row goes to the left unless its number is above the threshold.
        A leaf is its own child; other nodes have the logits 0.
      roots: the first node of each tree.
      depth: the number of layers of the deepest tree.
    """

    features: tuple[TreeFeatures, ...]
    nodes: np.ndarray
    roots: tuple[int, ...]
    depth: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all numbers."""
        return tuple(name for one in self.features for name in one.names)

    @property
    def logits(self) -> int:
        """The number of logits."""
        return self.nodes.shape[1] - NodeColumns().leaf
