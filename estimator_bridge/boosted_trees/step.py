"""Finds where the rows of a batch are in the ensemble."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from .forest import ForestCache, Walk, walk
from .numbered_rows import NumberedRows
from .row_cache import RowCache
from .row_table import RowTable, find_rows
from .state import TrainingState

__all__ = ["Step", "look_up", "look_up_rows"]

# Of logits, trees, nodes and states.
_TYPES = [tf.float32, tf.int32, tf.int32, tf.int32]


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


def look_up(state: TrainingState, buckets: Any, places: Sequence[Any], logits: int) -> Step:
    """Returns where the rows of a batch are in the ensemble.

    Args:
      state: the variables.
      buckets: int [features, batch].
      places: where the rows were when their logits were cached, int32 [batch] trees and int32
        [batch] nodes, -1 if nothing is cached; or nothing, if no variable keeps places.
      logits: the number of logits.
    """
    cache, rows = ForestCache(logits), RowCache(logits)

    def look(serialized: bytes, features: np.ndarray, *places: np.ndarray) -> Any:
        content = cache.read(serialized)
        found = walk(content, features, *places) if places else rows.walk(content, features)
        return [*found, content.states]

    serialized = state.serialized.read_value()
    *found, states = tf.numpy_function(look, [serialized, buckets, *places], _TYPES)
    return _build_step(state, cache, found, states, logits)


def look_up_rows(  # noqa: PLR0913
    state: TrainingState,
    table: RowTable,
    features: NumberedRows,
    compute_buckets: Callable[[], Any],
    are_final: Any,
    logits: int,
) -> tuple[Step, Any]:
    """Returns where the rows of a batch, which have numbers, are in the ensemble, and their labels.

    One function of Python reads both, because each call of one costs a step up to 0.2 ms.

    Args:
      state: the variables.
      table: keeps the rows.
      features: of the batch.
      compute_buckets: returns the buckets of the batch, [features, batch], for the branch in which
        it is called. The table keeps them.
      are_final: bool, whether there are boundaries of buckets.
      logits: the number of logits.
    """
    cache = ForestCache(logits)
    no_ids = np.zeros(0, np.int32)
    nothing = Walk(np.zeros((0, logits), np.float32), no_ids, no_ids)

    def look(serialized: bytes, rows: np.ndarray) -> Any:
        return list(table.walk(cache.read(serialized), rows, find_rows(rows)))

    def look_if_known(serialized: bytes, rows: np.ndarray, are_final: np.ndarray) -> Any:
        content, index = cache.read(serialized), find_rows(rows)
        is_new = bool(are_final) and not table.knows(index)
        found = nothing if is_new else table.walk(content, rows, index)
        return [*found, content.states, np.bool_(is_new), *features.take_labels(index)]

    serialized, rows = state.serialized.read_value(), features.rows
    results = tf.numpy_function(
        look_if_known,
        [serialized, rows, are_final],
        [*_TYPES, tf.bool, *features.label_types],
    )
    found, states, is_new, labels = results[:3], results[3], results[4], results[5:]
    is_new.set_shape([])

    def keep_and_look() -> Any:
        kept = tf.numpy_function(table.keep, [rows, compute_buckets()], tf.bool)
        with tf.control_dependencies([kept]):
            return tf.numpy_function(look, [serialized, rows], _TYPES[:3])

    found = tf.cond(is_new, keep_and_look, lambda: found)
    return _build_step(state, cache, found, states, logits), features.pack_labels(labels)


def _build_step(
    state: TrainingState, cache: ForestCache, found: Sequence[Any], states: Any, logits: int
) -> Step:
    def count(serialized: bytes) -> Any:
        return cache.read(serialized).states

    later = tf.numpy_function(count, [state.serialized.read_value()], tf.int32)
    partial, trees, nodes = found
    partial.set_shape([None, logits])
    trees.set_shape([None])
    nodes.set_shape([None])
    states.set_shape([5])
    num_trees, num_finalized, num_attempted = tf.unstack(states[:3])
    return Step(
        state.stamp.read_value(),
        num_trees,
        num_finalized,
        num_attempted,
        (later[1], later[2]),
        states[3:],
        partial,
        trees,
        nodes,
    )
