"""Splits multivalent columns into single values, and checks such columns against each other.

The columns are Arrow arrays. Each row of a multivalent column is one text, in which the column's
separator joins the values.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.schema import Column

# Arrow type of a column's single values.
VALUE_TYPES = {"float": pa.float32(), "int": pa.int64(), "string": pa.string()}


def split_column(texts: pa.Array, separator: str) -> pa.Array:
    """Returns the nonempty single values of multivalent texts, strings [values].

    Args:
        texts: strings or a dictionary of strings [rows]; may have nulls.
        separator: text between the values of a row.
    """
    texts = texts.cast(pa.string()).drop_null()
    values = pc.utf8_trim_whitespace(pc.split_pattern(texts, separator).flatten())
    return values.filter(pc.not_equal(values, ""))


def split_numbers(texts: pa.Array, separator: str) -> pa.Array:
    """Returns the single numbers of multivalent texts, float64 [values].

    Args:
        texts: strings or a dictionary of strings [rows]; may have nulls.
        separator: text between the values of a row.
    """
    return split_column(texts, separator).cast(pa.float64())


def count_values(array: pa.Array, column: Column) -> np.ndarray:
    """Returns the number of values in each row, empty ones included, int64 [rows].

    Args:
        array: dictionary of strings [rows].
        column: contains the separator.
    """
    words = pc.utf8_trim_whitespace(array.dictionary)
    counts = pc.add(pc.count_substring(words, column.separator), 1).to_numpy()
    return _by_row(np.where(pc.equal(words, "").to_numpy(False), 0, counts), array, 0)


def find_unparsable(array: pa.Array, column: Column, is_weight: bool) -> np.ndarray:
    """Returns a mask of the rows with a value that is not a number, bool [rows].

    Args:
        array: dictionary of strings [rows].
        column: contains the separator and the type, int or float.
        is_weight: whether the column contains the weights of another column.
    """
    words = array.dictionary
    # A category may be empty. The weight of an empty category may be empty too.
    may_be_empty = is_weight or column.is_categorical
    if _are_numbers(words, column, may_be_empty):
        return np.zeros(len(array), bool)
    wrong = [
        not _are_numbers(words.slice(index, 1), column, may_be_empty) for index in range(len(words))
    ]
    return _by_row(np.array(wrong), array, False)


def find_unpaired(
    weights: pa.Array, weights_column: Column, values: pa.Array, values_column: Column
) -> np.ndarray:
    """Returns a mask of the rows that do not have one weight for each value, bool [rows].

    Args:
        weights: dictionary of strings [rows], the weights.
        weights_column: contains the separator of the weights.
        values: dictionary of strings [rows], the values that are weighted.
        values_column: contains the separator of the values.
    """
    wrong: np.ndarray = count_values(weights, weights_column) != count_values(values, values_column)
    has_gaps = _by_row(_have_gaps(weights, weights_column), weights, False)
    for row in np.flatnonzero(has_gaps & ~wrong):
        split = [
            [text.strip() for text in array[int(row)].as_py().split(column.separator)]
            for array, column in ((weights, weights_column), (values, values_column))
        ]
        wrong[row] = any(value and not weight for weight, value in zip(*split))
    return wrong


def _by_row(by_word: np.ndarray, column: pa.Array, missing: Any) -> np.ndarray:
    """Maps an array with one element per dictionary entry of a column to one element per row."""
    indices = column.indices.fill_null(len(by_word)).to_numpy()
    result: np.ndarray = np.append(by_word, missing)[indices]
    return result


def _are_numbers(words: pa.Array, column: Column, may_be_empty: bool) -> bool:
    words = words.filter(pc.not_equal(pc.utf8_trim_whitespace(words), ""))
    texts = pc.utf8_trim_whitespace(pc.split_pattern(words, column.separator).flatten())
    if may_be_empty:
        texts = texts.filter(pc.not_equal(texts, ""))
    try:
        numbers = texts.cast(VALUE_TYPES[column.type])
    except pa.ArrowInvalid:
        return False
    return column.type == "int" or bool(pc.all(pc.is_finite(numbers), min_count=0).as_py())


def _have_gaps(array: pa.Array, column: Column) -> np.ndarray:
    """Returns which dictionary entries contain an empty value, bool [words]."""
    return np.array(
        [
            not all(text.strip() for text in word.split(column.separator))
            for word in array.dictionary.to_pylist()
        ],
        bool,
    )
