"""Columns of several values a row: taken apart, and held against each other."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.inputs.faults import Fault
from trainer.schema import Column, Schema

# Arrow type of a column's single values.
KINDS = {"float": pa.float32(), "int": pa.int64(), "string": pa.string()}
WORDS = {"float": "numbers", "int": "whole numbers"}


def split_column(texts: pa.Array, separator: str) -> pa.Array:
    """The single values of texts that hold several, empty ones left out; strings."""
    texts = texts.cast(pa.string()).drop_null()
    values = pc.utf8_trim_whitespace(pc.split_pattern(texts, separator).flatten())
    return values.filter(pc.not_equal(values, ""))


def split_numbers(texts: pa.Array, separator: str) -> pa.Array:
    """The single numbers of texts that hold several, float64."""
    return split_column(texts, separator).cast(pa.float64())


def find_faults_of_several(
    batch: pa.RecordBatch, schema: Schema, names: Sequence[str]
) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds values that are no numbers, and columns that do not go together.

    Args, Yields: as of bad_rows.find_faults.
    """
    for name in names:
        column = schema.columns[name]
        if column.separator is not None and column.type != "string":
            wrong = _find_no_numbers(batch.column(name), column, name in schema.weights_of)
            if wrong.any():
                text = f"{{value}} is not {WORDS[column.type]} with {column.separator!r} between"
                yield Fault(name, "unparsable", text, "mend the value"), pa.array(wrong)
    for weights, name in schema.weights_of.items():
        if weights in names and name in names:
            yield from _find_unpaired(batch, schema, weights, name)
    sequences = [
        name for name in schema.sequences if name in names and schema.columns[name].text is None
    ]
    lengths = [_count(batch.column(name), schema.columns[name]) for name in sequences]
    for name, length in zip(sequences[1:], lengths[1:]):
        wrong = length != lengths[0]
        if wrong.any():
            text = f"{{value}} is not as long a sequence as that of column {sequences[0]}"
            yield Fault(name, "other length", text, "mend the row"), pa.array(wrong)


def _take(of_words: np.ndarray, column: pa.Array, missing) -> np.ndarray:
    """What is known of the words of a column, by row."""
    return np.append(of_words, missing)[column.indices.fill_null(len(of_words)).to_numpy()]


def _count(array: pa.Array, column: Column) -> np.ndarray:
    """Values in each row, empty ones included; int64 [rows]."""
    words = pc.utf8_trim_whitespace(array.dictionary)
    counts = pc.add(pc.count_substring(words, column.separator), 1).to_numpy()
    return _take(np.where(pc.equal(words, "").to_numpy(False), 0, counts), array, 0)


def _find_no_numbers(array: pa.Array, column: Column, are_weights: bool) -> np.ndarray:
    words = array.dictionary
    # An int may be left out, as any category may; a weight where its value is.
    may_be_empty = are_weights or column.is_categorical
    if _are_numbers(words, column, may_be_empty):
        return np.zeros(len(array), bool)
    wrong = [
        not _are_numbers(words.slice(index, 1), column, may_be_empty) for index in range(len(words))
    ]
    return _take(np.array(wrong), array, False)


def _are_numbers(words: pa.Array, column: Column, may_be_empty: bool) -> bool:
    words = words.filter(pc.not_equal(pc.utf8_trim_whitespace(words), ""))
    pieces = pc.utf8_trim_whitespace(pc.split_pattern(words, column.separator).flatten())
    if may_be_empty:
        pieces = pieces.filter(pc.not_equal(pieces, ""))
    try:
        numbers = pieces.cast(KINDS[column.type])
    except pa.ArrowInvalid:
        return False
    return column.type == "int" or bool(pc.all(pc.is_finite(numbers), min_count=0).as_py())


def _find_unpaired(
    batch: pa.RecordBatch, schema: Schema, weights: str, name: str
) -> Iterator[tuple[Fault, pa.Array]]:
    arrays = [batch.column(weights), batch.column(name)]
    columns = [schema.columns[weights], schema.columns[name]]
    counts = [_count(array, column) for array, column in zip(arrays, columns)]
    wrong = counts[0] != counts[1]
    for row in np.flatnonzero(_take(_have_gaps(arrays[0], columns[0]), arrays[0], False) & ~wrong):
        pieces = [
            [piece.strip() for piece in array[int(row)].as_py().split(column.separator)]
            for array, column in zip(arrays, columns)
        ]
        wrong[row] = any(value and not weight for weight, value in zip(*pieces))
    if wrong.any():
        text = f"{{value}} is not one weight for each value of column {name}"
        yield Fault(weights, "unpaired", text, "mend the row"), pa.array(wrong)


def _have_gaps(array: pa.Array, column: Column) -> np.ndarray:
    """Which words have an empty value between others."""
    return np.array(
        [
            not all(piece.strip() for piece in word.split(column.separator))
            for word in array.dictionary.to_pylist()
        ],
        bool,
    )
