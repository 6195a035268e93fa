"""Boosted trees of tf.estimator in an export: their values, and the walk through the trees.

The export keeps the ensemble and the quantiles of numbers as values of its variables file. Its
graph gives them to resources, which no TensorFlow after 2.8 has. Here they become constants.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import BridgeError
from .bodies import Body, constant, parse_input

__all__ = ["Stored", "Trees", "walk_rows"]

_RESTORE = "RestoreV2"


class Stored:
    """The values that a graph restores from the variables file of its export.

    Args:
      body: the nodes that restore.
      folder: the folder of the SavedModel; None if the graph is not in one.
    """

    def __init__(self, body: Body, folder: Optional[Path]):
        self._body = body
        self._folder = folder

    @cached_property
    def _reader(self) -> Any:
        from tensorflow import train

        if self._folder is None:
            raise BridgeError("the values of its trees are not beside this graph")
        return train.load_checkpoint(str(self._folder / "variables" / "variables"))

    def read(self, deserialize: str, handle: str) -> list[Any]:
        """Returns the values that a resource gets when the export is loaded.

        Args:
          deserialize: the operation that sets the resource from values.
          handle: the name of the node of the resource.

        Raises:
          BridgeError: the graph does not restore the resource in a known way.
        """
        for node in self._body.nodes:
            if node.op == deserialize and parse_input(node.input[0])[0] == handle:
                data = [name for name in node.input[1:] if not name.startswith("^")]
                return [self._read_input(name, handle) for name in data]
        raise BridgeError(f"the graph does not restore the trees of node {handle}")

    def _read_input(self, name: str, handle: str) -> Any:
        number = parse_input(name)[1]
        node = self._body.find(name)
        keys = None
        if node is not None and node.op == _RESTORE:
            keys = constant(self._body.find(node.input[1]))
        if keys is None:
            raise BridgeError(f"the graph does not restore the trees of node {handle} by a name")
        return self._reader.get_tensor(keys.ravel()[number].decode())


class Trees:
    """The trees of one ensemble.

    Args:
      serialized: the ensemble, as the export has it.
      logits: the number of logits.
    """

    def __init__(self, serialized: bytes, logits: int):
        from ..boosted_trees.ensemble import parse
        from ..boosted_trees.forest import flatten

        self.ensemble = parse(serialized)
        self.logits = logits
        self._forest = flatten(self.ensemble, logits)

    def make_compute(self) -> Callable[..., Any]:
        """Returns a function of the buckets of all features that gives [logits of rows]."""

        def compute(*buckets: Any) -> list[Any]:
            import tensorflow as tf

            from ..boosted_trees.forest import Forest
            from ..boosted_trees.prediction import sum_leaves

            forest = Forest(*map(tf.constant, self._forest))
            logits = sum_leaves(forest, [tf.reshape(one, [-1]) for one in buckets])
            logits.set_shape([None, self.logits])
            return [logits]

        return compute

    def make_buckets(self, features: int, rows: int, random: np.random.Generator) -> np.ndarray:
        """Returns rows that go left and right everywhere: thresholds, their neighbours, missing.

        Args:
          features: the number of features.
          rows: the number of rows.
          random: draws them.

        Returns:
          int32 [features, rows].
        """
        values: list[set[int]] = [{-1, 0} for _ in range(features)]
        forest = self._forest
        for feature, threshold in zip(forest.feature.tolist(), forest.threshold.tolist()):
            values[feature] |= {threshold, threshold + 1}
        drawn = [random.choice(sorted(each), rows) for each in values]
        return np.array(drawn, np.int32)


def walk_rows(ensemble: Any, buckets: np.ndarray, logits: int) -> np.ndarray:
    """Walks through the trees without TensorFlow, one row and one node at a time.

    Args:
      ensemble: the message of the trees.
      buckets: int32 [features, rows].
      logits: the number of logits.

    Returns:
      float32 [rows, logits].
    """
    total = np.zeros((buckets.shape[1], logits), np.float32)
    for row in range(buckets.shape[1]):
        for tree, weight in zip(ensemble.trees, ensemble.tree_weights):
            node = tree.nodes[0]
            while node.WhichOneof("node") != "leaf":
                node = tree.nodes[_choose_child(node, buckets[:, row])]
            leaf = node.leaf
            values = list(leaf.vector.value) if leaf.HasField("vector") else [leaf.scalar]
            total[row] += np.float32(weight) * np.array(values, np.float32)
    return total


def _choose_child(node: Any, buckets: np.ndarray) -> int:
    """Returns the number of the node to which a row goes on."""
    if node.HasField("categorical_split"):
        split = node.categorical_split
        goes_left = buckets[split.feature_id] == split.value
    else:
        split = node.bucketized_split
        bucket = buckets[split.feature_id]
        goes_left = split.default_direction != 1 if bucket < 0 else bucket <= split.threshold
    return int(split.left_id if goes_left else split.right_id)
