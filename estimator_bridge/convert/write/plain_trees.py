"""Trees of one logit each, in the form that the files of other libraries have in common."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..plan.trees import NodeColumns, Trees

__all__ = ["PlainTree", "list_plain_trees", "name_numbers"]

_PLACE = NodeColumns()


class PlainTree(NamedTuple):
    """One tree; the first node is the root.

    Attributes:
      feature: int [nodes], the number that a node reads; -1 for a leaf.
      threshold: float32 [nodes], a row goes to the left unless its number is above.
      left: int [nodes]; -1 for a leaf.
      right: int [nodes].
      value: float32 [nodes], of a leaf.
      nan_right: bool [nodes], whether NaN goes to the right.
      parent: int [nodes]; -1 for the root.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    nan_right: np.ndarray
    parent: np.ndarray


def list_plain_trees(trees: Trees) -> Iterator[PlainTree]:
    """Yields each tree once for each of its logits.

    Args:
      trees: the trees.
    """
    nan_is_above = np.array([one.nan_is_above for one in trees.features for _ in one.names])
    for root in trees.roots:
        nodes, left, right = np.array(_collect(trees.nodes, root)).T
        table = trees.nodes[nodes]
        feature = table[:, _PLACE.feature].astype(int)
        is_leaf = left < 0
        parent = np.full(len(nodes), -1)
        for children in (left, right):
            parent[children[~is_leaf]] = np.flatnonzero(~is_leaf)
        for logit in range(trees.logits):
            yield PlainTree(
                np.where(is_leaf, -1, feature),
                table[:, _PLACE.threshold],
                left,
                right,
                table[:, _PLACE.leaf + logit],
                nan_is_above[feature] & ~is_leaf,
                parent,
            )


def _collect(nodes: np.ndarray, root: int) -> list[list[int]]:
    """Returns [node, place of its left child, of its right child]; -1 for a leaf.

    A node whose threshold no number exceeds is left out: all rows go to its left child.
    """

    def skip(node: int) -> int:
        while nodes[node, _PLACE.left] != node and np.isposinf(nodes[node, _PLACE.threshold]):
            node = int(nodes[node, _PLACE.left])
        return node

    found = [[skip(root), -1, -1]]
    # Grows while it is read, so the parents come before their children, layer by layer.
    for row in found:
        node = row[0]
        if nodes[node, _PLACE.left] != node:
            for child, side in ((1, _PLACE.left), (2, _PLACE.right)):
                row[child] = len(found)
                found.append([skip(int(nodes[node, side])), -1, -1])
    return found


def name_numbers(trees: Trees) -> list[str]:
    """Returns a name for each number that the trees read, as every library takes it.

    Letters, digits and _ . = + - remain, others become _; a name that comes twice gets a number.

    Args:
      trees: the trees.
    """
    names: dict[str, None] = {}
    for name in trees.names:
        plain = "".join(c if c.isalnum() or c in "_.=+-" else "_" for c in name) or "_"
        unique, number = plain, 2
        while unique in names:
            unique, number = f"{plain}_{number}", number + 1
        names[unique] = None
    return list(names)
