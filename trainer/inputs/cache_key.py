"""Computes the keys of cached rows: sources with equal keys have equal rows."""

import hashlib
import json
from typing import Any

from trainer.features.numpy_encoder import Encoder
from trainer.inputs.dataset import RowSource
from trainer.inputs.file_identity import READING, checksum_code, identify_file
from trainer.schema import Schema, Statistics, dump_statistics


def build_key(source: RowSource, schema: Schema, encoder: Encoder) -> str:
    """Returns the key of a source's encoded rows, 40 hexadecimal digits.

    Args:
        source: the rows.
        schema: labels and weight.
        encoder: encodes the rows.

    Raises:
        UserError: a file does not exist any more.
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
        "code": checksum_code(),
    }
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _list_statistics(statistics: Statistics, numbers: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: seen
        for name, seen in dump_statistics(statistics)["columns"].items()
        if name in numbers
    }
