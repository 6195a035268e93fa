"""Replaces the values that mean a missing one by null, in every file format."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.schema import Schema


def mark_missing(columns: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Returns the rows with null for NaN and for the schema's missing_values.

    The reader of CSV files has replaced the text of missing values already: a word such as ? is no
    number. The key stays as it is.

    Args:
        columns: rows in the Arrow types of the schema.
        schema: missing_values and key.
    """
    arrays = []
    for name, array in zip(columns.schema.names, columns.columns):
        if name != schema.key:
            known = pa.array(schema.list_missing(schema.columns[name].raw_type), _value_type(array))
            array = _mark_words(array, known) if _is_text(array) else _mark_numbers(array, known)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=columns.schema)


def mark_texts(array: pa.Array, words: Sequence[str]) -> pa.Array:
    """Returns a column of numbers that a file stores as text, with null for missing values.

    Args:
        array: column [rows]; one that is not text is returned as it is.
        words: the missing values.
    """
    kind = array.type.value_type if _is_text(array) else array.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return array
    plain = array.dictionary_decode() if _is_text(array) else array
    mask = pc.is_in(plain, pa.array(words, kind))
    return pc.if_else(mask, None, plain) if pc.any(mask).as_py() else array


def _is_text(array: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(array.type))


def _value_type(array: pa.Array) -> pa.DataType:
    return array.type.value_type if _is_text(array) else array.type


def _mark_words(array: pa.DictionaryArray, known: pa.Array) -> pa.Array:
    """Returns a column without missing words, which the dictionary does not contain either."""
    words = array.dictionary
    is_missing = np.asarray(pc.is_in(words, known))
    if not is_missing.any():
        return array
    kept = np.cumsum(~is_missing, dtype=np.int32) - 1
    indices = array.indices.fill_null(0).to_numpy()
    nulls = np.asarray(array.indices.is_null()) | is_missing[indices]
    return pa.DictionaryArray.from_arrays(
        pa.array(kept[indices], mask=nulls), words.filter(pa.array(~is_missing))
    )


def _mark_numbers(array: pa.Array, known: pa.Array) -> pa.Array:
    mask = pc.is_in(array, known)
    if pa.types.is_floating(array.type):
        mask = pc.or_(mask, pc.is_nan(array))
    if not pc.any(mask).as_py():
        return array
    return pc.if_else(mask, None, array)
