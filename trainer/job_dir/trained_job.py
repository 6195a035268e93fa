"""What a trained job has left, here or in a bucket: its model's description, and checkpoints."""

import re
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.schema import Schema, Statistics, parse_statistics

# What of a job tells the model, but its variables.
DESCRIPTION = ("config.yaml", "schema.json", "statistics.json")


class Model(NamedTuple):
    """What job_dir holds, but the variables."""

    config: config_lib.Config
    schema: Schema
    statistics: Statistics


def load_model(job_dir: str) -> Model:
    """Reads what a job wrote beside its checkpoints.

    Raises:
        UserError: it is not there.
    """
    folder = Path(job_dir)
    schema = storage.read_json(folder / "schema.json")
    statistics = storage.read_json(folder / "statistics.json")
    if schema is None or statistics is None or not (folder / "config.yaml").is_file():
        raise UserError(
            f"job_dir {job_dir}: no config.yaml, schema.json and statistics.json there; "
            "name the folder of a job that has been trained"
        )
    config = config_lib.load_config(str(folder / "config.yaml"), {})
    return Model(config, Schema.model_validate(schema), parse_statistics(statistics))


def fetch_checkpoints(
    job_dir: str, wanted: Optional[str], every: bool, copies: storage.Copies
) -> list[str]:
    """Paths here of the checkpoints to be evaluated, by step.

    Args:
        job_dir: of the job, on this machine or gs://.
        wanted: a step, or a checkpoint's path; None for the last.
        every: whether all are.
        copies: fetches what is in Cloud Storage.

    Raises:
        UserError: there is none, or not the one wanted; it cannot be fetched.
    """
    folder = job_dir
    if storage.is_remote(wanted):
        folder, _, wanted = wanted.rpartition("/")
        wanted = f"{copies.fetch(folder, '--checkpoint', lambda name: False)}/{wanted}"
    here = copies.fetch(folder, "--job_dir", lambda name: name.endswith(".index"))
    chosen = choose_checkpoints(here, wanted, every)
    stems = {Path(path).name for path in chosen}
    if storage.is_remote(folder):
        copies.fetch(folder, "--job_dir", lambda name: name.partition(".data-")[0] in stems)
    return chosen


def choose_checkpoints(job_dir: str, wanted: Optional[str], every: bool) -> list[str]:
    """Paths of the checkpoints to be evaluated, by step.

    Raises:
        UserError: there is none, or not the one wanted.
    """
    found = {}
    for path in Path(job_dir).glob("*.index"):
        step = re.fullmatch(r".*-(\d+)\.index", path.name)
        if step:
            found[int(step.group(1))] = str(path.with_suffix(""))
    steps = sorted(found)
    if wanted and Path(f"{wanted}.index").is_file():
        return [wanted]
    if not steps:
        raise UserError(f"job_dir {job_dir}: holds no checkpoint; train first")
    if wanted:
        if not wanted.isdigit() or int(wanted) not in found:
            raise UserError(
                f"--checkpoint={wanted}: no such checkpoint; there are those of the steps "
                f"{', '.join(map(str, steps))}"
            )
        return [found[int(wanted)]]
    return [found[step] for step in steps] if every else [found[steps[-1]]]
