"""Turns feature columns, or plain tensors, into the features that trees split."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from ..private_tf import feature_column_v2
from .forest import NO_CATEGORY
from .learner import Feature

__all__ = ["Batch", "read"]


class Batch(NamedTuple):
    """The features of a batch.

    Attributes:
      features: what trees may split, in the order in which they are tried.
      numbers: float32 [columns, batch] tensor; NaN where a row has no value.
      categories: int64 [columns, batch, n] tensor, filled up with NO_CATEGORY.
    """

    features: list[Feature]
    numbers: Any
    categories: Any


class _Found(NamedTuple):
    """Named tensors by kind: dense [batch], sparse numbers, and sparse categories."""

    dense: list[tuple[str, Any]]
    sparse: list[tuple[str, Any]]
    categorical: list[tuple[str, Any]]


def read(
    features: Any,
    feature_columns: Optional[Sequence[Any]],
    more: Sequence[tuple[str, Any]] = (),
) -> Batch:
    """Returns the features of a batch.

    Args:
      features: the dict of tensors of the input function.
      feature_columns: real-valued and sparse columns; None to take each tensor as it is.
      more: names and dense tensors [batch, n] that come before.

    Raises:
      ValueError: a column or a tensor cannot be used.
    """
    found = _Found([], [], [])
    for name, tensor in more:
        _add_dense(name, tensor, found)
    if feature_columns:
        _read_columns(features, feature_columns, found)
    else:
        _read_tensors(features, found)
    if not any(found):
        raise ValueError("No dense/sparse float/sparse int features were found.")
    described = [
        Feature(_shorten(name), "dense", n, n, 1) for n, (name, _) in enumerate(found.dense)
    ]
    lines = [tensor for _, tensor in found.dense]
    for number, (name, tensor) in enumerate(found.sparse):
        width = tensor.shape[1]
        if width is None:
            raise ValueError(f"feature {name}: its second dimension is unknown; set its shape")
        described.append(Feature(_shorten(name), "sparse", number, len(lines), int(width)))
        lines += tf.unstack(_densify(tensor, float("nan")), int(width), axis=1)
    for number, (name, _) in enumerate(found.categorical):
        described.append(Feature(_shorten(name), "categorical", number, number, 1))
    names = [feature.name for feature in described]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"features: {', '.join(twice)} is there twice: only letters and digits of names count; "
            "rename one"
        )
    return Batch(described, _stack_numbers(lines), _stack_categories(found.categorical))


def _shorten(name: str) -> str:
    """Returns a feature's name in checkpoints."""
    return re.sub("[^A-Za-z0-9]", "", name)


def _read_columns(features: Any, feature_columns: Sequence[Any], found: _Found) -> None:
    manager = feature_column_v2._StateManagerImpl(layer=None, trainable=False)
    transformed = feature_column_v2._transform_features_v2(features, feature_columns, manager)
    for column in sorted(feature_columns, key=lambda column: column.name):
        tensor = transformed[column]
        if isinstance(column, feature_column_v2.NumericColumn):
            _add_dense(column.name, tensor, found)
        elif isinstance(column, feature_column_v2.CategoricalColumn) and not isinstance(
            column, (feature_column_v2.BucketizedColumn, feature_column_v2.CrossedColumn)
        ):
            found.categorical.append((column.name, tensor))
        else:
            raise ValueError(
                f"feature_columns: {column.name} is a {type(column).__name__}; gradient boosted "
                "trees take real-valued and sparse columns"
            )


def _read_tensors(features: Any, found: _Found) -> None:
    for name in sorted(features):
        tensor = features[name]
        if not isinstance(tensor, tf.SparseTensor):
            if not tensor.dtype.is_floating:
                raise ValueError(
                    f"feature {name}: {tensor.dtype.name}, but dense features are float32"
                )
            _add_dense(name, tensor, found)
        elif tensor.dtype.is_floating:
            found.sparse.append((name, tensor))
        elif tensor.dtype == tf.int64:
            found.categorical.append((name, tensor))
        else:
            raise ValueError(
                f"feature {name}: {tensor.dtype.name}, but sparse features are float32 or int64"
            )


def _add_dense(name: str, tensor: Any, found: _Found) -> None:
    tensor = tf.cast(tensor, tf.float32)
    if tensor.shape.rank == 1:
        tensor = tensor[:, tf.newaxis]
    width = tensor.shape[1]
    if width is None or tensor.shape.rank != 2:
        raise ValueError(f"feature {name}: expected shape [batch, n], received {tensor.shape}")
    for number, values in enumerate(tf.unstack(tensor, axis=1)):
        found.dense.append((name if width == 1 else f"{name}{number}", values))


def _densify(tensor: Any, missing: Any) -> Any:
    return tf.sparse.to_dense(tensor, default_value=missing, validate_indices=False)


def _stack_numbers(lines: Sequence[Any]) -> Any:
    if not lines:
        return tf.zeros([0, 0])
    return tf.stack([tf.cast(line, tf.float32) for line in lines])


def _stack_categories(tensors: Sequence[tuple[str, Any]]) -> Any:
    if not tensors:
        return tf.zeros([0, 0, 0], tf.int64)
    missing = tf.constant(NO_CATEGORY, tf.int64)
    tables = []
    for _, tensor in tensors:
        table = _densify(tensor, missing) if isinstance(tensor, tf.SparseTensor) else tensor
        # Of a column, -1 is a value that is not in its vocabulary.
        tables.append(tf.where(table < 0, tf.fill(tf.shape(table), missing), table))
    width = tf.reduce_max(tf.stack([tf.shape(table)[1] for table in tables]))
    padded = [
        tf.pad(table, [[0, 0], [0, width - tf.shape(table)[1]]], constant_values=NO_CATEGORY)
        for table in tables
    ]
    return tf.stack(padded)
