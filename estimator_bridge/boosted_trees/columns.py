"""Turns feature columns into features: the numbers of buckets, which trees split."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from ..private_tf import feature_column_v2
from .bucketizing import Bucketizer
from .splits import EQUALITY, INEQUALITY

__all__ = [
    "Group",
    "Layout",
    "bucketize",
    "bucketize_in_training",
    "plan",
    "read_buckets",
    "read_numbers",
    "sort",
]

# Until there are boundaries, all values are in one bucket.
_FEWEST_BUCKETS = 2


class Group(NamedTuple):
    """The features that have one number of buckets.

    Attributes:
      num_buckets: that number.
      feature_ids: the numbers of the features.
      split_types: how each of them is split, INEQUALITY or EQUALITY.
    """

    num_buckets: int
    feature_ids: list[int]
    split_types: list[str]


class Layout(NamedTuple):
    """The features that the columns give.

    Attributes:
      columns: the feature columns, sorted by name.
      names: for each feature, the name of its column.
      groups: the features by their number of buckets.
      num_streams: how many features are numbers, whose buckets come from their quantiles.
    """

    columns: list[Any]
    names: list[str]
    groups: list[Group]
    num_streams: int


def sort(columns: Sequence[Any]) -> list[Any]:
    """Returns the feature columns in the order in which features are numbered.

    Args:
      columns: feature columns.
    """
    return sorted(columns, key=lambda column: column.name)


def plan(columns: Sequence[Any], num_quantiles: int) -> Layout:
    """Returns the features of feature columns.

    Args:
      columns: numeric, bucketized, indicator, embedding or categorical columns.
      num_quantiles: the number of buckets of a number.

    Raises:
      ValueError: a column cannot be used.
    """
    names: list[str] = []
    sizes: dict[int, list[tuple[int, str]]] = {}
    bucketized: list[tuple[int, str]] = []
    most_boundaries = _FEWEST_BUCKETS
    num_streams = 0
    ordered = sort(columns)
    for column in ordered:
        first = len(names)
        if isinstance(column, feature_column_v2.IndicatorColumn):
            width = column.categorical_column.num_buckets
            names += [column.categorical_column.name] * width
            members = sizes.setdefault(_FEWEST_BUCKETS, [])
            members += [(first + number, INEQUALITY) for number in range(width)]
        elif isinstance(column, feature_column_v2.BucketizedColumn):
            names.append(column.name)
            most_boundaries = max(most_boundaries, len(column.boundaries) + 1)
            bucketized.append((first, INEQUALITY))
        elif isinstance(column, feature_column_v2.CategoricalColumn):
            names.append(column.name)
            sizes.setdefault(column.num_buckets, []).append((first, EQUALITY))
        else:
            width = _count_numbers(column)
            names += [column.name] * width
            num_streams += width
            members = sizes.setdefault(num_quantiles, [])
            members += [(first + number, INEQUALITY) for number in range(width)]
    if bucketized:
        # All bucketized columns have as many buckets as the largest.
        sizes.setdefault(most_boundaries, []).extend(bucketized)
    groups = [Group(size, *map(list, zip(*members))) for size, members in sizes.items()]
    return Layout(ordered, names, groups, num_streams)


def _is_number(column: Any) -> bool:
    return not isinstance(
        column,
        (
            feature_column_v2.IndicatorColumn,
            feature_column_v2.BucketizedColumn,
            feature_column_v2.CategoricalColumn,
        ),
    )


def _count_numbers(column: Any) -> int:
    if not isinstance(column, feature_column_v2.DenseColumn):
        raise ValueError(f"feature_columns: boosted trees cannot use {column!r}")
    dtype = getattr(column, "dtype", tf.float32)
    if not isinstance(column, feature_column_v2.NumericColumn) and not dtype.is_floating:
        raise ValueError(f"feature_columns: {column.name} must be of a floating-point type")
    shape = tf.TensorShape(column.variable_shape)
    if shape.rank > 1:
        raise ValueError(
            f"feature_columns: {column.name} must have one dimension, but has shape {shape}"
        )
    return shape[0] if shape.rank else 1


def _transform(features: Any, columns: Sequence[Any]) -> dict[Any, Any]:
    manager = feature_column_v2._StateManagerImpl(layer=None, trainable=False)
    return feature_column_v2._transform_features_v2(features, columns, manager)


def read_numbers(features: Any, layout: Layout) -> list[Any]:
    """Returns the features that are numbers, as float32 [batch] tensors.

    Args:
      features: the dict of tensors of the input function.
      layout: the features.
    """
    columns = [column for column in layout.columns if _is_number(column)]
    transformed = _transform(features, columns)
    return [
        number
        for column in columns
        for number in tf.unstack(
            tf.reshape(tf.cast(transformed[column], tf.float32), [-1, _count_numbers(column)]),
            axis=1,
        )
    ]


def read_buckets(
    features: Any, layout: Layout, boundaries: Sequence[Any], find: Callable[..., list[Any]]
) -> list[Any]:
    """Returns the bucket of each feature, as int32 [batch] tensors.

    Args:
      features: the dict of tensors of the input function.
      layout: the features.
      boundaries: float32 [n] tensors, for each feature that is a number.
      find: finds the buckets of numbers, bucketize or bucketize_in_training.

    Raises:
      ValueError: a bucketized column has several values.
    """
    transformed = _transform(features, layout.columns)
    numbers: list[Any] = []
    # None: the bucket of the next number.
    buckets: list[Any] = []
    for column in layout.columns:
        tensor = transformed[column]
        if isinstance(column, feature_column_v2.BucketizedColumn):
            if len(tensor.shape) > 2 or tensor.shape[-1] != 1:
                raise ValueError(
                    f"feature_columns: {column.name} must bucketize one value, but its tensor has "
                    f"shape {tensor.shape}; make a column for each value"
                )
            buckets.append(tf.cast(tf.reshape(tensor, [-1]), tf.int32))
        elif isinstance(column, feature_column_v2.IndicatorColumn):
            if len(tensor.shape) > 2:
                raise ValueError(f"feature_columns: {column.name} must give a vector a row")
            width = column.categorical_column.num_buckets
            table = tf.reshape(tf.cast(tensor, tf.int32), [-1, width])
            buckets += tf.unstack(table, axis=1)
        elif isinstance(column, feature_column_v2.CategoricalColumn):
            dense = tf.sparse.to_dense(tensor)
            buckets.append(tf.cast(dense[:, 0], tf.int32))
        else:
            width = _count_numbers(column)
            table = tf.reshape(tf.cast(tensor, tf.float32), [-1, width])
            numbers += tf.unstack(table, axis=1)
            buckets += [None] * width
    found = iter(find(numbers, boundaries))
    return [next(found) if bucket is None else bucket for bucket in buckets]


def bucketize(numbers: Sequence[Any], boundaries: Sequence[Any]) -> list[Any]:
    """Returns the buckets of numbers, by operations that any TensorFlow has.

    Args:
      numbers: float32 [batch] tensors.
      boundaries: float32 [n] tensors, ascending.

    Returns:
      int32 [batch] tensors: the first boundary that is not below each value, or the last one.
    """
    found = map(tf.searchsorted, boundaries, numbers)
    return [
        tf.maximum(tf.minimum(each, tf.size(limits) - 1), 0)
        for each, limits in zip(found, boundaries)
    ]


def bucketize_in_training(numbers: Sequence[Any], boundaries: Sequence[Any]) -> list[Any]:
    """Returns the same as bucketize, in less time, by an operation of this process.

    Args:
      numbers: float32 [batch] tensors.
      boundaries: float32 [n] tensors, ascending.
    """
    if not numbers:
        return []
    found = tf.numpy_function(Bucketizer().find, [tf.stack(numbers), *boundaries], tf.int32)
    found.set_shape([len(numbers), None])
    return tf.unstack(found)
