"""Reads TFRecord files of tf.Example records, plain or gzipped."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import estimator_bridge as bridge
from estimator_bridge import BridgeError
from estimator_bridge.user_files.limits import read_checked
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, Fault
from trainer.inputs.cell_text import quote_cell
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import (
    ARROW_TYPES,
    RawBatch,
    ReadRequest,
    cast_array,
    cast_batch,
    find_uncastable,
    target_schema,
)
from trainer.inputs.record_damage import (
    Progress,
    check_complete,
    clean_message,
    count_bytes,
    describe_damage,
    open_records,
)
from trainer.schema import Column, Schema

# Number of records that are parsed at once.
BATCH_ROWS = 8_192
# Marks a missing int while a tf.Example is parsed, as NaN marks a missing float.
NO_INT = -(2**63)


def _iterate(file: DataFile, dataset: Any, records_each: int) -> Iterator[Any]:
    """Yields the elements, of some records each, of a dataset that reads a file."""
    tf, elements = bridge.tf, dataset.as_numpy_iterator
    try:
        if file.gzipped:
            # TensorFlow unpacks a record piece by piece.
            yield from elements()
        else:
            yield from read_checked(file.local_path, elements, records_each)
    except BridgeError as error:
        raise UserError(f"{file.path}: {error}; write the file again") from error
    except (OSError, tf.errors.NotFoundError, tf.errors.PermissionDeniedError) as error:
        reason = error.strerror if isinstance(error, OSError) else clean_message(error)
        raise UserError(f"{file.path}: cannot be read: {reason}; restore the file") from error


def read_tfrecord(request: ReadRequest) -> Iterator[RawBatch]:
    """Yields the rows of a file.

    Args:
        request: what to read.

    Raises:
        UserError: a value cannot be parsed, or the file is damaged.
    """
    tf, file = bridge.tf, request.file
    progress = Progress()
    try:
        if request.bad_rows is None:
            yield from _read_strictly(request, progress)
        else:
            yield from _read_tolerantly(request, request.bad_rows, progress)
        check_complete(file, progress)
    except tf.errors.DataLossError as error:
        raise describe_damage(file, progress, error) from error
    except tf.errors.InvalidArgumentError as error:
        raise UserError(
            f"{file.path}: rows from {progress.rows + 1}, {_name_column(clean_message(error))}; "
            "fix the schema or the file"
        ) from error


def _read_strictly(request: ReadRequest, progress: Progress) -> Iterator[RawBatch]:
    """Yields the rows; a record that cannot be parsed is an error."""
    schema = request.schema
    features = {name: _example_feature(schema.columns[name]) for name in request.names}
    parsed = (
        open_records(request.file)
        .batch(BATCH_ROWS)
        .map(
            lambda serialized: (
                _encode_text(_parse(serialized, features, schema)),
                count_bytes(serialized),
            ),
            num_parallel_calls=2,
        )
    )
    for arrays, num_bytes in _iterate(request.file, parsed.prefetch(2), BATCH_ROWS):
        batch = _to_raw_batch(request, progress.rows + 1, arrays)
        yield batch
        progress.add(batch.columns.num_rows, int(num_bytes))


def _read_tolerantly(
    request: ReadRequest, bad_rows: BadRows, progress: Progress
) -> Iterator[RawBatch]:
    """Yields the rows without the records that cannot be parsed."""
    schema = request.schema
    features = {name: _example_feature(schema.columns[name]) for name in request.names}
    records = open_records(request.file).batch(BATCH_ROWS)
    for serialized in _iterate(request.file, records.prefetch(2), BATCH_ROWS):
        rows = np.arange(progress.rows + 1, progress.rows + 1 + len(serialized))
        parsable = _find_parsable(serialized, features)
        for index, message in parsable.messages.items():
            found = re.match(r"column (\S+): (.*)", message)
            column, text = found.groups() if found else ("", message)
            fault = Fault(column, "unparsable", "{value}", "fix the schema or the file")
            bad_rows.add(request.file.path, int(rows[index]), fault, text)
        progress.add(len(serialized), int(count_bytes(serialized)))
        fit = parsable.indices
        bad_rows.drop(len(rows) - len(fit))
        if len(fit):
            tensors = _parse(serialized[fit], features, schema)
            arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
            yield _to_tolerant_batch(request, arrays, rows[fit])


class _Parsable(NamedTuple):
    """The records that can be parsed, and the errors of the others.

    Attributes:
        indices: indices of the records that can be parsed, int64 [records].
        messages: index of another record → why it cannot be parsed.
    """

    indices: np.ndarray
    messages: dict[int, str]


def _find_parsable(serialized: np.ndarray, features: dict[str, Any]) -> _Parsable:
    """Finds the serialized records, bytes [batch], that can be parsed."""
    tf = bridge.tf
    try:
        tf.io.parse_example(serialized, features)
        return _Parsable(np.arange(len(serialized)), {})
    except tf.errors.InvalidArgumentError:
        pass
    fit, messages = [], {}
    for index, record in enumerate(serialized):
        try:
            tf.io.parse_example([record], features)
            fit.append(index)
        except tf.errors.InvalidArgumentError as error:
            messages[index] = _name_column(clean_message(error))
    return _Parsable(np.array(fit, np.int64), messages)


def _parse(serialized: Any, features: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns name → tensor [batch]; the values of multivalent columns are joined as in CSV."""
    # Imported here, because the import loads TensorFlow, which other formats do not need.
    from trainer.features.multivalent import join_values

    tf = bridge.tf
    parsed: dict[str, Any] = tf.io.parse_example(serialized, features)
    for name in parsed:
        separator = schema.columns[name].separator
        if separator is not None:
            parsed[name] = join_values(parsed[name], separator)
    return parsed


