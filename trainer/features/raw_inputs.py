"""The raw features that are the inputs of an export; parses tf.Example and CSV lines to them."""

from collections.abc import Sequence
from typing import Any

from estimator_bridge import tf
from trainer.features.multivalent import join_values
from trainer.schema import Column, Schema, Statistics, resolve_defaults

_DTYPES = {"float": tf.float32, "int": tf.int64, "string": tf.string}


def raw_dtype(column: Column) -> Any:
    """Returns the TensorFlow type of a column's raw values.

    Args:
        column: the column; the raw value of a multivalent column is one string.
    """
    return _DTYPES[column.raw_type]


def list_inputs(schema: Schema) -> list[str]:
    """Returns the names of the raw inputs of an export: the used features and the key.

    Args:
        schema: the columns and their roles.
    """
    names = schema.used_features
    return names + [schema.key] if schema.key else names


def list_csv_inputs(schema: Schema) -> list[str]:
    """Returns the columns of a CSV line for serving: all except labels and weight, in file order.

    Args:
        schema: the columns and their roles.
    """
    roles = {*schema.label_columns, schema.weight}
    return [name for name in schema.columns if name not in roles]


def parse_examples(serialized: Any, schema: Schema, statistics: Statistics) -> dict[str, Any]:
    """Parses tf.Example records to raw features.

    Args:
        serialized: strings [batch].
        schema: the columns.
        statistics: statistics of the training data, for defaults.

    Returns:
        name → tensor [batch] of the column's raw type.
    """
    defaults = resolve_defaults(schema, statistics)
    spec = {
        name: tf.io.FixedLenFeature([], raw_dtype(schema.columns[name]), defaults[name])
        for name in list_inputs(schema)
    }
    separators = {
        name: separator
        for name in spec
        if (separator := schema.columns[name].separator) is not None
    }
    spec.update(
        {name: tf.io.RaggedFeature(_DTYPES[schema.columns[name].type]) for name in separators}
    )
    parsed: dict[str, Any] = tf.io.parse_example(serialized, spec)
    for name, separator in separators.items():
        # The record may contain one joined value or several values. The result is one text, as in
        # a CSV file.
        joined = join_values(parsed[name], separator)
        default = tf.fill(tf.shape(joined), defaults[name])
        parsed[name] = tf.where(tf.equal(joined, ""), default, joined)
    return parsed


def parse_csv_lines(
    lines: Any, schema: Schema, statistics: Statistics, delimiter: str
) -> dict[str, Any]:
    """Parses CSV lines to raw features.

    Args:
        lines: strings [batch]; each has the columns of list_csv_inputs.
        schema: the columns.
        statistics: statistics of the training data, for defaults.
        delimiter: text between fields.

    Returns:
        name → tensor [batch] of the column's raw type; missing numbers are replaced, missing texts
        are not.
    """
    defaults = resolve_defaults(schema, statistics)
    names = list_csv_inputs(schema)
    fields = tf.io.decode_csv(lines, [[""]] * len(names), field_delim=delimiter)
    wanted = set(list_inputs(schema))
    features = {}
    for name, text in zip(names, fields):
        if name not in wanted:
            continue
        dtype = raw_dtype(schema.columns[name])
        if dtype == tf.string:
            features[name] = text
            continue
        # Without a default, the empty text of a missing number fails to parse. This is intended.
        default = defaults[name]
        if default is not None:
            missing = _find_missing(text, schema.missing_values)
            text = tf.where(missing, tf.fill(tf.shape(text), str(default)), text)
        features[name] = tf.strings.to_number(text, dtype)
    return features


def fill_missing(
    features: dict[str, Any], schema: Schema, statistics: Statistics
) -> dict[str, Any]:
    """Replaces NaN and the schema's missing_values by the columns' defaults.

    A number without a default, and the key, stay as they are.

    Args:
        features: name → tensor [batch] of the column's raw type.
        schema: the columns, missing_values and key.
        statistics: statistics of the training data, for defaults.

    Returns:
        name → tensor [batch].
    """
    defaults = resolve_defaults(schema, statistics)
    filled = dict(features)
    for name, values in features.items():
        if name == schema.key or defaults[name] is None:
            continue
        missing = _find_missing(values, schema.list_missing(schema.columns[name].raw_type))
        default = tf.fill(tf.shape(values), tf.constant(defaults[name], values.dtype))
        filled[name] = tf.where(missing, default, values)
    return filled


def _find_missing(values: Any, known: Sequence[Any]) -> Any:
    """Returns a bool mask [batch] of NaN and of the known values."""
    each = tf.constant(known, values.dtype, [len(known)])
    missing = tf.reduce_any(tf.equal(values[:, None], each[None, :]), axis=1)
    return tf.logical_or(missing, tf.math.is_nan(values)) if values.dtype.is_floating else missing
