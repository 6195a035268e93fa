"""Rows that the schema does not allow: found, told, and up to a limit dropped and counted."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import pyarrow as pa
import pyarrow.compute as pc

from trainer.errors import UserError
from trainer.inputs.faults import Fault
from trainer.inputs.multivalent import find_faults_of_several
from trainer.schema import Label, Schema
from trainer.schema.columns import DATE_PATTERN

# How files of images begin.
IMAGE_HEADS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")
# Bad rows that are listed when there are too many, and per column by a check of the data.
MAX_EXAMPLES = 5


class BadRows:
    """Counts rows that are dropped, and stops once they are too many.

    Args:
        limit: how many are tolerated; None for any number.

    Attributes:
        count: rows dropped so far.
        examples: the first of them, "file: row 3, column x: ..." each.
        by_column: (column, kind) → [rows, the first examples].
    """

    def __init__(self, limit: Optional[int]):
        self.limit = limit
        self.count = 0
        self.examples: list[str] = []
        self.by_column: dict[tuple[str, str], list] = {}

    def add(self, path: str, row: int, fault: Fault, value: str = "", rows: int = 1) -> None:
        """Notes a fault; `row` is the number of the first of `rows` rows that have it."""
        entry = self.by_column.setdefault((fault.column, fault.kind), [0, []])
        entry[0] += rows
        text = describe(path, row, fault, value)
        for listed in (entry[1], self.examples):
            if len(listed) < MAX_EXAMPLES:
                listed.append(text)

    def drop(self, rows: int) -> None:
        """Counts rows that are dropped.

        Raises:
            UserError: there are now more than tolerated; lists the first.
        """
        self.count += rows
        if self.limit is not None and self.count > self.limit:
            raise UserError(
                f"more bad rows than the {self.limit} that --data.max_bad_rows allows; the first: "
                f"{'; '.join(self.examples)}; mend them, or allow more"
            )


def describe(path: str, row: int, fault: Fault, value: str) -> str:
    """Where a fault is and what it is, without a remedy."""
    column = f", column {fault.column}" if fault.column else ""
    return f"{path}: row {row}{column}: {fault.text.replace('{value}', value)}"


def find_faults(
    batch: pa.RecordBatch, schema: Schema, names: Sequence[str]
) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds the values that no model can take.

    Args:
        batch: the rows, of the schema's types.
        schema: defaults and label.
        names: the columns to look at.

    Yields:
        a fault and the mask [rows] of the rows that have it; the mask has a row at least.
    """
    for name in names:
        array, column = batch.column(name), schema.columns[name]
        if pa.types.is_floating(array.type):
            wrong = pc.invert(pc.is_finite(array).fill_null(True))
            if pc.any(wrong).as_py():
                yield (
                    Fault(
                        name,
                        "not finite",
                        "{value} is not a finite number",
                        "mend it, or name it in missing_values",
                    ),
                    wrong,
                )
        needs_value = column.default is None and (column.raw_type != "string" or column.image)
        if needs_value and array.null_count and name not in schema.label_columns:
            yield _missing(name), pc.is_null(array)
        if column.date:
            yield from _find_date_faults(array, name)
        if column.image is not None:
            yield from _find_image_faults(array, name)
    yield from find_faults_of_several(batch, schema, names)
    for label in schema.labels:
        for name in label.all_columns:
            if name in names:
                yield from _find_label_faults(batch.column(name), name, label, schema)


def _missing(name: str) -> Fault:
    text = "the value is missing and the schema gives no default"
    return Fault(name, "missing", text, "add default: to the column")


def _find_date_faults(array: pa.Array, name: str) -> Iterator[tuple[Fault, pa.Array]]:
    words = pc.utf8_trim_whitespace(array.dictionary)
    good = pc.match_substring_regex(words, f"^({DATE_PATTERN})$")
    wrong = pc.invert(good.take(array.indices)).fill_null(False)
    if pc.any(wrong).as_py():
        text = "{value} is no date such as 2020-12-31 or 2020-12-31 23:59"
        yield Fault(name, "not a date", text, "mend the value, or name it in missing_values"), wrong


def _find_image_faults(array: pa.Array, name: str) -> Iterator[tuple[Fault, pa.Array]]:
    """Finds text that does not begin as base64 of an image file."""
    good = pa.array([_begins_as_image(word) for word in array.dictionary.to_pylist()], pa.bool_())
    wrong = pc.invert(good.take(array.indices)).fill_null(False)
    if pc.any(wrong).as_py():
        text = "the text is not base64 of a PNG, JPEG, GIF or BMP file"
        yield Fault(name, "not an image", text, "mend the value, or write the files anew"), wrong


def _begins_as_image(word: str) -> bool:
    try:
        head = base64.b64decode(word[:12].replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        return False
    return head.startswith(IMAGE_HEADS)


def _find_label_faults(
    array: pa.Array, name: str, label: Label, schema: Schema
) -> Iterator[tuple[Fault, pa.Array]]:
    if array.null_count:
        yield (
            Fault(name, "label missing", "the label is missing", "every row needs one"),
            pc.is_null(array),
        )
    if label.loss == "poisson":
        negative = pc.less(array, 0).fill_null(False)
        if pc.any(negative).as_py():
            remedy = "mend the value or the schema's label"
            yield Fault(name, "negative", "{value} is below 0, which no count is", remedy), negative
    # Each column of several answers 0 or 1.
    classes = (0, 1) if label.columns else label.classes
    if not classes:
        return
    kind = pa.string() if schema.columns[name].type == "string" else pa.int64()
    if pa.types.is_dictionary(array.type):
        # The few words first: most often all of them are classes.
        known = pc.is_in(array.dictionary.cast(kind), pa.array(classes, kind))
        if pc.all(known).as_py():
            return
    unknown = pc.and_(
        pc.invert(pc.is_in(array.cast(kind), pa.array(classes, kind))), pc.is_valid(array)
    )
    if pc.any(unknown).as_py():
        listed = ", ".join(repr(value) for value in list(classes)[:10])
        yield (
            Fault(
                name,
                "unknown class",
                f"{{value}} is none of the label's classes ({listed})",
                "mend the value or the schema's label",
            ),
            unknown,
        )


def refuse_missing(path: str, first_row: int, columns: pa.RecordBatch, name: str) -> None:
    """Refuses a missing value, for a column that turns out to have no default.

    Raises:
        UserError: names the row.
    """
    if columns.column(name).null_count:
        row = pc.is_null(columns.column(name)).index(True).as_py()
        fault = _missing(name)
        raise UserError(f"{describe(path, first_row + row, fault, '')}; {fault.remedy}")


def refuse_faults(path: str, first_row: int, batch: pa.RecordBatch, schema: Schema) -> None:
    """Refuses rows that no model can take.

    Args:
        path: the file, for messages.
        first_row: number of the first row.
        batch: the rows, of the schema's types.
        schema: defaults and label.

    Raises:
        UserError: names row, column, value and remedy of the first fault.
    """
    for fault, mask in find_faults(batch, schema, batch.schema.names):
        row = mask.index(True).as_py()
        value = show(batch.column(fault.column)[row].as_py())
        raise UserError(f"{describe(path, first_row + row, fault, value)}; {fault.remedy}")


def show(value: Any) -> str:
    """A value as messages quote it."""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    return str(value) if isinstance(value, float) else repr(value)[:80]
