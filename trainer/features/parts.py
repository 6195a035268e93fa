"""Columns of several values in one text, and dates: taken apart in graph, for every use alike."""

from typing import Any

from estimator_bridge import tf
from trainer.features.columns import name_feature, name_sequence
from trainer.features.multivalent import drop_empty, drop_unpaired, split_values, to_numbers
from trainer.schema import Schema
from trainer.schema.columns import DATE_PATTERN

# What is after the day: the hour, if it is there.
WITH_HOUR = r".{10}[T ]\d\d.*"


def derive_features(features: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Replaces texts of several values by the values, and adds the parts of dates.

    It is part of the model's graph, so that training, evaluation and every export do it alike.

    Args:
        features: name → tensor; columns with a separator or date parts are strings [batch].
        schema: which columns these are.

    Returns:
        the same, with a SparseTensor [batch, most in a row] for each column with a separator:
        strings or int64 for categories, without empty ones; float32 for their weights;
        "<column>_sequence", such a SparseTensor of all values in their order, for each sequence;
        and "<column>_<part>", int64 [batch], for each part of a date; -1 where the text is no date.
        What feature columns call otherwise (name_feature) is there under that name too.
    """
    taken, weights_of = dict(features), schema.weights_of
    for name in features:
        column = schema.columns.get(name)
        if column is None:
            continue
        if column.separator is not None and name not in weights_of:
            taken.update(_split(name, features, schema))
        elif column.text is not None and "sequence" in column.use:
            taken[name_sequence(name)] = features[name]
        if column.date:
            parts = split_dates(features[name])
            taken.update({f"{name}_{part}": parts[part] for part in column.date})
    return {**taken, **{name_feature(name): tensor for name, tensor in taken.items()}}


def _split(name: str, features: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The features that a column of several values, and its weights, become."""
    column = schema.columns[name]
    values = split_values(features[name], column.separator)
    made, dtype = {}, {"float": tf.float32, "int": tf.int64}.get(column.type)
    if column.weights is not None and column.weights in features:
        weights = split_values(features[column.weights], schema.columns[column.weights].separator)
        made[column.weights] = drop_unpaired(weights, values, (column.weights, name)).to_sparse()
    if "sequence" in column.use:
        sequence = values if dtype is None else to_numbers(values, dtype)
        made[name_sequence(name)] = sequence.to_sparse()
    single = drop_empty(values)
    made[name] = (single if dtype is None else to_numbers(single, dtype)).to_sparse()
    return made


def split_dates(values: Any) -> dict[str, Any]:
    """ISO dates, strings [batch], to year, month, day, weekday and hour, int64 [batch].

    Month and day count from 1, weekday from Monday = 0. A text that is no date gives -1
    throughout, a date without a time gives the hour -1.
    """
    values = tf.strings.strip(tf.reshape(values, [-1]))
    is_date = tf.strings.regex_full_match(values, DATE_PATTERN)
    has_hour = tf.logical_and(is_date, tf.strings.regex_full_match(values, WITH_HOUR))
    # What is parsed below must parse in every row, also in those that are not kept.
    dates = tf.where(is_date, values, tf.fill(tf.shape(values), "1970-01-01"))
    times = tf.where(has_hour, values, tf.fill(tf.shape(values), "1970-01-01 00"))

    def number(texts, start, length):
        return tf.strings.to_number(tf.strings.substr(texts, start, length), tf.int64)

    year, month, day = number(dates, 0, 4), number(dates, 5, 2), number(dates, 8, 2)
    parts = {"year": year, "month": month, "day": day, "weekday": _weekday(year, month, day)}
    parts = {name: tf.where(is_date, part, -tf.ones_like(part)) for name, part in parts.items()}
    hour = number(times, 11, 2)
    parts["hour"] = tf.where(has_hour, hour, -tf.ones_like(hour))
    return parts


def _weekday(year, month, day):
    """Monday = 0, by counting days from 1 March of year 0.

    Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    """
    year = year - tf.cast(month <= 2, tf.int64)
    era, of_era = year // 400, year % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year
    # 1 March 0000 of this calendar was a Wednesday.
    return (days + 2) % 7
