"""TFRecord files of tf.Example, plain or gzipped."""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import estimator_bridge as bridge
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.faults import Fault
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import (
    ARROW_TYPES,
    RawBatch,
    cast_batch,
    find_uncastable,
    target_schema,
)
from trainer.schema import Schema

# Records parsed at once.
BATCH_ROWS = 8_192
# What the file format adds to each record: its length and two checksums
# (tensorflow/core/lib/io/record_writer.h).
FRAME_BYTES = 16
CHUNK_BYTES = 1 << 20
# Stands for a missing int while a tf.Example is parsed, as NaN does for a float.
NO_INT = -(2**63)


def open_records(file: DataFile):
    """The serialized records of a file as a tf.data.Dataset."""
    return bridge.tf.data.TFRecordDataset(
        file.local_path, compression_type="GZIP" if file.gzipped else ""
    )


def read_tfrecord(
    file: DataFile,
    schema: Schema,
    names: Sequence[str],
    data: config_lib.DataConfig,
    bad: Optional[BadRows],
    layouts: Sequence[Sequence[str]],
) -> Iterator[RawBatch]:
    """Yields the rows of a file; see tables.read_batches."""
    tf = bridge.tf
    features = {name: _example_feature(schema.columns[name]) for name in names}
    records = open_records(file).batch(BATCH_ROWS)
    first_row = 1
    num_bytes = 0
    try:
        if bad is None:
            parsed = records.map(
                lambda serialized: (
                    _find_words(_parse(serialized, features, schema)),
                    _count_bytes(serialized),
                ),
                num_parallel_calls=2,
            )
            for arrays, size in parsed.prefetch(2).as_numpy_iterator():
                piece = _to_piece(first_row, arrays, schema, names, file)
                yield piece
                first_row += piece.columns.num_rows
                num_bytes += int(size)
            _check_whole(file, num_bytes, first_row - 1)
            return
        for serialized in records.prefetch(2).as_numpy_iterator():
            num_bytes += int(_count_bytes(serialized))
            rows = np.arange(first_row, first_row + len(serialized))
            fit = _find_parsable(serialized, features, file, rows, bad)
            first_row += len(serialized)
            bad.drop(len(rows) - len(fit))
            if len(fit):
                arrays = _parse(serialized[fit], features, schema)
                arrays = {name: tensor.numpy() for name, tensor in arrays.items()}
                yield _to_tolerant_piece(arrays, schema, names, file, rows[fit], bad)
        _check_whole(file, num_bytes, first_row - 1)
    except tf.errors.DataLossError as error:
        raise UserError(
            f"{file.path}: damaged after row {first_row - 1}: {_words(error)}; write the file again"
        ) from error
    except tf.errors.InvalidArgumentError as error:
        raise UserError(
            f"{file.path}: rows from {first_row}, {_explain(_words(error))}; "
            "mend the schema or the file"
        ) from error


def _count_bytes(serialized):
    """Bytes that records [batch] take in a file, as an int64 scalar."""
    tf = bridge.tf
    lengths = tf.strings.length(serialized) + FRAME_BYTES
    return tf.reduce_sum(tf.cast(lengths, tf.int64))


