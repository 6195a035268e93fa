"""Finds where the rows of a batch are in the ensemble."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from .ensemble import read_states
from .forest import ForestCache, walk
from .row_cache import RowCache
from .row_table import RowTable
from .state import TrainingState

__all__ = ["Step", "look_up"]


class Step(NamedTuple):
    """Where the rows of a batch are in the ensemble; each a tensor.

    Attributes:
      stamp: int64, the number of changes of the ensemble.
      num_trees: int32.
      num_finalized_trees: int32.
      num_attempted_layers: int32.
      later_counts: int32, num_finalized_trees and num_attempted_layers, which can be read without
        taking another batch.
      node_range: int32 [2], the nodes of the last layer.
      logits: float32 [batch, logits], what is to be added to the cached logits.
      tree_ids: int32 [batch].
      node_ids: int32 [batch].
    """

    stamp: Any
    num_trees: Any
    num_finalized_trees: Any
    num_attempted_layers: Any
    later_counts: tuple[Any, Any]
    node_range: Any
    logits: Any
    tree_ids: Any
    node_ids: Any


def look_up(
    state: TrainingState,
    buckets: Any,
    places: Sequence[Any],
    logits: int,
    table: Optional[RowTable] = None,
) -> Step:
    """Returns where the rows of a batch are in the ensemble.

    Args:
      state: the variables.
      buckets: int [features, batch]; with a table, the numbers of the rows, int64 [batch].
      places: where the rows were when their logits were cached, int32 [batch] trees and int32
        [batch] nodes, -1 if nothing is cached; or nothing, if no variable keeps places.
      logits: the number of logits.
      table: keeps the rows, if they have numbers.
    """
    cache, rows = ForestCache(logits), RowCache(logits)

    def count(serialized: bytes) -> Any:
        return np.array(read_states(cache.read(serialized).ensemble), np.int32)

    def look(serialized: bytes, features: np.ndarray, *places: np.ndarray) -> Any:
        content = cache.read(serialized)
        if table is not None:
            found = table.walk(content, features)
        elif places:
            found = walk(content.forest, content.ensemble, features, *places)
        else:
            found = rows.walk(content.forest, content.trees, features)
        return [*found, np.array(read_states(content.ensemble), np.int32)]

    serialized = state.serialized.read_value()
    later = tf.numpy_function(count, [serialized], tf.int32)
    partial, trees, nodes, states = tf.numpy_function(
        look,
        [serialized, buckets, *places],
        [tf.float32, tf.int32, tf.int32, tf.int32],
    )
    partial.set_shape([None, logits])
    trees.set_shape([None])
    nodes.set_shape([None])
    states.set_shape([5])
    stamp = state.stamp.read_value()
    num_trees, num_finalized, num_attempted = tf.unstack(states[:3])
    return Step(
        stamp,
        num_trees,
        num_finalized,
        num_attempted,
        (later[1], later[2]),
        states[3:],
        partial,
        trees,
        nodes,
    )
