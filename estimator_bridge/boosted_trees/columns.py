"""Turns feature columns into features: the numbers of buckets, which trees split."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from ..private_tf import feature_column_v2
from .bucketizing import Bucketizer
from .splits import EQUALITY, INEQUALITY

__all__ = [
    "Group",
    "Layout",
    "bucketize",
    "depend_on_rows",
    "plan",
    "read_buckets",
    "read_numbers",
    "read_table",
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

    @property
    def dtype(self) -> Any:
        """The smallest type of NumPy for the buckets, and for the -1 of a missing one."""
        most = max((group.num_buckets for group in self.groups), default=0)
        return next(kind for kind in (np.int8, np.int16, np.int32) if most <= np.iinfo(kind).max)


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


def depend_on_rows(columns: Sequence[Any]) -> bool:
    """Returns whether a row has the same features in each batch and at each time.

    A normalizer may compute the mean of the batch, and the rows of an embedding may change.

    Args:
      columns: feature columns, or names of features.
    """
    return all(map(_depends_on_row, columns))


def _depends_on_row(column: Any) -> bool:
    if isinstance(column, feature_column_v2.NumericColumn):
        return column.normalizer_fn is None
    if isinstance(column, feature_column_v2.BucketizedColumn):
        return _depends_on_row(column.source_column)
    if isinstance(column, feature_column_v2.IndicatorColumn):
        return _depends_on_row(column.categorical_column)
    if isinstance(column, feature_column_v2.CrossedColumn):
        return depend_on_rows(column.keys)
    return isinstance(
        column,
        (
            str,
            feature_column_v2.HashedCategoricalColumn,
            feature_column_v2.IdentityCategoricalColumn,
            feature_column_v2.VocabularyFileCategoricalColumn,
            feature_column_v2.VocabularyListCategoricalColumn,
        ),
    )


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


def _read_number(features: Any, column: Any) -> Optional[Any]:
    """Returns a numeric column as float32 [batch]; None if it needs more than a cast."""
    if type(column) is not feature_column_v2.NumericColumn or column.normalizer_fn:
        return None
    tensor: Any = features.get(column.key) if isinstance(features, dict) else None
    if not isinstance(tensor, tf.Tensor) or tensor.shape.rank != 1:
        return None
    is_number = tensor.dtype.is_floating or tensor.dtype.is_integer
    return tf.cast(tensor, tf.float32) if is_number and _count_numbers(column) == 1 else None


def _read_parts(features: Any, layout: Layout) -> list[Any]:
    """Returns what each column gives: float32 [batch, width] numbers, or int32 ones of buckets.

    A column of one number may also be [batch], without TensorFlow's transformation, which adds six
    operations for each: a third of the graph of a program with many numbers.

    Raises:
      ValueError: a bucketized column has several values.
    """
    numbers = [_read_number(features, column) for column in layout.columns]
    others = [one for one, number in zip(layout.columns, numbers) if number is None]
    transformed = _transform(features, others) if others else {}
    parts = []
    for column, number in zip(layout.columns, numbers):
        if number is not None:
            parts.append(number)
            continue
        tensor, width, dtype = transformed[column], 1, tf.int32
        if isinstance(column, feature_column_v2.BucketizedColumn):
            if len(tensor.shape) > 2 or tensor.shape[-1] != 1:
                raise ValueError(
                    f"feature_columns: {column.name} must bucketize one value, but its tensor has "
                    f"shape {tensor.shape}; make a column for each value"
                )
        elif isinstance(column, feature_column_v2.IndicatorColumn):
            if len(tensor.shape) > 2:
                raise ValueError(f"feature_columns: {column.name} must give a vector a row")
            width = column.categorical_column.num_buckets
        elif isinstance(column, feature_column_v2.CategoricalColumn):
            tensor = tf.sparse.to_dense(tensor)[:, 0]
        else:
            width, dtype = _count_numbers(column), tf.float32
        parts.append(tf.reshape(tf.cast(tensor, dtype), [-1, width]))
    return parts


def _split(part: Any) -> list[Any]:
    """Returns the columns of a tensor; of a single one, no copy is made."""
    if part.shape.rank == 1:
        return [part]
    return [tf.reshape(part, [-1])] if part.shape[1] == 1 else tf.unstack(part, axis=1)


def read_numbers(features: Any, layout: Layout) -> list[Any]:
    """Returns the features that are numbers, as float32 [batch] tensors.

    Args:
      features: the dict of tensors of the input function.
      layout: the features.
    """
    numbers = layout._replace(columns=[one for one in layout.columns if _is_number(one)])
    return [one for part in _read_parts(features, numbers) for one in _split(part)]


def read_buckets(features: Any, layout: Layout, boundaries: Sequence[Any]) -> list[Any]:
    """Returns the bucket of each feature, by operations that any TensorFlow has.

    Args:
      features: the dict of tensors of the input function.
      layout: the features.
      boundaries: float32 [n] tensors, ascending, for each feature that is a number.

    Returns:
      int32 [batch] tensors: of a number the first boundary that is not below it, or the last one.

    Raises:
      ValueError: a bucketized column has several values.
    """
    limits = iter(boundaries)
    return [
        bucketize(one, next(limits)) if part.dtype == tf.float32 else one
        for part in _read_parts(features, layout)
        for one in _split(part)
    ]


def bucketize(numbers: Any, boundaries: Any) -> Any:
    """Returns the first boundary that is not below each number, or the last one: int32 [batch].

    Args:
      numbers: float32 [batch] tensor.
      boundaries: float32 [n] tensor, ascending.
    """
    found = tf.searchsorted(boundaries, numbers)
    return tf.maximum(tf.minimum(found, tf.size(boundaries) - 1), 0)


def read_table(features: Any, layout: Layout, boundaries: Sequence[Any]) -> Any:
    """Returns the same as read_buckets, in less time and memory, by an operation of this process.

    Args:
      features: the dict of tensors of the input function.
      layout: the features.
      boundaries: nothing if no feature is a number. Otherwise two tensors: float32 [n], the
        boundaries of each number, ascending, one number's after the other's; and int32 [numbers],
        how many each has.

    Returns:
      [features, batch] tensor of the layout's dtype.
    """
    parts = [
        # A value that comes again in a row has no bucket. What comes twice counts as missing in
        # TensorFlow; with more, its memory was damaged.
        tf.minimum(part, _FEWEST_BUCKETS)
        if isinstance(column, feature_column_v2.IndicatorColumn)
        else part
        for column, part in zip(layout.columns, _read_parts(features, layout))
    ]
    bucketizer = Bucketizer(layout.dtype)

    def find(*inputs: np.ndarray) -> np.ndarray:
        limits = inputs[len(parts) :]
        split = np.split(limits[0], np.cumsum(limits[1])[:-1]) if limits else []
        return bucketizer.find(inputs[: len(parts)], split)

    found = tf.numpy_function(find, [*parts, *boundaries], layout.dtype)
    found.set_shape([len(layout.names), None])
    return found
