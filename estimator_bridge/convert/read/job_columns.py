"""Reads the columns of a Plan from the trainer's schema.json and statistics.json."""

import math
from collections.abc import Iterator
from typing import Any, Optional

from estimator_bridge.errors import BridgeError

from ..plan.columns import (
    HASH_KEY,
    Bucketized,
    Crossed,
    Embedding,
    Hashed,
    Identity,
    Indicator,
    Normalizer,
    Numeric,
    Raw,
    SequenceNumeric,
    SharedTable,
    Vocabulary,
    Weighted,
    name_of,
    num_ids,
    safe_name,
)
from ..plan.derived import DatePart, Derived, Filled, IsMissing, Renamed, SplitText, Words

__all__ = ["default_of", "derived_of", "read_columns", "read_tree_columns"]

_Json = dict[str, Any]

_DTYPES = {"float": "float32", "int": "int64", "string": "string"}
_MAX_INDICATOR_SIZE = 32
_DATE_IDS = {"month": 13, "day": 32, "weekday": 7, "hour": 24}
_YEARS = tuple(map(float, range(1950, 2050)))


def read_columns(
    schema: _Json, statistics: _Json, features: list[str]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns the columns of the wide, the deep and the sequence part.

    Args:
      schema: content of schema.json.
      statistics: content of statistics.json.
      features: names of the columns that are features.

    Raises:
      BridgeError: a column is an image, or growing.
    """
    wide: list[Any] = []
    deep: list[Any] = []
    steps: list[Any] = []
    # The fields that are read with get() are missing in files of older versions of the trainer.
    tables = [(one["columns"], one["dimension"]) for one in schema.get("shared_embeddings") or ()]
    shared = {name for names, _ in tables for name in names}
    for name in features:
        column = schema["columns"][name]
        if not column["use"]:
            continue
        if column.get("image"):
            raise BridgeError(
                f"schema.json: column {name} is an image, which no canned model reads; "
                "set use: [] for it"
            )
        _refuse_growing(name, column)
        if "sequence" in column["use"]:
            steps.append(_sequence(name, column, statistics))
        for ids, number in _inputs_of_parts(name, column, statistics):
            if "wide" in column["use"]:
                wide.append(ids or number)
            if "deep" in column["use"] and name not in shared:
                deep.append(number or _dense(ids, column["embedding"]))
    for names, dimension in tables:
        sources = tuple(_weighted(name, schema["columns"][name]) for name in names)
        size = dimension or _choose_dimension(num_ids(sources[0]))
        deep.append(SharedTable(sources, size))
    for cross in schema["crosses"]:
        parts = tuple(_crossable(name, schema["columns"][name]) for name in cross["columns"])
        ids = Crossed(parts, cross["hash_buckets"], HASH_KEY)
        wide.append(ids)
        if cross["embedding"]:
            deep.append(_embedding(ids, cross["embedding"]))
    return wide, deep, steps


def _refuse_growing(name: str, column: _Json) -> None:
    if column.get("growing"):
        raise BridgeError(
            f"schema.json: the ids of column {name} are those of a growing table, which no "
            "canned model has; train it with hash_buckets"
        )


def read_tree_columns(schema: _Json, features: list[str]) -> dict[str, list[Any]]:
    """Returns the columns whose numbers boosted trees split: name of a feature -> its columns.

    Args:
      schema: content of schema.json.
      features: names of the columns that are features.

    Raises:
      BridgeError: a column is growing.
    """
    found: dict[str, list[Any]] = {}
    for name in features:
        column = schema["columns"][name]
        if not {"wide", "deep"} & set(column["use"]) or column.get("image"):
            continue
        _refuse_growing(name, column)
        key = safe_name(name)
        ids = _categorical(key, column)
        if ids is not None:
            as_ids = num_ids(ids) > _MAX_INDICATOR_SIZE and not column.get("separator")
            found[name] = [ids if as_ids else Indicator(ids)]
        elif column.get("date"):
            keys = [safe_name(f"{name}_{part}") for part in column["date"]]
            found[name] = [Numeric(key, 1, "int64", None) for key in keys]
        elif not column.get("separator"):
            found[name] = [Numeric(key, 1, "int64" if column["type"] == "int" else "float32", None)]
            if column.get("missing_indicator"):
                found[name].append(Indicator(Identity(safe_name(f"{name}_missing"), 1, None)))
    return found


def _inputs_of_parts(
    name: str, column: _Json, statistics: _Json
) -> Iterator[tuple[Any, Optional[Numeric]]]:
    """Yields (ids or None, number or None): the inputs that the model parts read from a column."""
    if column.get("date"):
        for part in column["date"]:
            yield _date_part(safe_name(f"{name}_{part}"), part), None
    elif _categorical(name, column) is not None:
        yield _weighted(name, column), None
    elif not column.get("separator"):
        normalizer = _normalizer(name, column, statistics)
        number = Numeric(safe_name(name), 1, _DTYPES[column["type"]], normalizer)
        yield (_bucketized(name, column) if column["buckets"] else None), number
        if column.get("missing_indicator"):
            yield Identity(safe_name(f"{name}_missing"), 1, None), None


def default_of(name: str, schema: _Json, statistics: _Json) -> Any:
    """Returns the value that replaces a missing one in the model; None if there is none.

    Args:
      name: name of the column.
      schema: content of schema.json.
      statistics: content of statistics.json.
    """
    default = schema["columns"][name]["default"]
    return statistics["columns"][name]["mean"] if default == "mean" else default


def derived_of(name: str, schema: _Json, statistics: _Json) -> list[Derived]:
    """Returns the features that the model derives from the raw values of a column.

    Args:
      name: name of the column.
      schema: content of schema.json.
      statistics: content of statistics.json.

    Raises:
      BridgeError: the separator may overlap itself.
    """
    column = schema["columns"][name]
    ordered = "sequence" in column["use"]
    found: list[Derived] = []
    if column.get("separator"):
        found += _split_texts(name, schema)
    elif column.get("text"):
        text = column["text"]
        options = (text["ngrams"], text["lower"], text["max_words"])
        found.append(Words(safe_name(name), name, *options))
        if ordered:
            found.append(Words(safe_name(f"{name}_sequence"), name, *options))
    elif column.get("missing_indicator"):
        value = float(default_of(name, schema, statistics))
        found.append(Filled(safe_name(name), name, value))
        found.append(IsMissing(safe_name(f"{name}_missing"), name))
    elif safe_name(name) != name:
        found.append(Renamed(safe_name(name), name))
    for part in column.get("date") or ():
        found.append(DatePart(safe_name(f"{name}_{part}"), name, part))
    return found


def _split_texts(name: str, schema: _Json) -> Iterator[SplitText]:
    column = schema["columns"][name]
    dtype, separator = _DTYPES[column["type"]], column["separator"]
    if any(separator[size:] == separator[:-size] for size in range(1, len(separator))):
        # If "||" separates values, "|||" is ambiguous: the split depends on the text before it.
        raise BridgeError(
            f"schema.json: column {name}: separator {separator!r:.40} may overlap itself, and "
            "Keras has no operation that scans a text in order; write the data with another "
            "separator"
        )
    weighted = (
        (other, one["separator"])
        for other, one in schema["columns"].items()
        if one.get("weights") == name and one["use"]
    )
    yield SplitText(safe_name(name), name, separator, dtype, False, next(weighted, None))
    if "sequence" in column["use"]:
        yield SplitText(safe_name(f"{name}_sequence"), name, separator, dtype, True)


def _date_part(name: str, part: str) -> Any:
    if part == "year":
        return Bucketized(Numeric(name, 1, "int64", None), _YEARS)
    return Identity(name, _DATE_IDS[part], None)


def _weighted(name: str, column: _Json) -> Any:
    ids = _categorical(safe_name(name), column)
    return Weighted(ids, safe_name(column["weights"])) if column.get("weights") else ids


def _sequence(name: str, column: _Json, statistics: _Json) -> Any:
    key = safe_name(f"{name}_sequence")
    ids = _categorical(key, column)
    if ids is not None:
        return _dense(ids, column["embedding"])
    normalizer = _normalizer(name, column, statistics)
    return SequenceNumeric(key, 1, "float32", normalizer, 0.0)


def _categorical(name: str, column: _Json) -> Any:
    """Returns the categorical column, or None for a column of numbers."""
    dtype = _DTYPES[column["type"]]
    if column["vocabulary"] is not None:
        return Vocabulary(name, dtype, tuple(column["vocabulary"]), column["oov_buckets"], -1)
    if column["identities"]:
        return Identity(name, column["identities"], 0)
    return Hashed(name, dtype, column["hash_buckets"]) if column["hash_buckets"] else None


def _crossable(name: str, column: _Json) -> Any:
    # A cross reads a categorical column by its name and hashes the raw values.
    if _categorical(name, column) is not None:
        multivalent = bool(column.get("separator") or column.get("text"))
        return Raw(safe_name(name), _DTYPES[column["type"]], sparse=multivalent)
    return _bucketized(name, column)


def _bucketized(name: str, column: _Json) -> Bucketized:
    number = Numeric(safe_name(name), 1, _DTYPES[column["type"]], None)
    if not column.get("buckets"):
        raise BridgeError(
            f"schema.json: column {name!r:.40}: a cross needs its buckets; restore the file"
        )
    return Bucketized(number, tuple(column["buckets"]))


def _dense(ids: Any, dimension: Optional[int]) -> Any:
    if dimension is None and num_ids(ids) <= _MAX_INDICATOR_SIZE:
        return Indicator(ids)
    return _embedding(ids, dimension or _choose_dimension(num_ids(ids)))


def _choose_dimension(size: int) -> int:
    return max(2, round(6 * size**0.25))


def _embedding(ids: Any, dimension: int) -> Embedding:
    return Embedding(ids, dimension, "mean", None, f"{name_of(ids)}_embedding", False)


def _normalizer(name: str, column: _Json, statistics: _Json) -> Optional[Normalizer]:
    how = column["normalize"]
    if how == "none":
        return None
    x = 'ops.cast(x, "float32")'
    log = f"ops.multiply(ops.sign({x}), ops.log1p(ops.abs({x})))"
    if how == "log":
        return Normalizer(log, _signed_log)
    # Files of older versions of the trainer have no `log`.
    of_log = isinstance(how, dict) and how.get("log", False)
    if isinstance(how, dict):
        shift, scale = how["mean"], how["std"]
    else:
        measured = statistics["columns"][name]
        shift, scale = measured["mean"], measured["std"]
        if how == "minmax":
            shift, scale = measured["min"], measured["max"] - measured["min"]
    if not math.isfinite(shift):
        raise BridgeError(
            f"statistics.json: column {name}: the mean or minimum is {shift}; no data to normalize"
        )
    scale = scale if scale > 0 and math.isfinite(scale) else 1.0

    def normalize(x: Any) -> Any:
        from estimator_bridge import tf

        return ((_signed_log(x) if of_log else tf.cast(x, tf.float32)) - shift) / scale

    code = f"ops.divide(ops.subtract({log if of_log else x}, {shift!r}), {scale!r})"
    return Normalizer(code, normalize)


def _signed_log(x: Any) -> Any:
    from estimator_bridge import tf

    x = tf.cast(x, tf.float32)
    return tf.sign(x) * tf.math.log1p(tf.abs(x))
