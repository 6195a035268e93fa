"""The records of a TFRecord file, and where it is damaged."""

import gzip
import re
import zlib
from typing import Any

import estimator_bridge as bridge
from trainer.errors import UserError
from trainer.inputs.files import DataFile

# Bytes that the file format adds to each record: its length and two checksums (see
# tensorflow/core/lib/io/record_writer.h).
FRAME_BYTES = 16
CHUNK_BYTES = 1 << 20


def open_records(file: DataFile) -> Any:
    """Returns the serialized records of a file as a tf.data.Dataset of string scalars.

    Args:
        file: what to read.
    """
    return bridge.tf.data.TFRecordDataset(
        file.local_path, compression_type="GZIP" if file.gzipped else ""
    )


class Progress:
    """Counts the records and bytes that have been read from a file.

    Attributes:
        rows: number of records.
        bytes: size of these records in the uncompressed file.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0

    def add(self, rows: int, num_bytes: int) -> None:
        """Counts records.

        Args:
            rows: number of records.
            num_bytes: their size.
        """
        self.rows += rows
        self.bytes += num_bytes


def count_bytes(serialized: Any) -> Any:
    """Returns the size that records have in a file, in bytes: int64 scalar.

    Args:
        serialized: the records, strings [batch].
    """
    tf = bridge.tf
    lengths = tf.strings.length(serialized) + FRAME_BYTES
    return tf.reduce_sum(tf.cast(lengths, tf.int64))


def check_complete(file: DataFile, progress: Progress) -> None:
    """Checks that a gzip file does not end between two records, which TensorFlow does not detect.

    Args:
        file: the file.
        progress: counts its records, all of which have been read.

    Raises:
        UserError: it does.
    """
    if not file.gzipped:
        return
    with open(file.local_path, "rb") as stream:
        # A gzip member ends with its uncompressed length, modulo 2^32 (RFC 1952).
        size = stream.seek(0, 2)
        stream.seek(max(0, size - 4))
        if size > 4 and int.from_bytes(stream.read(), "little") == progress.bytes % 2**32:
            return
    # The file is damaged, or it has several gzip members.
    num_bytes = 0
    reason = "it holds more than its records"
    try:
        with gzip.open(file.local_path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                num_bytes += len(chunk)
    except (EOFError, OSError, zlib.error) as error:
        num_bytes, reason = -1, str(error)
    if num_bytes != progress.bytes:
        raise UserError(
            f"{file.path}: damaged after row {progress.rows}: {reason}; write the file again"
        )


def describe_damage(file: DataFile, progress: Progress, error: Any) -> UserError:
    """Returns the exception for a damaged file.

    Args:
        file: the file.
        progress: counts the records of all batches before the damage.
        error: TensorFlow's error.
    """
    rows = progress.rows
    try:
        for _ in open_records(file).skip(rows).as_numpy_iterator():
            rows += 1
    except bridge.tf.errors.OpError:
        pass
    reason = clean_message(error).replace("' failed with ", ": ")[:160]
    return UserError(f"{file.path}: damaged after row {rows}: {reason}; write the file again")


def clean_message(error: Any) -> str:
    """Returns the message of a TensorFlow error without the names of operations.

    Args:
        error: the error.
    """
    bare = re.sub(r"\{\{.*?\}\}|\[\[.*?\]\]|\[Op:.*", "", error.message, flags=re.S)
    # TensorFlow quotes a record that it cannot parse.
    return " ".join(bare.partition(", value: ")[0].split())
