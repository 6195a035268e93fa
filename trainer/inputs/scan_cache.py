"""Caches the result of a scan for the next run over the same files."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Callable, Optional

from trainer import config as config_lib
from trainer.console import Console
from trainer.environment.variables import find_cache_folder
from trainer.inputs.cache import CacheFolder
from trainer.inputs.file_identity import READING, checksum_code, identify_file
from trainer.inputs.files import DataFile
from trainer.inputs.leakage import load_hashes
from trainer.inputs.scan import Scan, Scanner, scan_files
from trainer.schema import Schema, dump_statistics, parse_statistics


def open_cache(data: config_lib.DataConfig, report: Callable[[str], None]) -> Optional[CacheFolder]:
    """Returns the cache that a configuration names; None if it is off.

    Args:
        data: the folder and its size.
        report: called with a line if the folder cannot be used.
    """
    if data.cache == "off":
        return None
    if data.cache == "auto":
        folder = find_cache_folder("estimator_trainer")
        return CacheFolder(str(folder), data.cache_max_gb * 1e9, report, is_private=True)
    return CacheFolder(data.cache, data.cache_max_gb * 1e9, report)


def scan_or_load(
    files: Sequence[DataFile],
    schema: Schema,
    data: config_lib.DataConfig,
    console: Console,
    cache: Optional[CacheFolder],
    scan: Optional[Scanner] = None,
) -> tuple[Scan, bool]:
    """Returns the scan of some files, from the cache if it is in the cache.

    The result of a failed scan is not cached.

    Args:
        files: what to read.
        schema: columns and types.
        data: delimiter and header of CSV files, and the number of bad rows tolerated.
        console: shows progress.
        cache: stores scans; None: no cache is used.
        scan: reads the files elsewhere; None: this process reads them.

    Returns:
        the scan, and whether it was read from the cache.

    Raises:
        UserError: a file or a value does not fit the schema.
    """
    if cache is None:
        return scan_files(files, schema, data, console, scan), False
    key = _build_key(files, schema, data)
    kept = cache.read_note(key)
    if kept is not None:
        return _parse(kept, files), True
    found = scan_files(files, schema, data, console, scan)
    # If the files have changed during the scan, their key has changed too.
    if _build_key(files, schema, data) == key:
        cache.write_note(key, _dump(found, files))
    return found, False


def _build_key(files: Sequence[DataFile], schema: Schema, data: config_lib.DataConfig) -> str:
    parts = {
        "files": [identify_file(file) for file in files],
        "reading": data.model_dump(mode="json", include=READING),
        "schema": schema.model_dump(mode="json"),
        "code": checksum_code(),
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
    read = {
        "statistics": statistics,
        "rows": rows,
        "bad_rows": tuple(kept["bad_rows"]),
        "hashes": load_hashes(kept["hashes"]),
        "leaks": tuple(kept["leaks"]),
    }
    return Scan(**{**kept, **read})
