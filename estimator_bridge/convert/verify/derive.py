"""A Plan's derived features by TensorFlow's own operations on texts: what an Estimator is fed.

The Keras code of emit_texts is held against this, and both against the exports of the trainer.
"""

from typing import Any

from ..plan import derived as d

__all__ = ["add_derived"]

_NO_WORD = r"[^\pL\pN\pM']+"
_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])([:.].*)?)?"


def add_derived(features: dict[str, Any], derived: tuple[d.Derived, ...]) -> dict[str, Any]:
    """The features, and those derived from their texts.

    Args:
      features: name -> tensor; texts are strings [batch] or [batch, 1].
      derived: what is made of which.

    Returns:
      the same with a SparseTensor [batch, most in a row] for pieces and words, int64 [batch] for
      parts of dates. Those of the name of a text replace it.
    """
    from estimator_bridge import tf

    made = dict(features)
    for one in derived:
        if isinstance(one, d.Renamed):
            made[one.name] = features[one.source]
            continue
        text = tf.reshape(features[one.source], [-1])
        if isinstance(one, d.Words):
            made[one.name] = _words(text, one, tf)
        elif isinstance(one, d.DatePart):
            made[one.name] = _date_part(text, one.part, tf)
        else:
            beside = one.beside and (tf.reshape(features[one.beside[0]], [-1]), one.beside[1])
            made[one.name] = _pieces(text, one, beside, tf)
    return made


def _split(text, separator, tf):
    text = tf.strings.strip(text)
    pieces = tf.strings.split(text, separator)
    there = tf.repeat(tf.not_equal(text, ""), pieces.row_lengths())
    pieces = tf.ragged.boolean_mask(pieces, pieces.with_values(there))
    return pieces.with_values(tf.strings.strip(pieces.values))


def _pieces(text, one, beside, tf):
    pieces = _split(text, one.separator, tf)
    if not one.ordered:
        kept = pieces if beside is None else _split(*beside, tf)
        pieces = tf.ragged.boolean_mask(pieces, tf.not_equal(kept, ""))
    values = pieces.values
    if one.dtype != "string":
        filled = tf.where(tf.equal(values, ""), tf.fill(tf.shape(values), "-1"), values)
        values = tf.strings.to_number(filled, tf.as_dtype(one.dtype))
    return pieces.with_values(values).to_sparse()


def _words(text, one, tf):
    text = tf.strings.lower(text, encoding="utf-8") if one.lower else text
    words = tf.strings.split(tf.strings.regex_replace(text, _NO_WORD, " "))
    words = words if one.max_words is None else words[:, : one.max_words]
    return tf.strings.ngrams(words, list(range(1, one.ngrams + 1)), separator=" ").to_sparse()


def _date_part(text, part, tf):
    text = tf.strings.strip(text)
    is_date = tf.strings.regex_full_match(text, _DATE)
    if part == "hour":
        is_date = tf.logical_and(is_date, tf.greater(tf.strings.length(text), 10))
    text = tf.where(is_date, text, tf.fill(tf.shape(text), "1970-01-01 00"))

    def number(start, length):
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
