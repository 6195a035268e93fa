"""Reads the model and the checkpoints of a trained job, on this machine or in a bucket."""

from collections.abc import Sequence
from pathlib import Path
from typing import Callable, NamedTuple, Optional

from estimator_bridge.model_files.checkpoint_paths import find_paths
from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.job_layout import CONFIG, MODEL_FILES, SCHEMA, STATISTICS
from trainer.schema import Schema, Statistics, parse_schema, parse_statistics


class Model(NamedTuple):
    """The description of a trained model, without its variables.

    Attributes:
        config: the configuration that it was trained with.
        schema: of its data.
        statistics: of its training data.
    """

    config: config_lib.Config
    schema: Schema
    statistics: Statistics


def load_model(job_dir: str, allow_code: bool, log: Callable[[str], None]) -> Model:
    """Returns the description of the model that a job has written beside its checkpoints.

    Args:
        job_dir: the job's folder on this machine.
        allow_code: whether code that the job's configuration names may be imported.
        log: writes a line.

    Raises:
        UserError: a file is missing or invalid, or names code that may not be imported.
    """
    folder = Path(job_dir)
    schema = storage.read_json(folder / SCHEMA)
    statistics = storage.read_json(folder / STATISTICS)
    if schema is None or statistics is None or not (folder / CONFIG).is_file():
        raise describe_missing(job_dir, find_missing(job_dir))
    config = config_lib.load_config(str(folder.absolute() / CONFIG), {})
    _check_code(job_dir, config, allow_code, log)
    return Model(
        config,
        parse_schema(schema, str(folder / SCHEMA)),
        parse_statistics(statistics, str(folder / STATISTICS)),
    )


def find_missing(job_dir: str) -> list[str]:
    """Returns which of the files that describe a model are missing in the folder of a job.

    Args:
        job_dir: the job's folder on this machine.
    """
    return [name for name in MODEL_FILES if not Path(job_dir, name).is_file()]


def describe_missing(job_dir: str, missing: Sequence[str]) -> UserError:
    """Returns the error for a folder without files that describe a model.

    Args:
        job_dir: the folder.
        missing: the files.
    """
    remedy = "name the folder of a job that has been trained"
    if len(missing) < len(MODEL_FILES):
        # The config.yaml of an export is only a part of the job's.
        exported = [name for name in missing if name != CONFIG]
        among = f"; exports of the job have {' and '.join(exported)} in assets.extra"
        remedy = f"restore from a copy what is missing{among if exported else ''}"
    return UserError(f"job_dir {job_dir}: no {' and '.join(missing)} there; {remedy}")


def _check_code(
    job_dir: str, config: config_lib.Config, allow_code: bool, log: Callable[[str], None]
) -> None:
    """Refuses the code that an evaluation would import, unless the user allows it."""
    named = []
    if config.model.type not in config_lib.MODEL_TYPES:
        named.append(f"model.type {config.model.type}")
    if config.eval.metric_fn:
        named.append(f"eval.metric_fn {config.eval.metric_fn}")
    if not named:
        return
    names = " and ".join(named)
    if not allow_code:
        raise UserError(
            f"job_dir {job_dir}: its {CONFIG} names code, {names}, which would run here; add "
            "--allow_code if you trust this job"
        )
    log(f"--allow_code: running code that the job's {CONFIG} names: {names}")


def fetch_checkpoints(
    job_dir: str, wanted: Optional[str], every: bool, copies: storage.Copies
) -> list[str]:
    """Returns the local paths of the checkpoints to evaluate, by step.

    Args:
        job_dir: of the job, on this machine or gs://.
        wanted: a step, or the path of a checkpoint; None for the newest.
        every: whether to fetch all checkpoints.
        copies: fetches files from Cloud Storage.

    Raises:
        UserError: there is no checkpoint, the wanted one is missing, or it cannot be fetched.
    """
    folder = job_dir
    if wanted is not None and storage.is_remote(wanted):
        folder, _, wanted = wanted.rpartition("/")
        wanted = f"{copies.fetch(folder, '--checkpoint', lambda name: False)}/{wanted}"
    local = copies.fetch(folder, "--job_dir", lambda name: name.endswith(".index"))
    chosen = _choose_checkpoints(local, wanted, every)
    stems = {Path(path).name for path in chosen}
    if storage.is_remote(folder):
        copies.fetch(folder, "--job_dir", lambda name: name.partition(".data-")[0] in stems)
    return chosen


def _choose_checkpoints(job_dir: str, wanted: Optional[str], every: bool) -> list[str]:
    """Returns the paths of the checkpoints to evaluate, by step.

    Args:
        job_dir: folder of the checkpoints.
        wanted: a step, or the path of a checkpoint; None for the newest.
        every: whether to return all checkpoints.

    Raises:
        UserError: there is no checkpoint, or the wanted one is missing.
    """
    if wanted and Path(f"{wanted}.index").is_file():
        return [wanted]
    # Jobs of other programs may name their checkpoints differently.
    paths = find_paths(job_dir, None)
    steps = sorted(paths)
    if not steps:
        raise UserError(f"job_dir {job_dir}: holds no checkpoint; train first")
    if wanted:
        if not wanted.isdecimal() or int(wanted) not in paths:
            raise UserError(
                f"--checkpoint={wanted}: no such checkpoint; choose one of the steps "
                f"{', '.join(map(str, steps))}"
            )
        return [paths[int(wanted)]]
    return [paths[step] for step in steps] if every else [paths[steps[-1]]]
