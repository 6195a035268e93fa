"""Puts the scans and the encoded rows of a job's data into the cache."""

import contextlib
from collections.abc import Sequence
from typing import Any

from trainer import config as config_lib
from trainer import storage
from trainer.console import Console
from trainer.engines.dividing import Parts, apply_parts, find_parts
from trainer.engines.options import LOCAL, Engine
from trainer.engines.running import run_tasks
from trainer.engines.work import PassWork, Together
from trainer.errors import UserError
from trainer.inputs.bucket_cache import AnyStage, Cache
from trainer.inputs.encoded import EncodedRows
from trainer.inputs.files import DataFile
from trainer.inputs.scan import Scanned, is_keyed
from trainer.inputs.scan_cache import load_scan, open_cache, scan_or_load
from trainer.inputs.stretches import describe_dialect
from trainer.models.fused.engine import choose_engine
from trainer.passes.contract import Piece
from trainer.passes.planning import plan_tasks
from trainer.passes.scan_pass import ScanPass
from trainer.schema import Schema, load_job_schema, resolve_defaults
from trainer.training.encode_work import EncodeWork
from trainer.training.job import (
    Inputs,
    Job,
    build_source,
    encode_sources,
    find_inputs,
    prepare_inputs,
)
from trainer.training.recipe import Recipe
from trainer.training.row_files import identify_encoding

TRAINING, EVALUATION = "training", "evaluation"


def prepare_data(
    config: config_lib.Config, engine: Engine, console: Console, scan_only: bool
) -> None:
    """Checks and encodes the data of a job.

    Args:
        config: of the job, including job_dir.
        engine: what reads the files.
        console: shows progress.
        scan_only: whether the rows are not encoded.

    Raises:
        UserError: the data or the options are wrong, the cache cannot be written, or the engine
            fails.
    """
    schema = load_job_schema(config.data, storage.fetch_data)
    cache = open_cache(config.data, console.log, is_required=True)
    if cache is None:
        raise UserError("data.cache: off: there is no place for the result; name a folder")
    # Not only after hours of reading.
    cache.require_writable()
    inputs = find_inputs(config, schema, console)
    parts = _scan(inputs, cache, engine, console)
    job = prepare_inputs(inputs, console)._replace(cache=cache)
    if scan_only:
        return
    chosen = choose_engine(job.config, schema, job.statistics)
    if not chosen.is_fused:
        reason = f"does not support {chosen.reason}" if chosen.reason else "is not used"
        console.log(f"cache: the rows are not encoded, because the fused engine {reason}")
        return
    _encode(job, parts, engine, console)


def _scan(inputs: Inputs, cache: Cache, engine: Engine, console: Console) -> Parts:
    """Puts the scans of the training and the evaluation files into the cache.

    Returns:
        the shares of large files.
    """
    data, schema = inputs.config.data, inputs.schema
    found = {TRAINING: inputs.train_files, EVALUATION: inputs.eval_files}
    every = {file.path: file for files in found.values() for file in files}
    parts = find_parts(list(every.values()), describe_dialect(data), engine)
    missing = {
        what: files
        for what, files in found.items()
        if load_scan(files, schema, data, cache) is None
    }
    # Both in one run of the engine, because starting one takes long.
    runs: dict[tuple[str, ...], dict[str, Scanned]] = {}

    for what, files in missing.items():

        def scan(times: Sequence[str], what: str = what) -> Scanned:
            key = tuple(times)
            if key not in runs:
                divided = {name: apply_parts(every, parts) for name, every in missing.items()}
                runs[key] = _scan_all(divided, schema, data, key, engine)
            return runs[key][what]

        here = engine.name == LOCAL
        scan_or_load(files, schema, data, console, cache, None if here else scan)
    return parts


def _scan_all(
    found: dict[str, list[DataFile]],
    schema: Schema,
    data: config_lib.DataConfig,
    times: Sequence[str],
    engine: Engine,
) -> dict[str, Scanned]:
    works = {
        what: PassWork(ScanPass(schema, data, times, is_keyed(files)))
        for what, files in found.items()
    }
    tasks = [(what, task) for what, files in found.items() for task in plan_tasks(files)]
    return run_tasks(Together(works), tasks, "checking the data", engine)


def _encode(job: Job, parts: Parts, engine: Engine, console: Console) -> None:
    sources = {TRAINING: build_source(job, True)}
    # A user's metric_fn may read the raw columns.
    if not job.config.eval.metric_fn:
        sources[EVALUATION] = build_source(job, False)
    encoded = dict(zip(sources, encode_sources(job, list(sources.values()))))
    _check_room(job.config.data, list(encoded.values()))
    missing = {what: rows for what, rows in encoded.items() if not rows.is_cached}
    if engine.name == LOCAL:
        stored = [what for what, rows in missing.items() if rows.store()]
    else:
        stored = _encode_on_engine(job, missing, parts, engine) if missing else []
    for what in missing:
        if what not in stored:
            raise UserError(
                f"data.cache: the {what} rows have not been written: another process writes them, "
                "or the files have changed meanwhile; give the command again"
            )
    for what, rows in encoded.items():
        known = "" if what in missing else ", as before"
        console.log(f"cache: {what} rows: {rows.describe_entry()}{known}")


def _encode_on_engine(
    job: Job, missing: dict[str, EncodedRows], parts: Parts, engine: Engine
) -> list[str]:
    """Encodes rows; returns which are in the cache now."""
    defaults: dict[str, Any] = resolve_defaults(job.schema, job.statistics)
    recipe = Recipe(job.schema, job.statistics, job.config.data, defaults)
    with contextlib.ExitStack() as stack:
        stages: dict[str, AnyStage] = {}
        works: dict[str, EncodeWork] = {}
        tasks: list[tuple[str, list[Piece]]] = []
        for what, rows in missing.items():
            stage = rows.stage()
            if stage is None:
                return []
            stack.enter_context(stage)
            stages[what] = stage
            works[what] = EncodeWork(recipe, stage.folder, identify_encoding(rows.encoder))
            tasks += [(what, task) for task in plan_tasks(apply_parts(rows.files, parts))]
        found = run_tasks(Together(works), tasks, "encoding the rows", engine)
        return [
            what
            for what, rows in missing.items()
            if rows.publish(stages[what], sorted(found[what], key=lambda part: part.name))
        ]


def _check_room(data: config_lib.DataConfig, encoded: Sequence[EncodedRows]) -> None:
    size = sum(rows.num_bytes for rows in encoded)
    if not storage.is_remote(data.cache) and size > data.cache_max_gb * 1e9:
        raise UserError(
            f"data.cache_max_gb: got {data.cache_max_gb:g}: the encoded rows take "
            f"{size / 1e9:.1f} GB; allow more"
        )
