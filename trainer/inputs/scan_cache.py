"""Caches the result of a scan for the next run over the same files."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Callable, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.console import Console
from trainer.environment.variables import find_cache_folder
from trainer.inputs.bucket_cache import BucketCache, Cache
from trainer.inputs.cache import CacheFolder
from trainer.inputs.file_identity import READING, checksum_code, identify_file
from trainer.inputs.files import DataFile
from trainer.inputs.leakage import load_hashes
from trainer.inputs.scan import Scan, Scanner, scan_files
from trainer.schema import Schema, dump_statistics, parse_statistics


def open_cache(
    data: config_lib.DataConfig, report: Callable[[str], None], *, is_required: bool = False
) -> Optional[Cache]:
    """Returns the cache that a configuration names; None if it is off.

    Args:
        data: the folder and its size.
        report: called with a line if the folder cannot be used.
        is_required: whether it is an error if the cache cannot be written.
    """
    if data.cache == "off":
        return None
    if storage.is_remote(data.cache):
        return BucketCache(data.cache, report, is_writable=is_required)
    folder, is_private = data.cache, data.cache == "auto"
    if is_private:
        folder = str(find_cache_folder("estimator_trainer"))
    return CacheFolder(
        folder, data.cache_max_gb * 1e9, report, is_private=is_private, is_required=is_required
    )


def scan_or_load(
    files: Sequence[DataFile],
    schema: Schema,
    data: config_lib.DataConfig,
    console: Console,
    cache: Optional[Cache],
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
    known = _load(key, files, cache)
    if known is not None:
        return known, True
    found = scan_files(files, schema, data, console, scan)
    # If the files have changed during the scan, their key has changed too.
    if _build_key(files, schema, data) == key:
        cache.write_note(key, _dump(found, files))
    return found, False


def load_scan(
    files: Sequence[DataFile], schema: Schema, data: config_lib.DataConfig, cache: Cache
) -> Optional[Scan]:
    """Returns the scan of some files if it is in the cache.

    Args:
        files: what was read.
        schema: columns and types.
        data: delimiter and header of CSV files, and the number of bad rows tolerated.
        cache: stores scans.

    Raises:
        UserError: a file does not exist any more.
    """
    return _load(_build_key(files, schema, data), files, cache)


def _load(key: str, files: Sequence[DataFile], cache: Cache) -> Optional[Scan]:
    kept = cache.read_note(key)
    return None if kept is None else _parse(kept, files)


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
