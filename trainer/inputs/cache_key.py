"""What encoded rows depend on, as one short text: where it is equal, so are the rows."""

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.schema import Schema, Statistics, dump_statistics
from trainer.storage.files import checksum_files

# Options that decide how files are read.
READING = {"delimiter", "header", "max_bad_rows"}
# Bytes at either end of a file that are looked at: a change that leaves size and times as they were
# is most often an appended row that took another's place.
ENDS = 65_536


def build_key(source: Any, schema: Schema, encoder: Any) -> str:
    """The key of a source's encoded rows: 40 hexadecimal digits.

    Args:
        source: the RowSource.
        schema: labels and weight.
        encoder: the Encoder.

    Raises:
        UserError: a file is gone.
    """
    encoding = encoder.encoding
    parts = {
        "files": [identify_file(file) for file in source.files],
        "reading": source.data.model_dump(mode="json", include=READING),
        "shard": source.shard,
        "defaults": source.defaults,
        "schema": schema.model_dump(mode="json"),
        "fields": [list(field) for field in encoding.fields],
        "numbers": list(encoding.numbers),
        "statistics": _list_statistics(encoding.statistics, encoding.numbers),
        "encoder": encoder.fingerprint,
        "reader": checksum_files(Path(__file__).parent.glob("*.py")),
    }
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def identify_file(file: DataFile) -> list:
    """Path, format, size, times and checksum of both ends of a file.

    Raises:
        UserError: the file is gone, or cannot be fetched.
    """
    try:
        with open(file.local_path, "rb") as stream:
            status = os.fstat(stream.fileno())
            checksum = zlib.crc32(stream.read(ENDS))
            if status.st_size > ENDS:
                stream.seek(max(ENDS, status.st_size - ENDS))
                checksum = zlib.crc32(stream.read(ENDS), checksum)
    except OSError as error:
        raise UserError(f"{file.path}: {error.strerror}; check the path") from error
    # The second time is that of the last change of the file's entry, which no program can set back.
    times = [status.st_mtime_ns, status.st_ctime_ns]
    return [os.path.abspath(file.path), file.format, file.gzipped, status.st_size, times, checksum]


def _list_statistics(statistics: Statistics, numbers: Any) -> dict:
    return {
        name: seen
        for name, seen in dump_statistics(statistics)["columns"].items()
        if name in numbers
    }
