"""The raw features that are the inputs of an export; parses tf.Example and CSV lines to them."""

from collections.abc import Sequence
from typing import Any, Callable

from estimator_bridge import tf
from trainer.features.matrices import stack_columns
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
    features = {name: text for name, text in zip(names, fields) if name in wanted}

    def parse(texts: Any, columns: list[str]) -> Any:
        dtype = raw_dtype(schema.columns[columns[0]])
        known = [defaults[name] for name in columns]
        # Without a default, the empty text of a missing number fails to parse. This is intended.
        has_default = tf.constant([default is not None for default in known])
        missing = tf.logical_and(_find_missing(texts, schema.missing_values), has_default)
        written = tf.constant(["" if default is None else str(default) for default in known])
        return tf.strings.to_number(tf.where(missing, written, texts), dtype)

    numbers = [name for name in features if raw_dtype(schema.columns[name]) != tf.string]
    return {**features, **_map_by_type(parse, features, numbers, schema)}


def _map_by_type(
    compute: Callable[[Any, list[str]], Any],
    features: dict[str, Any],
    names: Sequence[str],
    schema: Schema,
) -> dict[str, Any]:
    """Applies a function to all columns of a type at once.

    The number of operations of a graph, which has some cost in each request, so does not depend on
    the number of columns.

    Args:
        compute: from values [batch, columns] and the names of the columns to [batch, columns].
        features: name → tensor [batch].
        names: the columns, in features.
        schema: types of the columns.

    Returns:
        name → tensor [batch] of each of the columns.
    """
    groups: dict[Any, list[str]] = {}
    for name in names:
        groups.setdefault(raw_dtype(schema.columns[name]), []).append(name)
    computed: dict[str, Any] = {}
    for columns in groups.values():
        values = compute(stack_columns([features[name] for name in columns]), columns)
        computed.update(zip(columns, tf.unstack(values, len(columns), axis=1)))
    return computed


def concat_rows(parts: Sequence[dict[str, Any]], schema: Schema) -> dict[str, Any]:
    """Concatenates the rows of several inputs.

    Args:
        parts: name → tensor [batch]; all have the names of the last one.
        schema: types of the columns.

    Returns:
        name → tensor [sum of the batches].
    """
    *first, last = parts

    def concat(values: Any, columns: list[str]) -> Any:
        matrices = [stack_columns([part[name] for name in columns]) for part in first]
        return tf.concat([*matrices, values], axis=0)

    return _map_by_type(concat, last, list(last), schema)


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

    def fill(values: Any, columns: list[str]) -> Any:
        known = schema.list_missing(schema.columns[columns[0]].raw_type)
        default = tf.constant([defaults[name] for name in columns], values.dtype)
        return tf.where(_find_missing(values, known), default, values)

    def is_filled(name: str) -> bool:
        if name == schema.key or defaults[name] is None:
            return False
        # A text that is missing, and is replaced by itself, stays as it is.
        kind = schema.columns[name].raw_type
        return kind != "string" or not set(schema.list_missing(kind)) <= {defaults[name]}

    names = [name for name in features if is_filled(name)]
    return {**features, **_map_by_type(fill, features, names, schema)}


def _find_missing(values: Any, known: Sequence[Any]) -> Any:
    """Returns a mask, bool [batch, columns], of NaN and of the known values."""
    masks = [tf.math.is_nan(values)] if values.dtype.is_floating else []
    if known or not masks:
        each = tf.constant(known, values.dtype, [len(known)])
        masks.append(tf.reduce_any(tf.equal(values[:, :, None], each), axis=2))
    return masks[0] if len(masks) == 1 else tf.logical_or(*masks)
