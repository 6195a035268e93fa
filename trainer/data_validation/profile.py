"""The profile of a column without a schema, in bounded memory."""

from collections import Counter
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.inputs.floats import to_floats
from trainer.inputs.hashing import hash_strings
from trainer.inputs.raw_batches import is_list
from trainer.inputs.streaming_statistics import DistinctCount, RunningMoments, ValueCounts

# Text that means a missing value in any column.
NO_VALUE = ("", "?", "\\N", "#N/A", "N/A", "<NA>", "NULL", "null", "NaN", "nan")
# Text that means a missing value in a column of numbers. In a column of words it may be a value:
# NA is the code of Namibia. Training takes no infinite number.
NO_NUMBER = (
    *("NA", "n/a", "None", "none", "-", "."),
    *(
        sign + word
        for sign in ("", "-", "+")
        for word in ("inf", "Inf", "INF", "infinity", "Infinity", "INFINITY")
    ),
)
# A float64 represents every whole number up to this one. Larger numbers count as identifiers.
LARGEST_QUANTITY = 2**53
# A column is of numbers, with words by mistake, if at most this share of the rows and this many
# different values are words.
ODD_SHARE = 0.1
MAX_ODD_WORDS = 20
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|0[xX][0-9a-fA-F]+)$"
FLOAT32_MAX = float(np.finfo(np.float32).max)


class Table(NamedTuple):
    """Profiles of all columns of some files.

    Attributes:
        num_rows: number of rows.
        columns: name → profile, in file order.
        header: whether CSV files have a header line; None for other formats.
        unnamed: number of columns without a name in the header line, which are left out.
    """

    num_rows: int
    columns: dict[str, "Profile"]
    header: Optional[bool]
    unnamed: int = 0


