"""What job_dir already holds: checkpoints, and the model and statistics they are of."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pydantic

from estimator_bridge import tf
from trainer import config as config_lib
from trainer import storage
from trainer.cluster.heartbeat import FOLDER as BOARD
from trainer.errors import UserError
from trainer.schema import Schema, Statistics, dump_statistics, parse_statistics

# Settings of the model and the schema that shape no variable: a resumed run may change them.
FREE = re.compile(
    r"model\.(dropout|engine|batch_norm_momentum|base_weights)"
    r"|schema\.(missing_values|key)(\.|$)"
    r"|schema\.(label|more_labels\.\d+)\.(class_weights|importance)"
)
# Type of model → the options that name its optimizers; a user's own model has its own.
OPTIMIZERS = {
    "baseline": ("linear_optimizer",),
    "linear": ("linear_optimizer",),
    "dnn": ("optimizer",),
    "residual": ("optimizer",),
    "rnn": ("optimizer",),
    "image": ("optimizer",),
    "wide_deep": ("optimizer", "linear_optimizer"),
}

# With a checkpoint, the whole model.
MODEL_FILES = ("config.yaml", "schema.json", "statistics.json")


def latest_checkpoint(job_dir: str) -> Optional[str]:
    """Path of the newest checkpoint in job_dir, None where there is none."""
    try:
        return tf.train.latest_checkpoint(job_dir)
    except ValueError:
        # The file that names it is empty, as a crash may leave it.
        return None


def list_checkpoints(job_dir: str) -> list[str]:
    """Paths of the checkpoints kept in job_dir, oldest first."""
    # By the files: where all checkpoints are kept, TensorFlow's own list names the last alone.
    steps = {}
    for index in Path(job_dir).glob("model.ckpt-*.index"):
        step = index.stem.rpartition("-")[2]
        if step.isdigit():
            steps[int(step)] = str(index.with_suffix(""))
    return [steps[step] for step in sorted(steps)]


def read_step(checkpoint: Optional[str]) -> int:
    """Global step of a checkpoint; 0 for none.

    Raises:
        UserError: the checkpoint cannot be read.
    """
    if checkpoint is None:
        return 0
    try:
        return int(tf.train.load_variable(checkpoint, "global_step"))
    except (tf.errors.OpError, ValueError) as error:
        step = checkpoint.rpartition("-")[2]
        if step.isdigit() and not Path(f"{checkpoint}.index").exists():
            # Training, in another process, has just deleted it.
            return int(step)
        raise UserError(
            f"job_dir: checkpoint {checkpoint} cannot be read ({str(error).splitlines()[0][:80]}); "
            "remove its files and its line in the file named checkpoint, or use another --job_dir"
        ) from error


def load_statistics(job_dir: str) -> Optional[Statistics]:
    """Those the model in job_dir was built with: a resumed model keeps its normalisation."""
    stored = storage.read_json(Path(job_dir) / "statistics.json")
    if stored is None or latest_checkpoint(job_dir) is None:
        return None
    return parse_statistics(stored)


def save_inputs(config: config_lib.Config, schema: Schema, statistics: Statistics) -> None:
    """Writes config.yaml, schema.json and statistics.json: with a checkpoint, the whole model."""
    folder = Path(config.job_dir)
    storage.write_text(folder / "config.yaml", config_lib.to_yaml(config))
    storage.write_json(folder / "schema.json", schema.model_dump(mode="json"))
    storage.write_json(folder / "statistics.json", dump_statistics(statistics))


def check_same_model(config: config_lib.Config, schema: Schema) -> None:
    """Refuses to resume a checkpoint of another model.

    Raises:
        UserError: settings that shape the variables differ; names them.
    """
    folder = Path(config.job_dir)
    if latest_checkpoint(config.job_dir) is None or not (folder / "config.yaml").exists():
        return
    stored = config_lib.read_yaml(folder / "config.yaml", "job_dir")
    resolved = config.model_dump(mode="json")
    # An optimizer has variables of its own, which another one would not find.
    optimizers = OPTIMIZERS.get(config.model.type, ())
    train = stored.get("train") or {}
    defaults = config_lib.TrainConfig()
    before = {
        "model": _describe(config_lib.ModelConfig, stored.get("model") or {}),
        "schema": _describe(Schema, storage.read_json(folder / "schema.json") or {}),
        "train": {name: train.get(name, getattr(defaults, name)) for name in optimizers},
    }
    now = {
        "model": resolved["model"],
        "schema": _describe(Schema, schema.model_dump(mode="json")),
        "train": {name: resolved["train"][name] for name in optimizers},
    }
    differ = [told for name, told in _differences(before, now) if not FREE.match(name)]
    if differ:
        raise UserError(
            f"job_dir {config.job_dir}: its checkpoint is of another model: "
            f"{'; '.join(differ[:5])}; set that back, use another --job_dir, or begin anew with "
            f"--fresh={config.job_dir}, which deletes what is there"
        )


def _describe(kind: type[pydantic.BaseModel], stored: dict[str, Any]) -> dict[str, Any]:
    """Stored settings, with the defaults of those that an older version did not have.

    Of a schema's columns only those are there that the model sees or predicts.
    """
    try:
        read = kind.model_validate(stored)
    except pydantic.ValidationError:
        # It has what this version does not: to be named as it stands.
        return stored
    values = read.model_dump(mode="json")
    if isinstance(read, Schema):
        names = {*read.used_features, *read.label_columns}
        values["columns"] = {name: values["columns"][name] for name in names}
    return values


def _differences(before: Any, now: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields (name, sentence) of the settings that are not the same."""
    if _are_nodes(before) and _are_nodes(now) and len(before) == len(now):
        before, now = dict(enumerate(before)), dict(enumerate(now))
    if not (isinstance(before, dict) and isinstance(now, dict)):
        if before != now:
            yield name, f"{name} was {before!r:.60}, now {now!r:.60}"
        return
    for key in dict.fromkeys([*before, *now]):
        inner = f"{name}.{key}" if name else str(key)
        if key not in before:
            yield inner, f"{inner} was not there, now {now[key]!r:.60}"
        elif key not in now:
            yield inner, f"{inner} was {before[key]!r:.60}, now it is not there"
        else:
            yield from _differences(before[key], now[key], inner)


