"""Profiles the columns of data without a schema, in one pass and with bounded memory."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.console import Console, Progress
from trainer.data_validation.reading import (
    CsvStyle,
    list_json_names,
    name_csv,
    read_csv,
    read_untyped,
)
from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows
from trainer.inputs.streaming_statistics import (
    DistinctCount,
    RowSample,
    RunningMoments,
    ValueCounts,
)

# Text that means a missing value in any column.
NO_VALUE = ("", "?", "\\N", "#N/A", "N/A", "<NA>", "NULL", "null", "NaN", "nan")
# Text that means a missing value in a column of numbers. In a column of words it may be a value:
# NA is the code of Namibia.
NO_NUMBER = ("NA", "n/a", "None", "none", "-", ".")
# A float64 represents every whole number up to this one. Larger numbers count as identifiers.
LARGEST_QUANTITY = 2**53


class Table(NamedTuple):
    """Profiles of all columns of some files.

    Attributes:
        num_rows: number of rows.
        columns: name → profile, in file order.
        header: whether CSV files have a header line; None for other formats.
    """

    num_rows: int
    columns: dict[str, "Profile"]
    header: Optional[bool]


class Profile:
    """The profile of one column, which is updated batch by batch.

    Attributes:
        counts: value → number of rows; the values are text if the file has text.
        distinct: estimate of the number of different values.
        numbers: moments of the values that are numbers.
        is_int: whether all values are whole numbers.
        is_number: whether all values are numbers.
        is_text: whether the file has text in this column.
        stored: "int" or "float" in a file whose numbers are read only as what they are; else "".
        missing: number of rows without a value.
        no_value: text that means a missing value → number of rows.
        unsupported: type of the column if a schema cannot describe it, else None.
        list_values_profile: profile of the single values of a column of lists, else None.
        words: number of words in the values of all rows; distinguishes free text from names.
        declared: words that the schema declares missing in every column, text included.
    """

    def __init__(self) -> None:
        self.counts = ValueCounts()
        self.distinct = DistinctCount()
        self.numbers = RunningMoments()
        self.is_int = self.is_number = True
        self.is_text = False
        self.stored = ""
        self.missing = self.words = 0
        self.no_value: dict[str, int] = {}
        self.unsupported: Optional[str] = None
        self.list_values_profile: Optional[Profile] = None
        self.declared: frozenset[str] = frozenset()

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

    def note_stored(self, kind: pa.DataType) -> None:
        """Notes the type of a feature of tf.Example records, which no reader converts.

        Args:
            kind: of the column.
        """
        if pa.types.is_integer(kind):
            self.stored = "int"
        elif pa.types.is_floating(kind):
            self.stored, self.is_int = "float", False

    def list_values(self, most: int) -> list[tuple[Any, int]]:
        """Returns the most frequent values with their numbers of rows.

        The values are text if the file has text.

        Args:
            most: maximum number of values.
        """
        skip = {word.strip() for word in self._list_no_number()}
        return [
            (value, rows)
            for value, rows in self.counts.list_counts(most + len(skip))
            if value not in skip
        ][:most]

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
        if pa.types.is_floating(column.type):
            return self._add_numbers(column, pc.is_nan(column).fill_null(False))
        if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
            kind = pa.int64()
            return self._add_numbers(column.cast(kind), None)
        self.is_text = True
        text = column.cast(pa.string()).dictionary_encode()
        # Ignore blanks around numbers and missing values. In text, blanks are part of the value.
        words = pc.utf8_trim_whitespace(text.dictionary)
        numbers = self._parse(words, text)
        known = pc.invert(pc.is_in(words, pa.array(NO_VALUE)))
        if numbers is not None:
            text = pa.DictionaryArray.from_arrays(text.indices, words)
        kept = text.filter(known.take(text.indices).fill_null(False))
        self.missing += rows - column.null_count - len(kept)
        kept = kept.dictionary_decode().dictionary_encode()
        self.counts.add(kept)
        self.distinct.add(kept.dictionary, np.bincount(kept.indices.to_numpy()))
        if numbers is None:
            words_each = pc.add(pc.count_substring(kept.dictionary, " "), 1)
            # By row: a sum over the distinct values of each block would depend on the block's size.
            self.words += pc.sum(words_each.take(kept.indices)).as_py() or 0
            return np.full(rows, np.nan)
        numbers = np.append(numbers, np.nan)
        values: np.ndarray = numbers[text.indices.fill_null(len(numbers) - 1).to_numpy()]
        self.numbers.add(pa.array(values, from_pandas=True))
        return values

    def add_lists(self, column: pa.Array) -> None:
        """Adds the single values of a column of lists of texts or numbers; ignores other columns.

        Args:
            column: [rows].
        """
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            batch = pa.RecordBatch.from_arrays([column.flatten()], names=[""])
            if _unsupported(batch, "") is None:
                self.list_values_profile = self.list_values_profile or Profile()
                self.list_values_profile.add(batch.column(0))

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
        if not self.is_number:
            return None
        bare = pc.if_else(candidates, None, words)
        if self.is_int:
            try:
                whole = bare.cast(pa.int64())
                # "007" and "0x1F" are identifiers, although they parse.
                self.is_int = not pc.any(pc.match_substring_regex(bare, r"^[+-]?0[0-9xX]")).as_py()
                if not self.is_int:
                    self.is_number = False
                    return None
                return _to_floats(whole)
            except pa.ArrowInvalid:
                self.is_int = False
        try:
            values: np.ndarray = bare.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            self.is_number = False
            return None
        return np.where(np.isinf(values), np.nan, values)

    def _add_numbers(self, column: pa.Array, nans: Optional[pa.Array]) -> np.ndarray:
        if nans is not None:
            self.missing += pc.sum(nans).as_py() or 0
            column = pc.if_else(nans, None, column)
            column = column.cast(pa.float64())
            self.is_int = False
        present = column.drop_null()
        self.counts.add(present)
        self.distinct.add(present)
        self.numbers.add(present)
        return _to_floats(column)


def _to_floats(column: pa.Array) -> np.ndarray:
    numbers: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def profile_files(
    files: Sequence[DataFile], style: CsvStyle, console: Console
) -> tuple[Table, RowSample]:
    """Profiles every row of some files without a schema.

    Args:
        files: the files of one data set.
        style: of CSV files.
        console: shows progress.

    Returns:
        The profiles, and a sample of the numbers.

    Raises:
        UserError: the files cannot be read, or differ in their columns.
    """
    profiles: dict[str, Profile] = {}
    sample: Optional[RowSample] = None
    rows, with_header = 0, None
    json_names = list_json_names(files, style.limits)
    total = functools.partial(estimate_rows, files)
    progress = Progress(console, "reading the data", "rows", total, is_estimate=True)
    for file in files:
        if file.format == "csv":
            layout = name_csv(file, style)
            with_header = layout.skip_lines > 0
            batches = read_csv(file, layout)
        else:
            batches = read_untyped(file, json_names, style.limits)
        for batch in batches:
            if sample is None:
                profiles = {name: Profile() for name in batch.schema.names}
                sample = RowSample(list(profiles))
            if set(batch.schema.names) != set(profiles):
                differ = sorted(set(batch.schema.names) ^ set(profiles))
                raise UserError(
                    f"{file.path}: has other columns than {files[0].path} "
                    f"({', '.join(differ[:5])}); give files of one kind"
                )
            numbers = {}
            for name, profile in profiles.items():
                # A feature may have one value in the first records and several in later ones.
                profile.unsupported = profile.unsupported or _unsupported(batch, name)
                if profile.unsupported:
                    profile.add_lists(batch.column(name))
                    numbers[name] = np.full(batch.num_rows, np.nan)
                    continue
                _require_float32(file, name, batch.column(name))
                numbers[name] = profile.add(batch.column(name))
                if file.format == "tfrecord":
                    profile.note_stored(batch.column(name).type)
            sample.add(pa.RecordBatch.from_pydict(numbers))
            rows += batch.num_rows
            progress.add(batch.num_rows)
    progress.end()
    if sample is None:
        raise UserError(f"{files[0].path}: has no rows; give files with data")
    return Table(rows, profiles, with_header), sample


def _require_float32(file: DataFile, name: str, column: pa.Array) -> None:
    """Raises if a number is infinite, or too large for the type in which models compute."""
    if not pa.types.is_floating(column.type):
        return
    largest = float(np.nanmax(np.abs(_to_floats(column)), initial=0.0))
    if largest > float(np.finfo(np.float32).max):
        raise UserError(
            f"{file.path}: column {name}: {largest:.6g} is no finite 32-bit number; correct it, or "
            "leave the column out of the file"
        )


def _unsupported(batch: pa.RecordBatch, name: str) -> Optional[str]:
    kind = batch.schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    plain = (
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_null(kind)
    )
    return None if plain else str(kind)
