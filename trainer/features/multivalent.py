"""Rows that hold several values: one text outside the graph, apart inside it."""

from typing import Any

from estimator_bridge import tf


def join_values(values: Any, separator: str) -> Any:
    """Several values a row to one text each, as a CSV file has them.

    Args:
        values: ragged strings, floats or ints [batch, (values)].
        separator: between them.

    Returns:
        strings [batch]; "" for a row without values. Each float keeps all of its digits.
    """
    if values.dtype != tf.string:
        # Nine digits tell every float32 from its neighbours.
        digits = {"precision": 9, "shortest": True} if values.dtype == tf.float32 else {}
        values = values.with_flat_values(tf.strings.as_string(values.flat_values, **digits))
    return tf.strings.reduce_join(values, axis=-1, separator=separator)


def split_values(texts: Any, separator: str) -> Any:
    """The reverse of join_values.

    Args:
        texts: strings [batch].
        separator: between the values.

    Returns:
        ragged strings [batch, (values)] without blanks around them; one between two separators may
        be empty. A text of blanks alone has none.
    """
    texts = tf.strings.strip(tf.reshape(texts, [-1]))
    pieces = tf.strings.split(texts, separator)
    # Splitting an empty text gives an empty value.
    there = tf.not_equal(texts, "")
    kept = tf.boolean_mask(pieces.flat_values, tf.repeat(there, pieces.row_lengths()))
    lengths = pieces.row_lengths() * tf.cast(there, tf.int64)
    return tf.RaggedTensor.from_row_lengths(tf.strings.strip(kept), lengths, validate=False)


def drop_empty(values: Any) -> Any:
    """Ragged strings [batch, (values)] without the empty ones."""
    return tf.ragged.boolean_mask(values, tf.not_equal(values, ""))


def drop_unpaired(weights: Any, values: Any, names: tuple[str, str]) -> Any:
    """The weights of those values that are not empty.

    Args:
        weights: ragged strings [batch, (weights)], of numbers.
        values: ragged strings [batch, (values)] of the same lengths, paired by position.
        names: columns of the weights and of the values.

    Returns:
        ragged float32 [batch, (values that are not empty)].

    The graph fails (InvalidArgumentError, which names the columns) where lengths differ.
    """
    message = f"column {names[0]}: it needs one number for each value of column {names[1]}"
    same = tf.debugging.assert_equal(weights.row_lengths(), values.row_lengths(), message)
    with tf.control_dependencies([same] if same is not None else []):
        kept = tf.boolean_mask(weights.flat_values, tf.not_equal(values.flat_values, ""))
    lengths = drop_empty(values).row_lengths()
    numbers = tf.strings.to_number(kept, tf.float32)
    return tf.RaggedTensor.from_row_lengths(numbers, lengths, validate=False)


def to_numbers(values: Any, dtype: Any) -> Any:
    """Ragged strings to int64 or float32 of the same shape; an empty int is -1, no category."""
    flat = values.flat_values
    if dtype == tf.int64:
        flat = tf.where(tf.equal(flat, ""), tf.fill(tf.shape(flat), "-1"), flat)
    return values.with_flat_values(tf.strings.to_number(flat, dtype))
