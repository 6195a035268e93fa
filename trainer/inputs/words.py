"""Represents text columns as indices into their distinct values.

So each distinct value is passed on only once.
"""

from typing import Optional

import numpy as np
import pyarrow as pa

# A column with more distinct values is passed on as text: indices would save nothing.
MAX_WORDS = 4096


class WordIndex:
    """The distinct values of a text column, numbered in the order in which they appear.

    Args:
        limit: maximum number of distinct values; a column with more is not indexed.

    Attributes:
        is_full: whether there are more distinct values than `limit`.
    """

    def __init__(self, limit: int = MAX_WORDS):
        self._limit = limit
        self._indices: dict[bytes, int] = {}
        self._array = np.empty(0, object)
        self.is_full = False

    def index(self, words: np.ndarray) -> Optional[np.ndarray]:
        """Returns the indices of values, int32 [words]; None if there are too many values.

        Args:
            words: bytes as objects [words].
        """
        if self.is_full or len(words) > self._limit:
            self.is_full = True
            return None
        indices = self._indices
        found = [indices.setdefault(word, len(indices)) for word in words.tolist()]
        self.is_full = len(indices) > self._limit
        return np.array(found, np.int32)

    def to_array(self) -> np.ndarray:
        """Returns the values so far in the order of their indices, bytes as objects [values].

        Another thread may be adding values.
        """
        if len(self._array) < len(self._indices):
            words = list(self._indices)
            array = np.empty(len(words), object)
            array[:] = words
            self._array = array
        return self._array


def split_words(column: pa.DictionaryArray, default: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Splits a text column into its distinct values and the index of each row's value.

    Args:
        column: dictionary of strings [rows]; null for a missing value.
        default: value for the missing ones.

    Returns:
        the values, bytes as objects [words], with `default` as the last value; and the index of
        each row's value, int32 [rows].
    """
    found = column.dictionary.cast(pa.binary()).to_numpy(zero_copy_only=False)
    words = np.empty(len(found) + 1, object)
    words[:-1] = found
    words[-1] = default
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(found))
    return words, indices.to_numpy()
