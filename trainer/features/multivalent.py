"""Multivalent features: one text per row outside the graph, single values inside the graph."""

from typing import Any

from estimator_bridge import tf


def join_values(values: Any, separator: str) -> Any:
    """Joins the values of each row to one text, as in a CSV file.

    Args:
        values: ragged strings, floats or ints [batch, (values)].
        separator: text between the values.

    Returns:
        strings [batch]; "" for a row without values. Each float keeps all of its digits.
    """
    if values.dtype != tf.string:
        # Nine digits distinguish every float32 from its neighbours.
        digits = {"precision": 9, "shortest": True} if values.dtype == tf.float32 else {}
        values = values.with_flat_values(tf.strings.as_string(values.flat_values, **digits))
    return tf.strings.reduce_join(values, axis=-1, separator=separator)


def split_values(texts: Any, separator: str) -> Any:
    """Splits the text of each row into its values; the inverse of join_values.

    Args:
        texts: strings [batch].
        separator: text between the values.

    Returns:
        ragged strings [batch, (values)], without blanks around the values. A value may be empty. A
        text that contains only blanks has no values.
    """
    texts = tf.strings.strip(tf.reshape(texts, [-1]))
    values = tf.strings.split(texts, separator)
    # Splitting an empty text returns one empty value.
    is_present = tf.not_equal(texts, "")
    kept = tf.boolean_mask(values.flat_values, tf.repeat(is_present, values.row_lengths()))
    lengths = values.row_lengths() * tf.cast(is_present, tf.int64)
    return tf.RaggedTensor.from_row_lengths(tf.strings.strip(kept), lengths, validate=False)


def drop_empty(values: Any) -> Any:
    """Removes the empty strings from ragged strings.

    Args:
        values: ragged strings [batch, (values)].
    """
    return tf.ragged.boolean_mask(values, tf.not_equal(values, ""))


def drop_unpaired(weights: Any, values: Any, names: tuple[str, str]) -> Any:
    """Returns the weights of the values that are not empty.

    If lengths differ, the graph raises an InvalidArgumentError that names the columns.

    Args:
        weights: ragged strings [batch, (weights)], of numbers.
        values: ragged strings [batch, (values)] of the same lengths, paired by position.
        names: column of the weights and column of the values.

    Returns:
        ragged float32 [batch, (values that are not empty)].
    """
    message = f"column {names[0]}: it needs one number for each value of column {names[1]}"
    same = tf.debugging.assert_equal(weights.row_lengths(), values.row_lengths(), message)
    with tf.control_dependencies([same] if same is not None else []):
        kept = tf.boolean_mask(weights.flat_values, tf.not_equal(values.flat_values, ""))
    lengths = drop_empty(values).row_lengths()
    numbers = tf.strings.to_number(kept, tf.float32)
    return tf.RaggedTensor.from_row_lengths(numbers, lengths, validate=False)


def to_numbers(values: Any, dtype: Any) -> Any:
    """Parses ragged strings as numbers.

    Args:
        values: ragged strings [batch, (values)].
        dtype: tf.int64 or tf.float32.

    Returns:
        ragged numbers of the same shape; an empty int becomes -1, which means no category.
    """
    flat = values.flat_values
    if dtype == tf.int64:
        flat = tf.where(tf.equal(flat, ""), tf.fill(tf.shape(flat), "-1"), flat)
    return values.with_flat_values(tf.strings.to_number(flat, dtype))