def _are_nodes(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def check_warm_start(config: config_lib.Config) -> None:
    """Refuses a warm start that a checkpoint in job_dir would silently overrule.

    A job that was begun with the same warm start goes on from its own checkpoint.

    Raises:
        UserError: job_dir holds a checkpoint of a job that was begun otherwise.
    """
    checkpoint = latest_checkpoint(config.job_dir)
    if not config.train.warm_start or checkpoint is None:
        return
    path = Path(config.job_dir) / "config.yaml"
    stored = config_lib.read_yaml(path, "job_dir") if path.exists() else {}
    if (stored.get("train") or {}).get("warm_start") != config.train.warm_start:
        raise UserError(
            f"train.warm_start {config.train.warm_start}: job_dir {config.job_dir} already holds "
            f"{Path(checkpoint).name}, which would be resumed instead; remove train.warm_start, or "
            "use another --job_dir"
        )


def delete_job(job_dir: str, named: str) -> None:
    """Deletes everything in job_dir, for a job to begin anew.

    Args:
        job_dir: the job's folder.
        named: the folder as the user named it to be deleted.

    Raises:
        UserError: `named` is another folder, or job_dir holds something that is no job's.
    """
    folder = Path(job_dir)
    if Path(named).resolve() != folder.resolve():
        raise UserError(
            f"--fresh={named}: names what will be deleted and must be the job_dir, {job_dir}"
        )
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not any(child.name != BOARD for child in folder.iterdir()):
        return
    if not (folder / "config.yaml").exists():
        raise UserError(
            f"--fresh={named}: holds no config.yaml, so it is no job's folder; remove it by hand"
        )
    for child in folder.iterdir():
        if child.name == BOARD:
            # The processes of a cluster are meeting there already.
            continue
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()