def _check_whole(file: DataFile, num_bytes: int, num_rows: int) -> None:
    """Finds a gzip stream that was cut off between two records, which TensorFlow does not see.

    Args:
        file: the file.
        num_bytes: what was read of it, uncompressed.
        num_rows: the records in that.

    Raises:
        UserError: it is not whole.
    """
    if not file.gzipped:
        return
    with open(file.local_path, "rb") as stream:
        # A gzip member ends with its uncompressed length, modulo 2^32 (RFC 1952).
        size = stream.seek(0, 2)
        stream.seek(max(0, size - 4))
        if size > 4 and int.from_bytes(stream.read(), "little") == num_bytes % 2**32:
            return
    # It is damaged, or several members in a row.
    whole = 0
    reason = "it holds more than its records"
    try:
        with gzip.open(file.local_path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                whole += len(chunk)
    except (EOFError, OSError, zlib.error) as error:
        whole, reason = -1, str(error)
    if whole != num_bytes:
        raise UserError(
            f"{file.path}: damaged after row {num_rows}: {reason}; write the file again"
        )


def _find_parsable(serialized, features, file, rows, bad) -> np.ndarray:
    """Indices of the records that parse; the others are noted."""
    tf = bridge.tf
    try:
        tf.io.parse_example(serialized, features)
        return np.arange(len(serialized))
    except tf.errors.InvalidArgumentError:
        pass
    fit = []
    for index, record in enumerate(serialized):
        try:
            tf.io.parse_example([record], features)
            fit.append(index)
        except tf.errors.InvalidArgumentError as error:
            words = _explain(_words(error))
            found = re.match(r"column (\S+): (.*)", words)
            column, text = found.groups() if found else ("", words)
            fault = Fault(column, "unparsable", "{value}", "mend the schema or the file")
            bad.add(file.path, int(rows[index]), fault, text)
    return np.array(fit, np.int64)


def _parse(serialized, features, schema) -> dict:
    """Examples [batch] as name → tensor [batch]; several values are joined, as in a CSV file."""
    # It loads TensorFlow, which reading other formats does without.
    from trainer.features.multivalent import join_values

    tf = bridge.tf
    parsed = tf.io.parse_example(serialized, features)
    for name in parsed:
        separator = schema.columns[name].separator
        if separator is not None:
            parsed[name] = join_values(parsed[name], separator)
    return parsed


def _find_words(parsed) -> dict:
    """Text [batch] as its words and the number of each row's: few words come out of TensorFlow."""
    tf = bridge.tf
    return {
        name: tuple(tf.unique(tensor)) if tensor.dtype == tf.string else tensor
        for name, tensor in parsed.items()
    }


def _example_feature(column):
    tf = bridge.tf
    if column.separator is not None:
        kinds = {"float": tf.float32, "int": tf.int64, "string": tf.string}
        return tf.io.RaggedFeature(kinds[column.type])
    if column.type == "float":
        return tf.io.FixedLenFeature([], tf.float32, default_value=float("nan"))
    if column.type == "string":
        return tf.io.FixedLenFeature([], tf.string, default_value="")
    return tf.io.FixedLenFeature([], tf.int64, default_value=NO_INT)


def _to_numbers(array, kind):
    if kind == "float":
        return pa.array(array, ARROW_TYPES[kind], from_pandas=True)
    return pa.array(array, ARROW_TYPES[kind], mask=array == NO_INT)


def _to_piece(first_row, arrays, schema, names, file) -> RawBatch:
    kinds = {name: schema.columns[name].raw_type for name in names}
    columns = [_to_arrow(arrays[name], kinds[name], file, name, first_row) for name in names]
    return RawBatch(
        first_row, pa.RecordBatch.from_arrays(columns, schema=target_schema(schema, names))
    )


def _to_tolerant_piece(arrays, schema, names, file, rows, bad) -> RawBatch:
    columns = []
    for name in names:
        kind = schema.columns[name].raw_type
        if kind == "string":
            column = pa.array(arrays[name], pa.binary())
            column = pc.if_else(pc.equal(column, b""), None, column)
        else:
            column = _to_numbers(arrays[name], kind)
        columns.append(column)
    batch = pa.RecordBatch.from_arrays(columns, names=list(names))
    return cast_batch(int(rows[0]), batch, schema, names, file, bad, rows)


def _to_arrow(array, kind, file, name, first_row):
    if kind != "string":
        return _to_numbers(array, kind)
    words, numbers = array
    texts = pa.array(words, pa.binary())
    try:
        texts = texts.cast(pa.string())
    except pa.ArrowInvalid as error:
        word = find_uncastable(texts, pa.string())
        row = int(np.flatnonzero(numbers == word)[0])
        raise UserError(
            f"{file.path}: row {first_row + row}, column {name}: "
            f"{words[word]!r:.80} is not UTF-8 text; mend the file"
        ) from error
    # The empty text is no value, and no word.
    is_missing = words == b""
    kept = (np.cumsum(~is_missing) - 1).astype(np.int32)
    return pa.DictionaryArray.from_arrays(
        pa.array(kept[numbers], mask=is_missing[numbers]), texts.filter(pa.array(~is_missing))
    )


def _words(error: Exception) -> str:
    """What TensorFlow says, without the names of the operations of our own that said it."""
    bare = re.sub(r"\{\{.*?\}\}|\[\[.*?\]\]|\[Op:.*", "", error.message, flags=re.S)
    return " ".join(bare.split())


def _explain(words: str) -> str:
    found = re.search(r"Key: (\S+?), Index: \d+\. (.*)", words)
    return f"column {found.group(1)}: {found.group(2)}" if found else words[:160]


def iterate_columns(file: DataFile, first_records: int) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file that has no schema: columns as they are found.

    Args:
        file: the file.
        first_records: records from which the features and their types are taken; a feature that
            appears only later is not seen.

    Yields:
        batches with a column of float64, int64 or string for each feature that holds at most one
        value a record, of lists for any other.

    Raises:
        UserError: the file is damaged, or holds no tf.Example.
    """
    tf = bridge.tf
    spec: dict = {}
    row = num_bytes = 0
    try:
        for record in open_records(file).take(first_records).as_numpy_iterator():
            _learn_features(tf.train.Example.FromString(record), spec)
        features = {name: tf.io.RaggedFeature(kind) for name, kind in spec.items()}
        if not features:
            raise UserError(f"{file.path}: its records have no features; give tf.Example records")
        for serialized in open_records(file).batch(BATCH_ROWS).as_numpy_iterator():
            parsed = tf.io.parse_example(serialized, features)
            arrays = [_ragged_to_arrow(parsed[name]) for name in features]
            yield pa.RecordBatch.from_arrays(arrays, names=list(features))
            row += len(serialized)
            num_bytes += int(_count_bytes(serialized))
        _check_whole(file, num_bytes, row)
    except tf.errors.OpError as error:
        raise UserError(
            f"{file.path}: damaged after row {row}: {_explain(_words(error))}; write it again"
        ) from error
    except pa.ArrowInvalid as error:
        raise UserError(f"{file.path}: rows from {row + 1}: not UTF-8 text; mend it") from error
    except Exception as error:
        # protobuf's DecodeError has had several homes.
        if type(error).__name__ != "DecodeError":
            raise
        raise UserError(f"{file.path}: its records are no tf.Example; give such a file") from error


def _learn_features(example, spec: dict) -> None:
    tf = bridge.tf
    kinds = {"bytes_list": tf.string, "float_list": tf.float32, "int64_list": tf.int64}
    for name, feature in sorted(example.features.feature.items()):
        kind = feature.WhichOneof("kind")
        if kind is not None and name not in spec:
            spec[name] = kinds[kind]


def _ragged_to_arrow(ragged) -> pa.Array:
    values, splits = ragged.values.numpy(), ragged.row_splits.numpy()
    lengths = np.diff(splits)
    flat = pa.array(values, pa.binary()).cast(pa.string()) if values.dtype == object else None
    if flat is None:
        flat = pa.array(values.astype(np.float64) if values.dtype == np.float32 else values)
    if len(lengths) and lengths.max() > 1:
        return pa.ListArray.from_arrays(pa.array(splits.astype(np.int32)), flat)
    positions = pa.array(splits[:-1], mask=lengths == 0)
    return flat.take(positions)
