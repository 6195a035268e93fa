"""Finds the rows that do not fit the schema, and counts those that are dropped."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.errors import UserError
from trainer.inputs.cell_text import quote_cell
from trainer.inputs.multivalent import count_values, find_unpaired, find_unparsable
from trainer.schema import Label, Schema
from trainer.schema.columns import DATE_PATTERN

# First bytes of PNG, JPEG, GIF and BMP files.
IMAGE_HEADS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")
# Number of examples to keep per column and kind of fault, and to list if there are too many bad
# rows.
MAX_EXAMPLES = 5
_SKIP = "skip up to N such rows with --data.max_bad_rows=N"
NUMBER_NAMES = {"float": "numbers", "int": "whole numbers"}


class Fault(NamedTuple):
    """What is wrong in one column of some rows.

    Attributes:
        column: name of the column; "" if the whole row is wrong.
        kind: fields, not JSON, unparsable, not finite, missing, label missing, unknown class,
            negative, not a date, not an image, unpaired or other length.
        text: what is wrong; "{value}" is replaced by the value.
        remedy: what the user can do.
    """

    column: str
    kind: str
    text: str
    remedy: str


class Examples:
    """Descriptions of the first rows, in the order of the files."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def add(self, file: int, text: str) -> None:
        """Adds the description of a row unless there are MAX_EXAMPLES.

        Args:
            file: index of the file.
            text: where the fault is, and what is wrong.
        """
        if len(self._found) < MAX_EXAMPLES:
            self._found.append((file, text))

    def merge(self, other: "Examples") -> None:
        """Adds the examples from other files.

        Args:
            other: of other files.
        """
        found = sorted(self._found + other._found, key=lambda one: one[0])
        self._found = found[:MAX_EXAMPLES]

    def get(self) -> list[str]:
        """Returns the descriptions."""
        return [text for _, text in self._found]


@dataclass
class FaultCount:
    """The number of rows with one kind of fault in one column.

    Attributes:
        rows: number of rows.
        found: descriptions of the first rows.
        first: index of the file that was the first to have the fault, and how many kinds of faults
            it had before.
    """

    rows: int
    found: Examples
    first: tuple[int, int]

    @property
    def examples(self) -> list[str]:
        """Descriptions of the first MAX_EXAMPLES rows."""
        return self.found.get()


class BadRows:
    """Counts dropped rows, and raises when there are too many.

    Args:
        limit: number of bad rows to tolerate; None for any number.

    Attributes:
        max_examples: number of rows of one batch with the same fault that `add` gets one by one;
            None: all.
        count: rows dropped so far.
        by_column: (column, kind) → count and examples.
        file: index of the file that is read, among those that are merged.
    """

    max_examples: Optional[int] = MAX_EXAMPLES

    def __init__(self, limit: Optional[int]):
        self.limit = limit
        self.count = 0
        self.file = 0
        self._found = Examples()
        self.by_column: dict[tuple[str, str], FaultCount] = {}

    def add(self, path: str, row: int, fault: Fault, value: str = "", rows: int = 1) -> None:
        """Records a fault without counting its rows as dropped.

        Args:
            path: the file.
            row: number of the first row that has the fault.
            fault: what is wrong.
            value: the value in that row, quoted for messages.
            rows: number of rows that have the fault.
        """
        new = FaultCount(0, Examples(), (self.file, len(self.by_column)))
        count = self.by_column.setdefault((fault.column, fault.kind), new)
        count.rows += rows
        text = describe_fault(path, row, fault, value)
        count.found.add(self.file, text)
        self._found.add(self.file, text)

    def keep(self, numbers: np.ndarray, rows: pa.RecordBatch) -> None:
        """Is given the rows that are dropped, and keeps nothing of them.

        Args:
            numbers: of the rows in their file, int64 [rows].
            rows: the rows.
        """

    @property
    def examples(self) -> list[str]:
        """Descriptions of the first MAX_EXAMPLES, such as "file: row 3, column x: ..."."""
        return self._found.get()

    def merge(self, other: "BadRows") -> None:
        """Adds the bad rows of other files.

        Args:
            other: of other files.
        """
        self.count += other.count
        self._found.merge(other._found)
        for key, theirs in other.by_column.items():
            mine = self.by_column.setdefault(key, FaultCount(0, Examples(), theirs.first))
            mine.rows += theirs.rows
            mine.found.merge(theirs.found)
            mine.first = min(mine.first, theirs.first)
        self.by_column = dict(sorted(self.by_column.items(), key=lambda one: one[1].first))

    def drop(self, rows: int) -> None:
        """Counts rows as dropped.

        Args:
            rows: number of rows.

        Raises:
            UserError: more rows were dropped than `limit`; the message lists the first ones.
        """
        self.count += rows
        if self.limit is not None and self.count > self.limit:
            raise UserError(
                f"more bad rows than the {self.limit} that --data.max_bad_rows allows; the first: "
                f"{'; '.join(self.examples)}; fix them, or allow more"
            )