def _encode_text(parsed: dict[str, Any]) -> dict[str, Any]:
    """Replaces strings [batch] by (distinct values, index by row), to convert fewer objects."""
    tf = bridge.tf
    return {
        name: tuple(tf.unique(tensor)) if tensor.dtype == tf.string else tensor
        for name, tensor in parsed.items()
    }


def _example_feature(column: Column) -> Any:
    tf = bridge.tf
    if column.separator is not None:
        kinds = {"float": tf.float32, "int": tf.int64, "string": tf.string}
        return tf.io.RaggedFeature(kinds[column.type])
    if column.type == "float":
        return tf.io.FixedLenFeature([], tf.float32, default_value=float("nan"))
    if column.type == "string":
        return tf.io.FixedLenFeature([], tf.string, default_value="")
    return tf.io.FixedLenFeature([], tf.int64, default_value=NO_INT)


def _to_numbers(array: np.ndarray, kind: str) -> pa.Array:
    if kind == "float":
        return pa.array(array, ARROW_TYPES[kind], from_pandas=True)
    return pa.array(array, ARROW_TYPES[kind], mask=array == NO_INT)


def _to_raw_batch(request: ReadRequest, first_row: int, arrays: dict[str, Any]) -> RawBatch:
    """Converts the result of `_encode_text`, as NumPy arrays, into a RawBatch."""
    columns = []
    for name in request.names:
        kind = request.schema.columns[name].raw_type
        if kind == "string":
            columns.append(_to_dictionary(request, name, first_row, *arrays[name]))
        else:
            columns.append(cast_array(_to_numbers(arrays[name], kind), request.find_type(name)))
    target = target_schema(request)
    return RawBatch(first_row, pa.RecordBatch.from_arrays(columns, schema=target))


def _to_tolerant_batch(
    request: ReadRequest, arrays: dict[str, np.ndarray], rows: np.ndarray
) -> RawBatch:
    """Converts arrays [rows] into a RawBatch, with null for text that is not UTF-8."""
    columns = []
    for name in request.names:
        kind = request.schema.columns[name].raw_type
        if kind == "string":
            column = pa.array(arrays[name], pa.binary())
            column = pc.if_else(pc.equal(column, b""), None, column)
        else:
            column = _to_numbers(arrays[name], kind)
        columns.append(column)
    batch = pa.RecordBatch.from_arrays(columns, names=list(request.names))
    return cast_batch(request, int(rows[0]), batch, rows)


