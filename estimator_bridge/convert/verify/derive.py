"""Computes the derived features of a plan with TensorFlow's string operations.

A rebuilt Estimator is fed these features. The tests compare the Keras code of write/texts.py with
this module, and both with the exports of the trainer.
"""

from typing import Any, Optional

from ..plan.derived import DatePart, Derived, Filled, IsMissing, Renamed, SplitText, Words

__all__ = ["add_derived"]

_NOT_A_WORD = r"[^\pL\pN\pM']+"
_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])([:.].*)?)?"


def add_derived(features: dict[str, Any], derived: tuple[Derived, ...]) -> dict[str, Any]:
    """Returns the features together with those derived from their texts.

    Args:
      features: name -> tensor; texts are strings [batch] or [batch, 1].
      derived: the features to compute.

    Returns:
      Name -> tensor. Split texts and words are SparseTensors [batch, most values of a row], parts
      of dates are int64 [batch]. A derived feature replaces a raw one of the same name.
    """
    from estimator_bridge import tf

    result = dict(features)
    for one in derived:
        if isinstance(one, Renamed):
            result[one.name] = features[one.source]
            continue
        if isinstance(one, (Filled, IsMissing)):
            result[one.name] = _from_number(features[one.source], one, tf)
            continue
        text = tf.reshape(features[one.source], [-1])
        if isinstance(one, Words):
            result[one.name] = _words(text, one, tf)
        elif isinstance(one, DatePart):
            result[one.name] = _date_part(text, one.part, tf)
        else:
            weighted = None
            if one.weighted_text is not None:
                source, separator = one.weighted_text
                weighted = (tf.reshape(features[source], [-1]), separator)
            result[one.name] = _values(text, one, weighted, tf)
    return result


def _from_number(number: Any, one: Any, tf: Any) -> Any:
    is_missing = tf.math.is_nan(number)
    if isinstance(one, IsMissing):
        return tf.cast(is_missing, tf.int64) - 1
    return tf.where(is_missing, tf.constant(one.value, number.dtype), number)


def _split(text: Any, separator: str, tf: Any) -> Any:
    """Returns the stripped values of texts as a RaggedTensor; a blank text has no values."""
    text = tf.strings.strip(text)
    values = tf.strings.split(text, separator)
    is_present = tf.repeat(tf.not_equal(text, ""), values.row_lengths())
    values = tf.ragged.boolean_mask(values, values.with_values(is_present))
    return values.with_values(tf.strings.strip(values.values))


def _values(text: Any, one: SplitText, weighted: Optional[tuple[Any, str]], tf: Any) -> Any:
    split = _split(text, one.separator, tf)
    if not one.ordered:
        # A weight is dropped together with its value.
        kept = split if weighted is None else _split(*weighted, tf)
        split = tf.ragged.boolean_mask(split, tf.not_equal(kept, ""))
    values = split.values
    if one.dtype != "string":
        filled = tf.where(tf.equal(values, ""), tf.fill(tf.shape(values), "-1"), values)
        values = tf.strings.to_number(filled, tf.as_dtype(one.dtype))
    return split.with_values(values).to_sparse()


def _words(text: Any, one: Words, tf: Any) -> Any:
    text = tf.strings.lower(text, encoding="utf-8") if one.lower else text
    words = tf.strings.split(tf.strings.regex_replace(text, _NOT_A_WORD, " "))
    words = words if one.max_words is None else words[:, : one.max_words]
    return tf.strings.ngrams(words, list(range(1, one.ngrams + 1)), separator=" ").to_sparse()


def _date_part(text: Any, part: str, tf: Any) -> Any:
    text = tf.strings.strip(text)
    is_date = tf.strings.regex_full_match(text, _DATE)
    if part == "hour":
        is_date = tf.logical_and(is_date, tf.greater(tf.strings.length(text), 10))
    text = tf.where(is_date, text, tf.fill(tf.shape(text), "1970-01-01 00"))

    def number(start: int, length: int) -> Any:
        return tf.strings.to_number(tf.strings.substr(text, start, length), tf.int64)

    where = {"year": (0, 4), "month": (5, 2), "day": (8, 2), "hour": (11, 2)}
    if part in where:
        value = number(*where[part])
    else:
        year, month, day = number(0, 4), number(5, 2), number(8, 2)
        year -= tf.cast(month < 3, tf.int64)
        days = 365 * year + year // 4 - year // 100 + year // 400
        # Days since 1 March of year 0, a Wednesday (Howard Hinnant, days_from_civil).
        value = (days + (153 * ((month + 9) % 12) + 2) // 5 + day + 1) % 7
    return tf.where(is_date, value, -tf.ones_like(value))
