"""Common code of the readers of all file formats: request, result, and type conversion."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import config as config_lib
from trainer.errors import UserError, nearest
from trainer.inputs.bad_rows import BadRows, Fault
from trainer.inputs.cell_text import hides, quote_cell
from trainer.inputs.files import DataFile
from trainer.inputs.missing import mark_texts
from trainer.schema import Schema

ARROW_TYPES = {
    "float": pa.float32(),
    "int": pa.int64(),
    "string": pa.dictionary(pa.int32(), pa.string()),
}
# Names of the types in messages.
TYPE_NAMES = {"float": "a float", "int": "an int", "string": "UTF-8 text"}


class ReadDetails(NamedTuple):
    """How a file differs from what its schema says.

    Attributes:
        layouts: column orders other than the schema's that a CSV file without a header may have.
        exact: float columns to read as float64, with all of the digits in the file.
        unchecked: columns to read as well, whose values need not fit the schema.
    """

    layouts: Sequence[Sequence[str]] = ()
    exact: Sequence[str] = ()
    unchecked: Sequence[str] = ()


AS_IN_SCHEMA = ReadDetails()


class ReadRequest(NamedTuple):
    """What to read from one file.

    Attributes:
        file: the file.
        schema: types of the columns.
        names: the columns to read.
        data: delimiter and header of CSV files.
        bad_rows: collects the rows that do not fit the schema; None: the first value that cannot be
            read is an error.
        details: how the file is read other than the schema says.
    """

    file: DataFile
    schema: Schema
    names: Sequence[str]
    data: config_lib.DataConfig
    bad_rows: Optional[BadRows] = None
    details: ReadDetails = AS_IN_SCHEMA

    def find_type(self, name: str) -> pa.DataType:
        """Returns the Arrow type in which a column is read.

        Args:
            name: the column.
        """
        kind = self.schema.columns[name].raw_type
        return pa.float64() if name in self.details.exact else ARROW_TYPES[kind]


class RawBatch(NamedTuple):
    """Some rows of a file as its reader returns them.

    Attributes:
        first_row: number of the first row in the file, counted from 1; a CSV header counts too.
        columns: Arrow record batch in the schema's types; a value that cannot be parsed is null.
        rows: row numbers, int64 [rows], if some rows were left out; None if consecutive.
        unparsed: column → bool mask [rows] of the values that could not be parsed, and the column
            before parsing.
    """

    first_row: int
    columns: pa.RecordBatch
    rows: Optional[np.ndarray] = None
    unparsed: Optional[dict[str, tuple[pa.Array, pa.Array]]] = None

    def number(self, index: int) -> int:
        """Returns the row number in the file of a row of this batch.

        Args:
            index: index of the row in this batch.
        """
        return self.first_row + index if self.rows is None else int(self.rows[index])


def target_schema(request: ReadRequest) -> pa.Schema:
    """Returns the Arrow schema of the columns that are read.

    Args:
        request: what is read.
    """
    return pa.schema([(name, request.find_type(name)) for name in request.names])


def require_columns(request: ReadRequest, columns: Sequence[str]) -> None:
    """Raises unless a file has each of the columns exactly once.

    Args:
        request: names the columns to read.
        columns: the columns of the file.

    Raises:
        UserError: a column is missing or occurs twice; the message names the column.
    """
    file = request.file
    for name in request.names:
        if name not in columns:
            # The header may be a row of data.
            known = f"{nearest(name, columns)} (it has {', '.join(columns[:30])})"
            known = "" if hides(request.schema) else known
            later = ", or name it in --data.added_columns" if file.format == "parquet" else ""
            raise UserError(
                f"{file.path}: no column {name!r}{known}; fix the schema or the file{later}"
            )
        if list(columns).count(name) > 1:
            raise UserError(f"{file.path}: column {name!r} appears twice; rename one of them")


def cast_batch(
    request: ReadRequest,
    first_row: int,
    batch: pa.RecordBatch,
    rows: Optional[np.ndarray] = None,
) -> RawBatch:
    """Converts columns to the schema's types.

    Args:
        request: what is read. If it has `bad_rows`, a value that cannot be converted becomes null;
            otherwise such a value is an error.
        first_row: number of the first row in the file.
        batch: columns of any type.
        rows: row numbers, int64 [rows], if they are not consecutive.

    Returns:
        the converted rows.

    Raises:
        UserError: a value cannot be converted; the message names row, column and value.
    """
    schema, arrays, unparsed = request.schema, [], {}
    for name in request.names:
        array, target = batch.column(name), request.find_type(name)
        separator = schema.columns[name].separator
        if separator is not None and is_list(array.type):
            array = _join_lists(array, separator)
        if not pa.types.is_dictionary(target) and name != schema.key:
            # Otherwise, a word such as NA would be no number.
            array = mark_texts(array, schema.missing_values)
        if array.type != target:
            try:
                array = cast_array(array, target)
            except pa.ArrowException as error:
                if request.bad_rows is None:
                    row = find_uncastable(array, target)
                    raise UserError(
                        f"{request.file.path}: row {first_row + row}, column {name}: "
                        f"{quote_cell(array[row].as_py(), schema, name)} ({array.type}) cannot be "
                        f"converted to "
                        f"{schema.columns[name].type}; fix the schema or the file"
                    ) from error
                cast, mask = _cast_or_null(array, target)
                unparsed[name] = (mask, array)
                array = cast
        arrays.append(array)
    columns = pa.RecordBatch.from_arrays(arrays, schema=target_schema(request))
    return RawBatch(first_row, columns, rows, unparsed)


def is_list(kind: pa.DataType) -> bool:
    """Returns whether a column contains lists, of any or of one length.

    Args:
        kind: type of the column.
    """
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _join_lists(array: pa.Array, separator: str) -> pa.Array:
    """Joins the values of each list into one text, as in a CSV file; an empty list becomes null."""
    lengths = pc.list_value_length(array).fill_null(0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
    values = array.flatten().cast(pa.string()).fill_null("")
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), values), separator)
    return pc.if_else(pc.equal(joined, ""), None, joined)


def cast_array(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Returns a column in one of ARROW_TYPES.

    Args:
        array: column [rows] of any type.
        target: the type; for numbers also float64.

    Raises:
        pa.ArrowException: a value cannot be converted.
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
        # This is text that a reader has not parsed. Numbers may have blanks around them.
        array = pc.utf8_trim_whitespace(array.cast(pa.string()))
    if target == pa.float64() and pa.types.is_float32(array.type):
        # The text of a float32 is the shortest one, most often the number as it was given.
        array = array.cast(pa.string())
    if pa.types.is_floating(target) and pa.types.is_integer(array.type):
        # Arrow rejects integers that a float rounds.
        array = array.cast(pa.float64(), safe=False)
    if target == pa.float32() and not pa.types.is_string(array.type):
        return array.cast(pa.float64()).cast(target, safe=False)
    return array.cast(target)


def find_uncastable(array: pa.Array, target: pa.DataType) -> int:
    """Returns the index of the first element that cannot be converted; finds it by bisection.

    Args:
        array: column [rows] with at least one element that cannot be converted.
        target: the type.
    """
    if pa.types.is_dictionary(array.type):
        # A slice of a dictionary column would keep the whole dictionary.
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


def _cast_or_null(array: pa.Array, target: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Returns the column with null for values that cannot be converted, and the mask of these."""
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
    """Returns the fault of a value that is not of its column's type.

    Args:
        name: the column.
        kind: float, int or string.
    """
    return Fault(
        name,
        "unparsable",
        f"{{value}} is not {TYPE_NAMES[kind]}",
        "fix the value, or name it in the schema's missing_values",
    )
