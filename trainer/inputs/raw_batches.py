"""What a reader of one file format hands on, and how values become the schema's types."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.faults import Fault
from trainer.inputs.files import DataFile
from trainer.schema import Schema

ARROW_TYPES = {
    "float": pa.float32(),
    "int": pa.int64(),
    "string": pa.dictionary(pa.int32(), pa.string()),
}
WANTED = {"float": "a float", "int": "an int", "string": "UTF-8 text"}


class RawBatch(NamedTuple):
    """Some rows of a file as its reader gives them.

    Attributes:
        first_row: number of the first one in the file, counted from 1, a CSV header included.
        columns: Arrow record batch of the schema's types; what does not parse is null.
        rows: numbers of the rows where some were left out; None where they are consecutive.
        unparsed: column → mask [rows] of the values that did not parse, and those values.
    """

    first_row: int
    columns: pa.RecordBatch
    rows: Optional[np.ndarray] = None
    unparsed: Optional[dict[str, tuple[pa.Array, pa.Array]]] = None

    def number(self, index: int) -> int:
        """The number in the file of a row of this piece."""
        return self.first_row + index if self.rows is None else int(self.rows[index])


def target_schema(schema: Schema, names: Sequence[str]) -> pa.Schema:
    """The Arrow schema of some columns."""
    return pa.schema([(name, ARROW_TYPES[schema.columns[name].raw_type]) for name in names])


def require_columns(names: Sequence[str], columns: Sequence[str], file: DataFile) -> None:
    """Refuses a file without one of the columns, or with one of them twice.

    Raises:
        UserError: names the column.
    """
    for name in names:
        if name not in columns:
            raise UserError(
                f"{file.path}: no column {name!r}{config_lib.nearest(name, columns)} "
                f"(it has {', '.join(columns[:30])}); mend the schema or the file"
            )
        if list(columns).count(name) > 1:
            raise UserError(f"{file.path}: column {name!r} stands there twice; rename one of them")


def cast_batch(
    first_row: int,
    batch: pa.RecordBatch,
    schema: Schema,
    names: Sequence[str],
    file: DataFile,
    bad: Optional[BadRows],
    rows: Optional[np.ndarray] = None,
) -> RawBatch:
    """Gives columns the schema's types.

    Args:
        first_row: number of the first row.
        batch: columns of any types.
        schema, names, file: what is wanted, of what.
        bad: None: a value that does not become its type is an error; else it becomes null.
        rows: numbers of the rows if they are not consecutive.

    Raises:
        UserError: names row, column and value.
    """
    arrays, unparsed = [], {}
    for name in names:
        array, target = batch.column(name), ARROW_TYPES[schema.columns[name].raw_type]
        separator = schema.columns[name].separator
        if separator is not None and _is_list(array.type):
            array = _join_lists(array, separator)
        if array.type != target:
            try:
                array = cast_array(array, target)
            except pa.ArrowException as error:
                if bad is None:
                    row = find_uncastable(array, target)
                    raise UserError(
                        f"{file.path}: row {first_row + row}, column {name}: "
                        f"{array[row].as_py()!r:.80} ({array.type}) does not become "
                        f"{schema.columns[name].type}; mend the schema or the file"
                    ) from error
                cast, mask = _cast_what_can_be(array, target)
                unparsed[name] = (mask, array)
                array = cast
        arrays.append(array)
    columns = pa.RecordBatch.from_arrays(arrays, schema=target_schema(schema, names))
    return RawBatch(first_row, columns, rows, unparsed)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def _join_lists(array: pa.Array, separator: str) -> pa.Array:
    """Lists of values as one text each, as a CSV file has them; an empty list is no value."""
    lengths = pc.list_value_length(array).fill_null(0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
    values = array.flatten().cast(pa.string()).fill_null("")
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), values), separator)
    return pc.if_else(pc.equal(joined, ""), None, joined)


def cast_array(array: pa.Array, target: pa.DataType) -> pa.Array:
    """One column as one of ARROW_TYPES.

    Raises:
        pa.ArrowException: a value does not become that type.
    """
    if pa.types.is_dictionary(target):
        if pa.types.is_dictionary(array.type):
            return pa.DictionaryArray.from_arrays(
                array.indices.cast(pa.int32()), array.dictionary.cast(pa.string())
            )
        return array.cast(pa.string()).dictionary_encode()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_binary(array.type):
        # Text that a reader has left unparsed; numbers may stand between blanks.
        array = pc.utf8_trim_whitespace(array.cast(pa.string()))
    if target == pa.float32() and not pa.types.is_string(array.type):
        # To float64 first: Arrow refuses integers that float32 rounds.
        return array.cast(pa.float64()).cast(target, safe=False)
    return array.cast(target)


def find_uncastable(array: pa.Array, target: pa.DataType) -> int:
    """Index of the first element that does not become the target type, by halving."""
    if pa.types.is_dictionary(array.type):
        # A slice of a dictionary column still has all of its words.
        array = array.dictionary_decode()
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            cast_array(array.slice(low, middle - low), target)
            low = middle
        except pa.ArrowException:
            high = middle
    return low


def _cast_what_can_be(array: pa.Array, target: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """The column with nulls for what does not become the type, and the mask of those."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    words = array.dictionary
    fits = np.ones(len(words), bool)
    start = 0
    while start < len(words):
        rest = words.slice(start)
        try:
            cast_array(rest, target)
            break
        except pa.ArrowException:
            start += find_uncastable(rest, target)
            fits[start] = False
            start += 1
    indices = array.indices.to_numpy(zero_copy_only=False)
    valid = np.asarray(array.is_valid())
    positions = np.where(valid, np.nan_to_num(indices), 0).astype(np.int64)
    wrong = valid & ~fits[positions] if len(words) else np.zeros(len(array), bool)
    kept = pc.if_else(pa.array(wrong), None, array.dictionary_decode())
    return cast_array(kept, target), pa.array(wrong)


def unparsed_fault(name: str, kind: str) -> Fault:
    """The fault of a value that is not of its column's type."""
    return Fault(
        name,
        "unparsable",
        f"{{value}} is not {WANTED[kind]}",
        "mend the value, or name it in the schema's missing_values",
    )
