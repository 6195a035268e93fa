"""Columns of text as numbers of their words, so that a word is handed on once, not once a row."""

from typing import Optional

import numpy as np
import pyarrow as pa

# A column with more words than this is handed on as text: numbers would save nothing.
MAX_WORDS = 4096


class WordIndex:
    """The words of a column, numbered as they come by.

    Attributes:
        is_full: whether there were too many; the column is then no longer numbered.
    """

    def __init__(self, limit: int = MAX_WORDS):
        self._limit = limit
        self._numbers: dict[bytes, int] = {}
        self._array = np.empty(0, object)
        self.is_full = False

    def number(self, words: np.ndarray) -> Optional[np.ndarray]:
        """Numbers of some words, int32; None once there are too many words."""
        if self.is_full or len(words) > self._limit:
            self.is_full = True
            return None
        numbers = self._numbers
        found = [numbers.setdefault(word, len(numbers)) for word in words.tolist()]
        self.is_full = len(numbers) > self._limit
        return np.array(found, np.int32)

    def list(self) -> np.ndarray:
        """The words so far in the order of their numbers, bytes as objects."""
        if len(self._array) < len(self._numbers):
            array = np.empty(len(self._numbers), object)
            array[:] = list(self._numbers)
            self._array = array
        return self._array


def split_words(column: pa.DictionaryArray, default: bytes) -> tuple[np.ndarray, np.ndarray]:
    """A column of text, null for a missing value, as words and their places.

    Returns:
        the words, bytes as objects, `default` the last of them; and the place in these of each
        row's word, int32 [rows].
    """
    found = column.dictionary.cast(pa.binary()).to_numpy(zero_copy_only=False)
    words = np.empty(len(found) + 1, object)
    words[:-1] = found
    words[-1] = default
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(found))
    return words, indices.to_numpy()
