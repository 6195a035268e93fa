"""Replaces the values that mean a missing one by null, in every file format."""

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
            array = _mark_words(array, schema) if _is_text(array) else _mark_numbers(array, schema)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=columns.schema)


def _is_text(array: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(array.type))


def _mark_words(array: pa.DictionaryArray, schema: Schema) -> pa.Array:
    """Returns a column without missing words, which the dictionary does not contain either."""
    words = array.dictionary
    is_missing = np.asarray(pc.is_in(words, pa.array(schema.missing_values, words.type)))
    if not is_missing.any():
        return array
    kept = np.cumsum(~is_missing, dtype=np.int32) - 1
    indices = array.indices.fill_null(0).to_numpy()
    nulls = np.asarray(array.indices.is_null()) | is_missing[indices]
    return pa.DictionaryArray.from_arrays(
        pa.array(kept[indices], mask=nulls), words.filter(pa.array(~is_missing))
    )


def _mark_numbers(array: pa.Array, schema: Schema) -> pa.Array:
    is_float = pa.types.is_floating(array.type)
    numbers = [
        number
        for number in schema.missing_numbers
        if is_float or (number.is_integer() and abs(number) < 2**63)
    ]
    mask = pc.is_nan(array) if is_float else None
    if numbers:
        known = pa.array([number if is_float else int(number) for number in numbers], array.type)
        named = pc.is_in(array, known)
        mask = named if mask is None else pc.or_(mask, named)
    if mask is None or not pc.any(mask).as_py():
        return array
    return pc.if_else(mask, None, array)
