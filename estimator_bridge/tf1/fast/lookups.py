"""Weighted sums, embeddings and indicators of columns with one value in a row.

The results are those of TensorFlow to the last bit. The gradients of a row are summed in another
order. TensorFlow looks up row 0 for a missing value, discards it, and updates it with a gradient of
zero, which changes it with Ftrl or momentum; so does this module.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column_v2, resource_variable_ops, variables
from estimator_bridge.tf1.fast.ids import Ids, NotOneValueError, find_ids

__all__ = ["Substitution", "install", "substituting"]

_thread = threading.local()


class Substitution:
    """What has been replaced in a graph.

    Attributes:
      fused: names of columns, one for each use.
      others: name of a column that has not been fused -> why.
    """

    def __init__(self) -> None:
        self.fused: list[str] = []
        self.others: dict[str, str] = {}
        self._ids: dict[Any, Ids] = {}

    def find_ids(self, column: Any, cache: Any, state_manager: Any) -> Ids:
        """Returns the ids of a column; the same tensors for the wide and the deep part.

        Args:
          column: a categorical column.
          cache: the FeatureTransformationCache of the features.
          state_manager: of the layer.

        Raises:
          NotOneValueError: the column cannot be fused.
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
        except NotOneValueError as reason:
            now.others[column.name] = str(reason)
            return original(*arguments, *others, **named)
        now.fused.append(column.name)
        return found

    return substituted


def _sum_weights(
    column: Any, ids: Ids, state_manager: Any, sparse_combiner: Any, weight_var: Any
) -> tf.Tensor:
    return _look_up(weight_var, ids)


def _embed(column: Any, ids: Ids, state_manager: Any) -> tf.Tensor:
    if column.ckpt_to_load_from is not None:
        raise NotOneValueError("its table comes from a checkpoint")
    if column.max_norm is not None:
        raise NotOneValueError("max_norm")
    if not column.use_safe_embedding_lookup:
        raise NotOneValueError("use_safe_embedding_lookup=False")
    return _look_up(state_manager.get_variable(column, name="embedding_weights"), ids)


def _indicate(column: Any, ids: Ids, state_manager: Any) -> tf.Tensor:
    values = ids.values
    if ids.present is not None:
        values = tf.where(ids.present, values, -tf.ones_like(values))
    return tf.one_hot(values, column.categorical_column.num_buckets, 1.0, 0.0)


def _look_up(table: Any, ids: Ids) -> tf.Tensor:
    """Returns float32 [batch, columns of the table], with zeros where a value is missing."""
    if isinstance(table, variables.PartitionedVariable):
        parts = list(table)
        if len(parts) > 1:
            raise NotOneValueError(f"its table is in {len(parts)} parts")
        table = parts[0]
    if not isinstance(table, resource_variable_ops.BaseResourceVariable):
        raise NotOneValueError("its table is a reference variable")
    graph = tf.get_default_graph()
    with graph.gradient_override_map({"ResourceGather": "EstimatorBridgeLookup"}):
        rows = tf.raw_ops.ResourceGather(
            resource=table.handle, indices=ids.values, dtype=table.dtype
        )
    rows.set_shape([*ids.values.shape.as_list(), *table.shape.as_list()[1:]])
    if ids.present is None:
        return rows
    with graph.gradient_override_map({"SelectV2": "EstimatorBridgeMasked"}):
        return tf.raw_ops.SelectV2(
            condition=ids.present[:, tf.newaxis], t=rows, e=tf.zeros([], rows.dtype)
        )


def _spread_rows(operation: Any, gradient: tf.Tensor) -> tuple[Any, None]:
    """Returns the gradient of a lookup: of each row, without the sums of equal ids."""
    handle, ids = operation.inputs
    shape = resource_variable_ops.variable_shape(handle)
    return tf.IndexedSlices(gradient, ids, shape), None


def _mask_gradient(operation: Any, gradient: tf.Tensor) -> tuple[None, tf.Tensor, None]:
    """Returns the gradient of the rows that are not missing."""
    condition, _, zero = operation.inputs
    return None, tf.raw_ops.SelectV2(condition=condition, t=gradient, e=zero), None