def describe_fault(path: str, row: int, fault: Fault, value: str) -> str:
    """Returns where a fault is and what is wrong, without the remedy.

    Args:
        path: the file.
        row: number of the row in the file.
        fault: what is wrong.
        value: the value, quoted for messages.
    """
    column = f", column {fault.column}" if fault.column else ""
    return f"{path}: row {row}{column}: {fault.text.replace('{value}', value)}"


def find_faults(
    batch: pa.RecordBatch, schema: Schema, names: Sequence[str]
) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds the values that no model accepts.

    Args:
        batch: the rows, in the Arrow types of the schema.
        schema: defaults and labels.
        names: the columns to check.

    Yields:
        a fault, and a bool mask [rows] of the rows with that fault; at least one row has it.
    """
    for name in names:
        array, column = batch.column(name), schema.columns[name]
        if pa.types.is_floating(array.type):
            # A model has float32. A number beyond it becomes infinite.
            used = array.cast(pa.float32(), safe=False)
            wrong = pc.invert(pc.is_finite(used).fill_null(True))
            if pc.any(wrong).as_py():
                remedy = "fix it (the limit is 3.4e38), or name it in missing_values"
                yield Fault(name, "not finite", "{value} is not a finite number", remedy), wrong
        needs_value = column.default is None and (column.raw_type != "string" or column.image)
        if needs_value and array.null_count and name not in schema.label_columns:
            yield _missing(name, column.type), pc.is_null(array)
        if column.date:
            yield from _find_date_faults(array, name)
        if column.image is not None:
            yield from _find_image_faults(array, name)
    yield from _find_multivalent_faults(batch, schema, names)
    weight = schema.weight
    if weight is not None and weight in names:
        array = batch.column(weight)
        yield from _find_negative(array, weight, "the weight of a row", "fix the value")
    for label in schema.labels:
        for name in label.all_columns:
            if name in names:
                yield from _find_label_faults(batch.column(name), name, label, schema)


def _missing(name: str, kind: str) -> Fault:
    text = "the value is missing and the schema gives no default"
    value = {"float": "mean", "int": "NUMBER"}.get(kind, "TEXT")
    remedy = f"add default: {value} to the column in the schema, or {_SKIP}"
    return Fault(name, "missing", text, remedy)


def _find_date_faults(array: pa.Array, name: str) -> Iterator[tuple[Fault, pa.Array]]:
    words = pc.utf8_trim_whitespace(array.dictionary)
    good = pc.match_substring_regex(words, f"^({DATE_PATTERN})$")
    wrong = pc.invert(good.take(array.indices)).fill_null(False)
    if pc.any(wrong).as_py():
        text = "{value} is not a date such as 2020-12-31 or 2020-12-31 23:59"
        remedy = "fix the value, or name it in missing_values"
        yield Fault(name, "not a date", text, remedy), wrong


def _find_image_faults(array: pa.Array, name: str) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds text that does not start like a base64-encoded image file."""
    good = pa.array([_starts_as_image(word) for word in array.dictionary.to_pylist()], pa.bool_())
    wrong = pc.invert(good.take(array.indices)).fill_null(False)
    if pc.any(wrong).as_py():
        text = "the text is not base64 of a PNG, JPEG, GIF or BMP file"
        remedy = "fix the value, or write the files again"
        yield Fault(name, "not an image", text, remedy), wrong


