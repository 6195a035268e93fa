"""Derives single values and parts of dates from texts, in the graph of the model."""

from typing import Any

from estimator_bridge import tf
from trainer.features.columns import name_feature, name_indicator, name_sequence
from trainer.features.multivalent import drop_empty, drop_unpaired, split_values, to_numbers
from trainer.schema import Schema, Statistics, resolve_default
from trainer.schema.columns import DATE_PATTERN

# A date that has an hour.
WITH_HOUR = r".{10}[T ]\d\d.*"


def derive_features(
    features: dict[str, Any], schema: Schema, statistics: Statistics
) -> dict[str, Any]:
    """Replaces multivalent texts by their values, and adds parts of dates and indicators.

    It is part of the model's graph. So training, evaluation and every export compute the same.

    Args:
        features: name → tensor; columns with a separator or date parts are strings [batch].
        schema: determines the columns with a separator, date parts or a missing_indicator.
        statistics: statistics of the training data, for the default `mean`.

    Returns:
        The features with these changes. Each column with a separator is a SparseTensor [batch,
        maximum number of values]: strings or int64 for categories, without empty values; float32
        for their weights. For each sequence, "<column>_sequence" is a SparseTensor of all values in
        their order. For each part of a date, "<column>_<part>" is int64 [batch]; it is -1 if the
        text is not a date. In a column with a missing_indicator, the default replaces NaN, and
        "<column>_missing" is int64 of the column's shape: 0 where the number is missing, else -1,
        which is no value. If name_feature returns another key for a name, the feature is included
        under both.
    """
    derived, weights_of = dict(features), schema.weights_of
    for name in features:
        column = schema.columns.get(name)
        if column is None:
            continue
        if column.separator is not None and name not in weights_of:
            derived.update(_split(name, column.separator, features, schema))
        elif column.text is not None and "sequence" in column.use:
            derived[name_sequence(name)] = features[name]
        if column.date:
            parts = split_dates(features[name])
            derived.update({f"{name}_{part}": parts[part] for part in column.date})
        if column.missing_indicator:
            is_missing = tf.math.is_nan(features[name])
            default = tf.constant(resolve_default(name, schema, statistics), tf.float32)
            derived[name] = tf.where(is_missing, default, features[name])
            derived[name_indicator(name)] = tf.cast(is_missing, tf.int64) - 1
    return {**derived, **{name_feature(name): tensor for name, tensor in derived.items()}}


def _split(name: str, separator: str, features: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns the features that are derived from a multivalent column and its weights."""
    column = schema.columns[name]
    values = split_values(features[name], separator)
    made, dtype = {}, {"float": tf.float32, "int": tf.int64}.get(column.type)
    if column.weights is not None and column.weights in features:
        # The validation of the schema ensures that a weights column has a separator.
        weights_separator = schema.columns[column.weights].separator or separator
        weights = split_values(features[column.weights], weights_separator)
        made[column.weights] = drop_unpaired(weights, values, (column.weights, name)).to_sparse()
    if "sequence" in column.use:
        sequence = values if dtype is None else to_numbers(values, dtype)
        made[name_sequence(name)] = sequence.to_sparse()
    present = drop_empty(values)
    made[name] = (present if dtype is None else to_numbers(present, dtype)).to_sparse()
    return made


def split_dates(values: Any) -> dict[str, Any]:
    """Splits ISO dates into their parts.

    Args:
        values: strings [batch], such as 2020-12-31 or 2020-12-31 23:59.

    Returns:
        year, month, day, weekday and hour, int64 [batch] each. Month and day count from 1, weekday
        from Monday = 0. All parts are -1 if the text is not a date; the hour is -1 if the date has
        no time.
    """
    values = tf.strings.strip(tf.reshape(values, [-1]))
    is_date = tf.strings.regex_full_match(values, DATE_PATTERN)
    has_hour = tf.logical_and(is_date, tf.strings.regex_full_match(values, WITH_HOUR))
    # All rows are parsed, so each must contain a valid date. The results of other texts are dropped
    # below.
    dates = tf.where(is_date, values, tf.fill(tf.shape(values), "1970-01-01"))
    times = tf.where(has_hour, values, tf.fill(tf.shape(values), "1970-01-01 00"))

    def number(texts: Any, start: int, length: int) -> Any:
        return tf.strings.to_number(tf.strings.substr(texts, start, length), tf.int64)

    year, month, day = number(dates, 0, 4), number(dates, 5, 2), number(dates, 8, 2)
    parts = {"year": year, "month": month, "day": day, "weekday": _weekday(year, month, day)}
    parts = {name: tf.where(is_date, part, -tf.ones_like(part)) for name, part in parts.items()}
    hour = number(times, 11, 2)
    parts["hour"] = tf.where(has_hour, hour, -tf.ones_like(hour))
    return parts


def _weekday(year: Any, month: Any, day: Any) -> Any:
    """Returns the weekday, Monday = 0, by counting days from 1 March of year 0; int64 [batch].

    Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    """
    year = year - tf.cast(month <= 2, tf.int64)
    era, of_era = year // 400, year % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year
    # In this calendar 1 March 0000 is a Wednesday.
    return (days + 2) % 7
