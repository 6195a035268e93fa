"""What a scan of some files found, kept for the next run over the same files."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, Optional

from trainer import config as config_lib
from trainer import schema as schema_lib
from trainer.inputs.cache import CacheFolder
from trainer.inputs.cache_key import READING, identify_file
from trainer.inputs.files import DataFile
from trainer.inputs.scan import Scan, scan_files
from trainer.schema import Schema, dump_statistics, parse_statistics
from trainer.storage.files import checksum_files


def scan_or_load(
    files: Sequence[DataFile],
    schema: Schema,
    data: config_lib.DataConfig,
    report: Callable[[str], None],
    cache: Optional[CacheFolder],
) -> tuple[Scan, bool]:
    """What scan.scan_files finds, and whether it was known from the cache.

    Args:
        files, schema, data, report: as of scan_files.
        cache: where it is kept; None: nowhere.

    Raises:
        UserError: a file or a value that the schema does not allow. Such a scan is not kept.
    """
    if cache is None:
        return scan_files(files, schema, data, report), False
    key = _build_key(files, schema, data)
    kept = cache.read_note(key)
    if kept is not None:
        return _parse(kept, files), True
    scan = scan_files(files, schema, data, report)
    # Of files that have changed meanwhile the key tells nothing.
    if _build_key(files, schema, data) == key:
        cache.write_note(key, _dump(scan, files))
    return scan, False


def _build_key(files, schema: Schema, data: config_lib.DataConfig) -> str:
    rooms = (Path(__file__).parent, Path(schema_lib.__file__).parent)
    parts = {
        "files": [identify_file(file) for file in files],
        "reading": data.model_dump(mode="json", include=READING),
        "schema": schema.model_dump(mode="json"),
        "code": checksum_files(path for room in rooms for path in room.glob("*.py")),
    }
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _dump(scan: Scan, files: Sequence[DataFile]) -> dict[str, Any]:
    return {
        **scan._asdict(),
        "statistics": dump_statistics(scan.statistics),
        "rows": [scan.rows[file.path] for file in files],
    }


def _parse(kept: dict[str, Any], files: Sequence[DataFile]) -> Scan:
    rows = {file.path: rows for file, rows in zip(files, kept["rows"])}
    statistics = parse_statistics(kept["statistics"])
    bad_rows = tuple(kept["bad_rows"])
    return Scan(**{**kept, "statistics": statistics, "rows": rows, "bad_rows": bad_rows})