def _starts_as_image(text: str) -> bool:
    try:
        head = base64.b64decode(text[:12].replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        return False
    return head.startswith(IMAGE_HEADS)


def _find_multivalent_faults(
    batch: pa.RecordBatch, schema: Schema, names: Sequence[str]
) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds values that are not numbers, and columns whose lengths do not match."""
    for name in names:
        column = schema.columns[name]
        if column.separator is not None and column.type != "string":
            wrong = find_unparsable(batch.column(name), column, name in schema.weights_of)
            if wrong.any():
                text = (
                    f"{{value}} is not {NUMBER_NAMES[column.type]} separated by "
                    f"{column.separator!r}"
                )
                yield Fault(name, "unparsable", text, "fix the value"), pa.array(wrong)
    for weights, name in schema.weights_of.items():
        if weights in names and name in names:
            wrong = find_unpaired(
                batch.column(weights),
                schema.columns[weights],
                batch.column(name),
                schema.columns[name],
            )
            if wrong.any():
                text = f"{{value}} is not one weight for each value of column {name}"
                yield Fault(weights, "unpaired", text, "fix the row"), pa.array(wrong)
    yield from _find_length_faults(batch, schema, names)


def _find_length_faults(
    batch: pa.RecordBatch, schema: Schema, names: Sequence[str]
) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds sequences that are not as long as the first sequence of their row."""
    first, length = "", np.zeros(0, np.int64)
    for name in schema.sequences:
        column = schema.columns[name]
        if name not in names or column.text is not None:
            continue
        counts = count_values(batch.column(name), column)
        if not first:
            first, length = name, counts
            continue
        wrong = counts != length
        if wrong.any():
            text = f"{{value}} is not as long as the sequence in column {first}"
            yield Fault(name, "other length", text, "fix the row"), pa.array(wrong)


def _find_negative(
    array: pa.Array, name: str, what: str, remedy: str
) -> Iterator[tuple[Fault, pa.Array]]:
    negative = pc.less(array, 0).fill_null(False)
    if pc.any(negative).as_py():
        text = f"{{value}} is below 0, which {what} cannot be"
        yield Fault(name, "negative", text, remedy), negative


def _find_label_faults(
    array: pa.Array, name: str, label: Label, schema: Schema
) -> Iterator[tuple[Fault, pa.Array]]:
    if array.null_count:
        fault = Fault(name, "label missing", "the label is missing", f"fill it in, or {_SKIP}")
        yield fault, pc.is_null(array)
    remedy = "fix the value or the schema's label"
    if label.loss == "poisson":
        yield from _find_negative(array, name, "a count", remedy)
    # Each column of a multi-label target is 0 or 1.
    classes = (0, 1) if label.columns else label.classes
    if not classes:
        return
    kind = pa.string() if schema.columns[name].type == "string" else pa.int64()
    if pa.types.is_dictionary(array.type):
        # Check the few distinct values first. In most cases all of them are classes.
        known = pc.is_in(array.dictionary.cast(kind), pa.array(classes, kind))
        if pc.all(known).as_py():
            return
    unknown = pc.and_(
        pc.invert(pc.is_in(array.cast(kind), pa.array(classes, kind))), pc.is_valid(array)
    )
    if pc.any(unknown).as_py():
        listed = ", ".join(f"{value!r:.40}" for value in list(classes)[:10])
        text = f"{{value}} is none of the label's classes ({listed})"
        yield Fault(name, "unknown class", text, remedy), unknown


def require_value(
    path: str, numbers: np.ndarray, batch: pa.RecordBatch, name: str, kind: str
) -> None:
    """Raises if a column without a default has a missing value.

    Args:
        path: the file, for messages.
        numbers: number of each row in the file, int64 [rows].
        batch: the rows.
        name: the column.
        kind: its type: float, int or string.

    Raises:
        UserError: a value is missing; the message names the row.
    """
    if batch.column(name).null_count:
        row = pc.is_null(batch.column(name)).index(True).as_py()
        fault = _missing(name, kind)
        where = describe_fault(path, int(numbers[row]), fault, "")
        raise UserError(f"{where}; {fault.remedy}")


def require_good_rows(
    path: str,
    numbers: np.ndarray,
    batch: pa.RecordBatch,
    schema: Schema,
    names: Optional[Sequence[str]] = None,
) -> None:
    """Raises if a row does not fit the schema.

    Args:
        path: the file, for messages.
        numbers: number of each row in the file, int64 [rows].
        batch: the rows, in the Arrow types of the schema.
        schema: defaults and labels.
        names: the columns to check; None: all columns of the batch.

    Raises:
        UserError: a row does not fit; the message names row, column, value and remedy of the first
            fault.
    """
    for fault, mask in find_faults(batch, schema, batch.schema.names if names is None else names):
        row = mask.index(True).as_py()
        value = quote_cell(batch.column(fault.column)[row].as_py(), schema, fault.column)
        where = describe_fault(path, int(numbers[row]), fault, value)
        raise UserError(f"{where}; {fault.remedy}")
