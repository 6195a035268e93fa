"""Feature columns of a schema for boosted trees, which split numbers and single categories."""

from typing import Any

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.columns import (
    build_categorical,
    name_feature,
    name_indicator,
    number_dtype,
)
from trainer.schema import MAX_INDICATOR_SIZE, Column, Schema


def build_tree_columns(schema: Schema) -> list[Any]:
    """Builds the feature columns of the columns that the wide or the deep part uses.

    Numbers are not normalised, because trees split by their order. Crosses and embeddings are left
    out: a tree crosses columns by itself.

    Args:
        schema: the columns.

    Raises:
        UserError: there is no such column.
    """
    columns: list[Any] = []
    for name in schema.features:
        column = schema.columns[name]
        if not {"wide", "deep"} & set(column.use) or column.image is not None:
            continue
        if column.is_multivalent_numeric:
            # The numbers are weights of another column.
            continue
        if column.is_categorical:
            columns.append(_split_by_category(name, column))
        elif column.date:
            # A missing part is -1, below all others.
            keys = [name_feature(f"{name}_{part}") for part in column.date]
            columns += [tf.feature_column.numeric_column(key, dtype=tf.int64) for key in keys]
        else:
            key = name_feature(name)
            columns.append(tf.feature_column.numeric_column(key, dtype=number_dtype(column)))
            if column.missing_indicator:
                key = name_feature(name_indicator(name))
                ids = tf.feature_column.categorical_column_with_identity(key, 1)
                columns.append(tf.feature_column.indicator_column(ids))
    if not columns:
        raise UserError(
            "model.type boosted_trees: no column of the schema is used in the wide or the deep "
            "part; give one use: [deep], or choose another model.type"
        )
    return columns


def _split_by_category(name: str, column: Column) -> Any:
    """Returns ids as one feature for each, or as one feature that is split by equality.

    Both make the same splits of single values. The latter is one feature however many ids there
    are, but takes only the first of several values, and a value without an id as the first id.
    """
    ids = build_categorical(name, column)
    if column.size > MAX_INDICATOR_SIZE and column.separator is None:
        return ids
    return tf.feature_column.indicator_column(ids)