class Profile:
    """The profile of one column, which is updated batch by batch.

    Attributes:
        counts: value → number of rows; the values are text if the file has text.
        numbers: moments of the values, if all are numbers.
        is_text: whether the file has text in this column.
        stored: "int" or "float" in a file whose numbers are read only as what they are; else "".
        missing: number of rows without a value.
        no_value: text that means a missing value → number of rows.
        is_too_large: whether a number is beyond float32, the numbers of a model.
        list_values_profile: profile of the single values of a column of lists, else None.
        words: number of words in the values of all rows; distinguishes free text from names.
        declared: words that the schema declares missing in every column, text included.
    """

    def __init__(self) -> None:
        self.counts = ValueCounts()
        # Of the values as they are, and without blanks around them.
        self._distinct, self._distinct_bare = DistinctCount(), DistinctCount()
        self.numbers = RunningMoments()
        # Whether all values can be read as int64 and as float64, and whether one begins with 0 as
        # identifiers do: "007" and "0x1F".
        self._are_ints = self._are_floats = True
        self._begins_with_zero = False
        # Words that are neither numbers nor missing values → number of rows; None: many.
        self._odd: Optional[dict[str, int]] = {}
        self.is_text = False
        self.stored = ""
        self.missing = self.words = 0
        self.no_value: dict[str, int] = {}
        self.is_too_large = False
        self._unsupported: Optional[tuple[int, str]] = None
        self.list_values_profile: Optional[Profile] = None
        self.declared: frozenset[str] = frozenset()

    @property
    def is_int(self) -> bool:
        """Whether all values are whole numbers."""
        return self._are_ints and not self._begins_with_zero

    @property
    def is_number(self) -> bool:
        """Whether all values are numbers."""
        return self.is_int if self._are_ints else self._are_floats

    @property
    def distinct(self) -> DistinctCount:
        """Estimate of the number of different values, words that mean a missing value included."""
        return self._distinct_bare if self.is_number else self._distinct

    @property
    def num_distinct(self) -> int:
        """Estimate of the number of different values; missing values do not count."""
        return self.distinct.value - len({word.strip() for word in self._list_no_number()})

    @property
    def num_missing(self) -> int:
        """Number of rows without a value; among numbers, text such as NA is a missing value."""
        return self.missing + self._count_no_number()

    @property
    def count(self) -> int:
        """Number of rows with a value."""
        return self.counts.count - self._count_no_number()

    def _count_no_number(self) -> int:
        return sum(self.no_value[word] for word in self._list_no_number())

    def _list_no_number(self) -> list[str]:
        """Returns the words, such as NA, that count as values but mean a missing value."""
        if self.is_text and self.is_number:
            return [word for word in self.no_value if word.strip() in NO_NUMBER]
        return [word for word in self.no_value if word in self.declared and word in NO_NUMBER]

    @property
    def odd_words(self) -> dict[str, int]:
        """Words, with their rows, for which a column of numbers is one of text; else empty.

        The most frequent ones come first. Words that mean no number follow.
        """
        odd = self._odd or {}
        if self.is_number or not odd or sum(odd.values()) > ODD_SHARE * self.count:
            return {}
        odd = dict(sorted(odd.items(), key=lambda one: (-one[1], one[0])))
        return {**odd, **{word: n for word, n in self.no_value.items() if word in NO_NUMBER}}

    @property
    def unsupported(self) -> Optional[str]:
        """Type of the column if a schema cannot describe it, else None."""
        return None if self._unsupported is None else self._unsupported[1]

    def add_missing(self, rows: int) -> None:
        """Adds rows of a file that lacks the column.

        Args:
            rows: number of rows.
        """
        self.missing += rows

    def note_unsupported(self, file: int, kind: str) -> None:
        """Notes a type that a schema cannot describe; that of the first file counts.

        Args:
            file: index of the file.
            kind: the type.
        """
        mine = self._unsupported
        if mine is None or file < mine[0]:
            self._unsupported = (file, kind)

    def note_stored(self, kind: pa.DataType) -> None:
        """Notes the type of a feature of tf.Example records, which no reader converts.

        Args:
            kind: of the column.
        """
        if pa.types.is_integer(kind):
            self.stored = self.stored or "int"
        elif pa.types.is_floating(kind):
            self.stored, self._are_ints = "float", False

    def list_values(self, most: int) -> list[tuple[Any, int]]:
        """Returns the most frequent values with their numbers of rows.

        The values are text if the file has text.

        Args:
            most: maximum number of values.
        """
        skip = {word.strip() for word in self._list_no_number()}
        if self.is_text and self.is_number:
            # Blanks around a number are no part of it.
            bare: Counter[str] = Counter()
            for value, rows in self.counts.list_counts():
                bare[value.strip()] += rows
            counts = sorted(bare.items(), key=lambda one: (-one[1], one[0]))
        else:
            counts = self.counts.list_counts(most + len(skip))
        return [(value, rows) for value, rows in counts if value not in skip][:most]

    def add(self, column: pa.Array) -> np.ndarray:
        """Adds a batch of a column of text or numbers.

        Args:
            column: [rows].

        Returns:
            The numbers, float64 [rows]; NaN for missing values and text.
        """
        rows = len(column)
        self.missing += column.null_count
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_decimal(column.type) and column.type.scale > 0:
            column = column.cast(pa.float64())
        if pa.types.is_floating(column.type):
            return self._add_numbers(column, pc.is_nan(column).fill_null(False))
        if not _is_text(column.type):
            whole = _try_cast(column, pa.int64())
            if whole is not None:
                return self._add_numbers(whole, None)
            # Keys or hashes beyond int64, which only text can hold: of uint64 or a decimal.
            self._are_ints = self._are_floats = False
        self.is_text = True
        text = column.cast(pa.string()).dictionary_encode()
        # Ignore blanks around numbers and missing values. In text, blanks are part of the value.
        words = pc.utf8_trim_whitespace(text.dictionary)
        numbers = self._parse(words, text)
        known = pc.invert(pc.is_in(words, pa.array(NO_VALUE)))
        kept = text.filter(known.take(text.indices).fill_null(False))
        self.missing += rows - column.null_count - len(kept)
        self._add_texts(kept.dictionary_decode().dictionary_encode())
        if numbers is None:
            return np.full(rows, np.nan)
        numbers = np.append(numbers, np.nan)
        values: np.ndarray = numbers[text.indices.fill_null(len(numbers) - 1).to_numpy()]
        self.numbers.add(pa.array(values, from_pandas=True))
        return values

    def _add_texts(self, texts: pa.Array) -> None:
        self.counts.add(texts)
        words_each = pc.add(pc.count_substring(texts.dictionary, " "), 1)
        # By row: a sum over the distinct values of each block would depend on the block's size.
        self.words += pc.sum(words_each.take(texts.indices)).as_py() or 0
        hashes, rows = hash_strings(texts.dictionary.cast(pa.binary())), _count_rows(texts)
        self._distinct.add_hashes(hashes, rows)
        bare = pc.utf8_trim_whitespace(texts.dictionary)
        if not bare.equals(texts.dictionary):
            hashes = hash_strings(bare.cast(pa.binary()))
        self._distinct_bare.add_hashes(hashes, rows)

    def merge(self, other: "Profile") -> None:
        """Adds the values of another profile of the column.

        Args:
            other: of other rows.
        """
        self.counts.merge(other.counts)
        self._distinct.merge(other._distinct)
        self._distinct_bare.merge(other._distinct_bare)
        self.numbers.merge(other.numbers)
        self._are_ints = self._are_ints and other._are_ints
        self._are_floats = self._are_floats and other._are_floats
        self._begins_with_zero = self._begins_with_zero or other._begins_with_zero
        self._odd = _add_odd(self._odd, other._odd)
        self.is_text = self.is_text or other.is_text
        stored = {self.stored, other.stored}
        self.stored = "float" if "float" in stored else max(stored)
        self.missing += other.missing
        self.words += other.words
        for word, rows in other.no_value.items():
            self.no_value[word] = self.no_value.get(word, 0) + rows
        self.is_too_large = self.is_too_large or other.is_too_large
        if other._unsupported is not None:
            self.note_unsupported(*other._unsupported)
        if other.list_values_profile is not None:
            self.list_values_profile = self.list_values_profile or Profile()
            self.list_values_profile.merge(other.list_values_profile)

    def add_lists(self, column: pa.Array) -> None:
        """Adds the single values of a column of lists of texts or numbers; ignores other columns.

        Args:
            column: [rows].
        """
        if is_list(column.type):
            values = column.flatten()
            if is_supported(values.type):
                self.list_values_profile = self.list_values_profile or Profile()
                self.list_values_profile.add(values)

    def _parse(self, words: pa.Array, text: pa.Array) -> Optional[np.ndarray]:
        """Returns the trimmed words of a text column as numbers, NaN for missing values.

        None if a word of this or an earlier batch is not a number.
        """
        candidates = pc.is_in(words, pa.array(NO_VALUE + NO_NUMBER))
        if pc.any(candidates).as_py():
            seen = np.bincount(text.indices.drop_null().to_numpy(), minlength=len(words))
            for index in np.flatnonzero(np.asarray(candidates)):
                word = text.dictionary[int(index)].as_py()
                self.no_value[word] = self.no_value.get(word, 0) + int(seen[index])
        if not (self._are_ints or self._are_floats):
            self._count_odd(words, text, candidates)
            return None
        bare = pc.if_else(candidates, None, words)
        whole = _try_cast(bare, pa.int64())
        if whole is None:
            self._are_ints = False
        elif pc.any(pc.match_substring_regex(bare, r"^[+-]?0[0-9xX]")).as_py():
            self._begins_with_zero = True
        values = whole
        if whole is None or self._begins_with_zero:
            # "0x1F" is an int64, but no float64.
            values = _try_cast(bare, pa.float64())
            self._are_floats = self._are_floats and values is not None
        if values is None:
            self._count_odd(words, text, candidates)
            return None
        numbers = to_floats(values)
        too_large = np.abs(numbers) > FLOAT32_MAX
        self.is_too_large = self.is_too_large or bool(too_large.any())
        return np.where(np.isinf(numbers), np.nan, numbers)

    def _count_odd(self, words: pa.Array, text: pa.Array, candidates: pa.Array) -> None:
        """Counts the trimmed words of a text column that are neither numbers nor candidates."""
        if self._odd is None:
            return
        is_known = pc.or_(candidates, pc.match_substring_regex(words, _NUMBER))
        odd = np.flatnonzero(~np.asarray(is_known)).tolist()
        if len(odd) > MAX_ODD_WORDS:
            self._odd = None
        elif odd:
            seen = np.bincount(text.indices.drop_null().to_numpy(), minlength=len(words))
            found = {text.dictionary[index].as_py(): int(seen[index]) for index in odd}
            self._odd = _add_odd(self._odd, found)

    def _add_numbers(self, column: pa.Array, nans: Optional[pa.Array]) -> np.ndarray:
        if nans is not None:
            self.missing += pc.sum(nans).as_py() or 0
            column = pc.if_else(nans, None, column)
            column = column.cast(pa.float64())
            self._are_ints = False
        present = column.drop_null()
        self.counts.add(present)
        hashes, rows = hash_strings(present), np.ones(len(present), np.int64)
        self._distinct.add_hashes(hashes, rows)
        self._distinct_bare.add_hashes(hashes, rows)
        self.numbers.add(present)
        return to_floats(column)


def _add_odd(
    mine: Optional[dict[str, int]], theirs: Optional[dict[str, int]]
) -> Optional[dict[str, int]]:
    """Returns the rows of the words of both; None if they are many."""
    if mine is None or theirs is None or len({*mine, *theirs}) > MAX_ODD_WORDS:
        return None
    return {word: mine.get(word, 0) + theirs.get(word, 0) for word in {**mine, **theirs}}


def _count_rows(texts: pa.Array) -> np.ndarray:
    """Returns the number of rows of each word of a dictionary column, int64 [words]."""
    return np.bincount(texts.indices.to_numpy(), minlength=len(texts.dictionary))


def _try_cast(texts: pa.Array, kind: pa.DataType) -> Optional[pa.Array]:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def is_supported(kind: pa.DataType) -> bool:
    """Returns whether a schema can describe a column of a type.

    Args:
        kind: the type.
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or _is_text(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    """Returns whether the values of a type are text, or always missing."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_null(kind)
    )
