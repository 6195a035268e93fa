"""Weighted sums, embeddings and indicators of categorical columns.

The results are those of TensorFlow to the last bit. The gradients of a row are summed in another
order. TensorFlow looks up row 0 for a row without a value, discards it, and updates it with a
gradient of zero, which changes it with Ftrl or momentum; so does this module.

One value in a row needs one lookup. Several values, and sparse tensors, are looked up as they are:
TensorFlow finds the distinct ids first, and reshapes ids and results between ranks.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import (
    embedding_ops,
    feature_column_v2,
    resource_variable_ops,
    variables,
)
from estimator_bridge.tf1.fast.ids import Ids, NotFusedError, find_ids

__all__ = ["Substitution", "install", "substituting"]

_thread = threading.local()
# Operations that give ids of at least 0.
_NEVER_NEGATIVE = frozenset(["StringToHashBucketFast", "SparseCrossHashed"])
_COMBINE = {
    "mean": tf.raw_ops.SparseSegmentMean,
    "sqrtn": tf.raw_ops.SparseSegmentSqrtN,
    "sum": tf.raw_ops.SparseSegmentSum,
}


class Substitution:
    """What has been replaced in a graph.

    Attributes:
      fused: names of columns, one for each use.
      others: name of a column that has not been fused -> why.
      column: name of the column that TensorFlow is building, if that is known.
    """

    def __init__(self) -> None:
        self.fused: list[str] = []
        self.others: dict[str, str] = {}
        self.column: Optional[str] = None
        self._ids: dict[Any, Ids] = {}
        self._caches: dict[tuple, Any] = {}
        self._filled: dict[int, tuple] = {}

    def share(self, cache: Any) -> Any:
        """Returns one FeatureTransformationCache for the wide and the deep part.

        Args:
          cache: that of one part.
        """
        return self._caches.setdefault(tuple(map(id, cache._features.values())), cache)

    def fill(self, ids: tf.SparseTensor) -> tuple[tf.SparseTensor, tf.Tensor]:
        """Returns the ids with an id 0 in each empty row, and bool [rows]: which rows are empty.

        Args:
          ids: int64 of rank 2; negative ids are dropped.
        """
        key = id(ids.values)
        if key not in self._filled:
            kept = ids
            if ids.values.op.type not in _NEVER_NEGATIVE:
                kept = tf.sparse.retain(ids, ids.values >= 0)
            self._filled[key] = (ids, tf.sparse.fill_empty_rows(kept, 0))
        filled: tuple[tf.SparseTensor, tf.Tensor] = self._filled[key][1]
        return filled

    def note_lookup(self, name: str, reason: Optional[str]) -> None:
        """Notes a lookup of several values in a row.

        Args:
          name: of the operation, if a column is not known to build it.
          reason: why it is TensorFlow's own; None if it is fused.
        """
        column = self.column or name
        if reason is not None:
            self.others.setdefault(column, reason)
            return
        self.others.pop(column, None)
        self.fused.append(column)

    def find_ids(self, column: Any, cache: Any, state_manager: Any) -> Ids:
        """Returns the ids of a column; the same tensors for the wide and the deep part.

        Args:
          column: a categorical column.
          cache: the FeatureTransformationCache of the features.
          state_manager: of the layer.

        Raises:
          NotFusedError: the column cannot be fused.
        """
        key = (column, *map(id, cache._features.values()))
        if key not in self._ids:
            self._ids[key] = find_ids(column, cache, state_manager)
        return self._ids[key]


@contextlib.contextmanager
def substituting() -> Iterator[Substitution]:
    """Replaces lookups in graphs that this thread builds in the body of the `with` statement."""
    _thread.current = Substitution()
    try:
        yield _thread.current
    finally:
        _thread.current = None


def install() -> None:
    """Makes feature columns use the lookups of this module where `substituting` is active."""
    tf.RegisterGradient("EstimatorBridgeLookup")(_spread_rows)
    tf.RegisterGradient("EstimatorBridgeMasked")(_mask_gradient)
    columns = feature_column_v2
    columns._create_weighted_sum = _substituted(
        columns._create_weighted_sum, _sum_weights, lambda column: column
    )
    for cls, build in ((columns.EmbeddingColumn, _embed), (columns.IndicatorColumn, _indicate)):
        cls.get_dense_tensor = _substituted(
            cls.get_dense_tensor, build, lambda column: column.categorical_column
        )
    columns.IndicatorColumn._get_dense_tensor = _noting(columns.IndicatorColumn._get_dense_tensor)
    embedding_ops.safe_embedding_lookup_sparse = _combined(
        embedding_ops.safe_embedding_lookup_sparse
    )


def _substituted(original: Any, build: Any, find_categorical: Any) -> Any:
    """Returns a function of a column that uses `build` where it can."""

    @functools.wraps(original)
    def substituted(
        column: Any, transformation_cache: Any, state_manager: Any, *others: Any, **named: Any
    ) -> Any:
        now: Optional[Substitution] = getattr(_thread, "current", None)
        arguments = (column, transformation_cache, state_manager)
        categorical = find_categorical(column)
        if now is None or not isinstance(categorical, feature_column_v2.CategoricalColumn):
            return original(*arguments, *others, **named)
        try:
            ids = now.find_ids(categorical, transformation_cache, state_manager)
            # TensorFlow asks by a TypeError whether a column takes another argument.
            found = build(column, ids, state_manager, *others, **named)
        except NotFusedError as reason:
            now.others[column.name] = str(reason)
            now.column = column.name
            shared = now.share(transformation_cache)
            try:
                return original(column, shared, state_manager, *others, **named)
            finally:
                now.column = None
        now.fused.append(column.name)
        return found

    return substituted


def _noting(original: Any) -> Any:
    """Returns what builds an indicator in layers of 1.x, which notes that it is TensorFlow's."""

    @functools.wraps(original)
    def noting(column: Any, *arguments: Any, **named: Any) -> Any:
        now: Optional[Substitution] = getattr(_thread, "current", None)
        if now is not None:
            now.others[column.name] = "an indicator beside shared embeddings"
        return original(column, *arguments, **named)

    return noting