def _to_dictionary(
    request: ReadRequest, name: str, first_row: int, words: np.ndarray, numbers: np.ndarray
) -> pa.DictionaryArray:
    """Converts distinct values, bytes [words], and each row's index into them, int32 [rows]."""
    texts = pa.array(words, pa.binary())
    try:
        texts = texts.cast(pa.string())
    except pa.ArrowInvalid as error:
        word = find_uncastable(texts, pa.string())
        row = int(np.flatnonzero(numbers == word)[0])
        raise UserError(
            f"{request.file.path}: row {first_row + row}, column {name}: "
            f"{quote_cell(words[word], request.schema, name)} is not UTF-8 text; fix the file"
        ) from error
    # Empty text is a missing value, which the dictionary does not contain.
    is_missing = words == b""
    kept = (np.cumsum(~is_missing) - 1).astype(np.int32)
    return pa.DictionaryArray.from_arrays(
        pa.array(kept[numbers], mask=is_missing[numbers]), texts.filter(pa.array(~is_missing))
    )


def _name_column(message: str) -> str:
    found = re.search(r"Key: (\S+?), Index: \d+\. (.*)", message)
    return f"column {found.group(1)}: {found.group(2)}" if found else message[:160]


def iterate_columns(file: DataFile, first_records: int) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file that has no schema, with a column for each feature.

    Args:
        file: the file.
        first_records: number of records from which the features and their types are inferred; a
            feature that appears only later is ignored.

    Yields:
        batches with a column of float64, int64 or string for each feature that has at most one
        value in each record, and a column of lists for any other. Bytes that are not text are
        binary.

    Raises:
        UserError: the file is damaged, or does not contain tf.Example records.
    """
    tf = bridge.tf
    progress = Progress()
    try:
        features = _infer_features(file, first_records)
        for serialized in _iterate(file, open_records(file).batch(BATCH_ROWS), BATCH_ROWS):
            parsed = tf.io.parse_example(serialized, features)
            arrays = [_ragged_to_arrow(parsed[name]) for name in features]
            yield pa.RecordBatch.from_arrays(arrays, names=list(features))
            progress.add(len(serialized), int(count_bytes(serialized)))
        check_complete(file, progress)
    except tf.errors.InvalidArgumentError as error:
        raise UserError(
            f"{file.path}: rows from {progress.rows + 1}, {_name_column(clean_message(error))}; "
            "write the values of a feature in one type"
        ) from error
    except tf.errors.OpError as error:
        raise describe_damage(file, progress, error) from error
    except Exception as error:
        # protobuf's DecodeError is in different modules in different versions.
        if type(error).__name__ != "DecodeError":
            raise
        raise UserError(
            f"{file.path}: its records are not tf.Example; write tf.Example records"
        ) from error


def _infer_features(file: DataFile, first_records: int) -> dict[str, Any]:
    """Returns feature name → RaggedFeature, inferred from the first records of a file."""
    tf = bridge.tf
    dtypes = {"bytes_list": tf.string, "float_list": tf.float32, "int64_list": tf.int64}
    features: dict[str, Any] = {}
    for record in _iterate(file, open_records(file).take(first_records), 1):
        example = tf.train.Example.FromString(record)
        for name, feature in sorted(example.features.feature.items()):
            kind = feature.WhichOneof("kind")
            if kind is not None and name not in features:
                features[name] = tf.io.RaggedFeature(dtypes[kind])
    if not features:
        raise UserError(f"{file.path}: its records have no features; write tf.Example records")
    return features


def _ragged_to_arrow(ragged: Any) -> pa.Array:
    """Converts a ragged tensor [batch, (values)] to an array of single values or of lists."""
    values, splits = ragged.values.numpy(), ragged.row_splits.numpy()
    lengths = np.diff(splits)
    if values.dtype == object:
        flat = pa.array(values, pa.binary())
        with contextlib.suppress(pa.ArrowInvalid):
            flat = flat.cast(pa.string())
    else:
        flat = pa.array(values.astype(np.float64) if values.dtype == np.float32 else values)
    if len(lengths) and lengths.max() > 1:
        return pa.ListArray.from_arrays(pa.array(splits.astype(np.int32)), flat)
    positions = pa.array(splits[:-1], mask=lengths == 0)
    return flat.take(positions)