def _sum_weights(
    column: Any, ids: Ids, state_manager: Any, sparse_combiner: Any, weight_var: Any
) -> tf.Tensor:
    return _look_up(weight_var, ids)


def _embed(column: Any, ids: Ids, state_manager: Any) -> tf.Tensor:
    if column.ckpt_to_load_from is not None:
        raise NotFusedError("its table comes from a checkpoint")
    if column.max_norm is not None:
        raise NotFusedError("max_norm")
    if not column.use_safe_embedding_lookup:
        raise NotFusedError("use_safe_embedding_lookup=False")
    return _look_up(state_manager.get_variable(column, name="embedding_weights"), ids)


def _indicate(column: Any, ids: Ids, state_manager: Any) -> tf.Tensor:
    values = ids.values
    if ids.present is not None:
        values = tf.where(ids.present, values, -tf.ones_like(values))
    return tf.one_hot(values, column.categorical_column.num_buckets, 1.0, 0.0)


def _combined(original: Any) -> Any:
    """Returns `safe_embedding_lookup_sparse` with fewer operations, where it can have fewer."""

    @functools.wraps(original)
    def combined(
        embedding_weights: Any,
        sparse_ids: tf.SparseTensor,
        sparse_weights: Any = None,
        combiner: Optional[str] = None,
        default_id: Any = None,
        name: Optional[str] = None,
        **options: Any,
    ) -> tf.Tensor:
        now: Optional[Substitution] = getattr(_thread, "current", None)
        if now is not None:
            column = (name or "").removesuffix("_weights")
            try:
                if sparse_weights is not None:
                    raise NotFusedError("weights")
                if default_id is not None or options.get("max_norm") is not None:
                    raise NotFusedError("max_norm")
                found = _combine(_find_table(embedding_weights), now, sparse_ids, combiner)
            except NotFusedError as reason:
                now.note_lookup(column, str(reason))
            else:
                now.note_lookup(column, None)
                return found
        return original(
            *(embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name), **options
        )

    return combined


def _combine(
    table: Any, now: Substitution, ids: tf.SparseTensor, combiner: Optional[str]
) -> tf.Tensor:
    """Returns float32 [rows, columns of the table]: the combined rows of each row's ids."""
    if ids.indices.shape.as_list()[1:] != [2]:
        raise NotFusedError("its sparse tensor is not known to have the rank 2")
    filled, is_empty = now.fill(ids)
    rows = _gather(table, filled.values)
    found = _COMBINE[combiner or "mean"](
        data=rows,
        indices=tf.range(tf.size(filled.values)),
        segment_ids=tf.cast(filled.indices[:, 0], tf.int32),
    )
    return _mask(found, tf.logical_not(is_empty))


def _find_table(table: Any) -> Any:
    if isinstance(table, variables.PartitionedVariable):
        table = list(table)
    if isinstance(table, list):
        if len(table) > 1:
            raise NotFusedError(f"its table is in {len(table)} parts")
        (table,) = table
    return table


def _gather(table: Any, ids: tf.Tensor) -> tf.Tensor:
    """Returns the rows of a variable: [number of ids, columns of the table]."""
    if not isinstance(table, resource_variable_ops.BaseResourceVariable):
        return tf.gather(table, ids)
    with tf.get_default_graph().gradient_override_map({"ResourceGather": "EstimatorBridgeLookup"}):
        rows = tf.raw_ops.ResourceGather(resource=table.handle, indices=ids, dtype=table.dtype)
    rows.set_shape([*ids.shape.as_list(), *table.shape.as_list()[1:]])
    return rows


def _mask(rows: tf.Tensor, present: tf.Tensor) -> tf.Tensor:
    """Returns rows with zeros where they are not present."""
    with tf.get_default_graph().gradient_override_map({"SelectV2": "EstimatorBridgeMasked"}):
        return tf.raw_ops.SelectV2(
            condition=present[:, tf.newaxis], t=rows, e=tf.zeros([], rows.dtype)
        )


def _look_up(table: Any, ids: Ids) -> tf.Tensor:
    """Returns float32 [batch, columns of the table], with zeros where a value is missing."""
    rows = _gather(_find_table(table), ids.values)
    return rows if ids.present is None else _mask(rows, ids.present)


def _spread_rows(operation: Any, gradient: tf.Tensor) -> tuple[Any, None]:
    """Returns the gradient of a lookup: of each row, without the sums of equal ids."""
    handle, ids = operation.inputs
    shape = resource_variable_ops.variable_shape(handle)
    return tf.IndexedSlices(gradient, ids, shape), None


def _mask_gradient(operation: Any, gradient: tf.Tensor) -> tuple[None, tf.Tensor, None]:
    """Returns the gradient of the rows that are not missing."""
    condition, _, zero = operation.inputs
    return None, tf.raw_ops.SelectV2(condition=condition, t=gradient, e=zero), None
