"""Compares a job_dir's model with the one to be trained, and stores and deletes its description."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pydantic

from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.job_dir.newest import latest_checkpoint
from trainer.job_dir.trained_job import describe_missing, find_missing
from trainer.job_layout import (
    CLUSTER_FOLDER,
    CONFIG,
    DATA_FOLDER,
    LOCK,
    MODEL_FILES,
    SCHEMA,
    STATISTICS,
    STUDY,
    WRITER,
)
from trainer.schema import (
    Schema,
    Statistics,
    dump_public_statistics,
    hide_private,
    parse_statistics,
)
from trainer.storage.files import remove

# Settings of model and schema that do not affect the variables. A resumed run may change them.
CHANGEABLE = re.compile(
    r"model\.(dropout|engine|batch_norm_momentum|base_weights)"
    r"|model\.(n_trees|batches_per_layer|tree_complexity|pruning|min_node_weight)"
    r"|schema\.(missing_values|key)(\.|$)"
    r"|schema\.columns\..+\.(private|growing\.max_age_steps)$"
    r"|schema\.(label|more_labels\.\d+)\.(class_weights|importance)"
)
# Characters of a value in a message.
MOST_SHOWN = 60
# What is not a job's own, and is not deleted with it.
KEPT = {storage.VERSIONS_STATE: "the state of a served model", STUDY: "a search"}
# Type of model → the options that name its optimizers. A user's own model chooses its own.
OPTIMIZERS = {
    "baseline": ("linear_optimizer",),
    "linear": ("linear_optimizer",),
    "dnn": ("optimizer",),
    "residual": ("optimizer",),
    "rnn": ("optimizer",),
    "image": ("optimizer",),
    "boosted_trees": (),
    "wide_deep": ("optimizer", "linear_optimizer"),
}


def load_statistics(job_dir: str, schema: Schema) -> Optional[Statistics]:
    """Returns the statistics with which the model in job_dir was built; None without a checkpoint.

    A resumed model keeps its normalisation.

    Args:
        job_dir: the job's folder.
        schema: of the data; a column may be private since then.
    """
    stored = storage.read_json(Path(job_dir) / STATISTICS)
    if stored is None or latest_checkpoint(job_dir) is None:
        return None
    return hide_private(parse_statistics(stored, str(Path(job_dir) / STATISTICS)), schema)


def save_inputs(config: config_lib.Config, schema: Schema, statistics: Statistics) -> None:
    """Writes config.yaml, schema.json and statistics.json, which describe the model.

    Args:
        config: the resolved configuration, including job_dir.
        schema: of the data.
        statistics: of the training data.
    """
    folder = Path(config.require_job_dir())
    storage.write_text(folder / CONFIG, config_lib.to_yaml(config))
    storage.write_json(folder / SCHEMA, schema.model_dump(mode="json"))
    storage.write_json(folder / STATISTICS, dump_public_statistics(statistics, schema))


def check_same_model(config: config_lib.Config, schema: Schema) -> None:
    """Refuses to resume a checkpoint of another model.

    Args:
        config: the configuration of the training, including job_dir.
        schema: of the data.

    Raises:
        UserError: settings that affect the variables differ, or a file that describes the model of
            the checkpoint is missing. The message names them.
    """
    job_dir = config.require_job_dir()
    folder = Path(job_dir)
    if not _has_model(job_dir):
        return
    stored = config_lib.read_yaml(folder / CONFIG, "job_dir")
    resolved = config.model_dump(mode="json")
    # The slot variables of another optimizer are not in the checkpoint.
    optimizers = OPTIMIZERS.get(config.model.type, ())
    train = storage.get_object(stored, "train", folder / CONFIG)
    model = storage.get_object(stored, "model", folder / CONFIG)
    defaults = config_lib.TrainConfig.model_validate({})
    before = {
        "model": _complete(config_lib.ModelConfig, model),
        "schema": _complete(Schema, storage.read_json(folder / SCHEMA) or {}),
        "train": {name: train.get(name, getattr(defaults, name)) for name in optimizers},
    }
    now = {
        "model": resolved["model"],
        "schema": _complete(Schema, schema.model_dump(mode="json")),
        "train": {name: resolved["train"][name] for name in optimizers},
    }
    different = [
        sentence for name, sentence in _differences(before, now) if not CHANGEABLE.match(name)
    ]
    if different:
        raise UserError(
            f"job_dir {job_dir}: its checkpoint is of another model: "
            f"{'; '.join(different[:5])}; set that back, use another --job_dir (which begins with "
            f"these weights if you add --train.warm_start={job_dir}), or start over with "
            f"--fresh={job_dir}, which deletes the old job"
        )


def _has_model(job_dir: str) -> bool:
    """Returns whether there is a checkpoint of a model that this package has described.

    Raises:
        UserError: a part of the description is missing.
    """
    if latest_checkpoint(job_dir) is None:
        return False
    missing = find_missing(job_dir)
    if missing and len(missing) < len(MODEL_FILES):
        # With new statistics, for instance, the model would compute something else.
        raise describe_missing(job_dir, missing)
    return not missing


def load_split(config: config_lib.Config, schema: Schema) -> tuple[str, ...]:
    """Returns the columns by which the rows of the job in job_dir are divided; () for a new job.

    Args:
        config: the configuration of the training, including job_dir, eval_share or eval_after.
        schema: of the data.

    Raises:
        UserError: the job's rows were divided in another way, so that it has trained on rows which
            would now be evaluation rows.
    """
    job_dir, data = config.require_job_dir(), config.data
    folder = Path(job_dir)
    if not _has_model(job_dir):
        return ()
    stored = storage.get_object(
        config_lib.read_yaml(folder / CONFIG, "job_dir"), "data", folder / CONFIG
    )
    stored_by = stored.get("eval_by") or []
    if not isinstance(stored_by, list):
        raise storage.describe_damage(folder / CONFIG, f"data.eval_by: got {stored_by!r:.60}")
    by = data.eval_by or tuple(stored_by)
    known = _complete(Schema, storage.read_json(folder / SCHEMA) or {})
    before = {
        "data.eval_share": stored.get("eval_share"),
        "data.eval_after": stored.get("eval_after"),
        "data.eval_by": tuple(stored_by),
        "schema.missing_values": known.get("missing_values"),
    }
    now = {
        "data.eval_share": data.eval_share,
        "data.eval_after": data.eval_after,
        "data.eval_by": by,
        "schema.missing_values": list(schema.missing_values),
    }
    different = [sentence for _, sentence in _differences(before, now)]
    if different:
        raise UserError(
            f"job_dir {job_dir}: it has trained on rows that would now be evaluation rows: "
            f"{'; '.join(different)}; set that back, use another --job_dir, or start over with "
            f"--fresh={job_dir}, which deletes the old job"
        )
    return by


def _complete(kind: type[pydantic.BaseModel], stored: dict[str, Any]) -> dict[str, Any]:
    """Adds to stored settings the defaults of options that an older version did not have.

    From the columns of a schema, only those that the model reads or predicts are kept.
    """
    try:
        read = kind.model_validate(stored)
    except pydantic.ValidationError:
        # The settings contain options that this version does not have. The comparison reports them.
        return stored
    values = read.model_dump(mode="json")
    if isinstance(read, Schema):
        names = {*read.used_features, *read.label_columns}
        values["columns"] = {name: values["columns"][name] for name in names}
    return values


def _differences(before: Any, now: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields (name, sentence) for each setting that differs."""
    if _are_nodes(before) and _are_nodes(now) and len(before) == len(now):
        before, now = dict(enumerate(before)), dict(enumerate(now))
    if not (isinstance(before, dict) and isinstance(now, dict)):
        if before != now:
            yield name, f"{name} {_compare(before, now)}"
        return
    for key in dict.fromkeys([*before, *now]):
        inner = f"{name}.{key}" if name else str(key)
        if key not in before:
            yield inner, f"{inner} was not set, now {_shorten(now[key])}"
        elif key not in now:
            yield inner, f"{inner} was {_shorten(before[key])}, now it is not set"
        else:
            yield from _differences(before[key], now[key], inner)


def _compare(before: Any, now: Any) -> str:
    """Describes a change; of long lists, which values have changed: they may begin alike."""
    shortened = f"was {_shorten(before)}, now {_shorten(now)}"
    if not (isinstance(before, list) and isinstance(now, list) and "..." in shortened):
        return shortened
    added = [value for value in now if value not in before]
    removed = [value for value in before if value not in now]
    changes = [
        f"{word} ({_shorten(values)[1:].removesuffix(']')})"
        for word, values in (
            (f"has {len(added):,} new value(s)", added),
            (f"lacks {len(removed):,}", removed),
        )
        if values
    ]
    return " and ".join(changes) or "has its values in another order"


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _are_nodes(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def check_warm_start(job_dir: str, warm_start: Optional[str]) -> None:
    """Refuses a warm start that a checkpoint in job_dir would silently override.

    A job that was started with the same warm start resumes from its own checkpoint.

    Args:
        job_dir: the job's folder.
        warm_start: the option train.warm_start.

    Raises:
        UserError: job_dir contains a checkpoint of a job that was started without this warm start.
    """
    checkpoint = latest_checkpoint(job_dir)
    if not warm_start or checkpoint is None:
        return
    path = Path(job_dir) / CONFIG
    stored = config_lib.read_yaml(path, "job_dir") if path.exists() else {}
    if storage.get_object(stored, "train", path).get("warm_start") != warm_start:
        raise UserError(
            f"train.warm_start {warm_start}: job_dir {job_dir} already holds "
            f"{Path(checkpoint).name}, which would be resumed instead; remove train.warm_start, or "
            "use another --job_dir"
        )


def delete_job(job_dir: str, named: str) -> None:
    """Deletes everything in job_dir, so that the job starts over.

    Args:
        job_dir: the job's folder.
        named: the folder that the user has asked to delete.

    Raises:
        UserError: `named` is another folder, or job_dir is not the folder of a job.
    """
    for child in list_doomed(job_dir, named):
        remove(child)


def list_doomed(job_dir: str, named: str) -> list[Path]:
    """Returns the files and folders that `delete_job` deletes; deletes nothing.

    Args:
        job_dir: the job's folder.
        named: the folder that the user has asked to delete.

    Raises:
        UserError: `named` is another folder, or job_dir is not the folder of a job, or contains a
            served model or a search.
    """
    folder = Path(job_dir)
    if Path(named).resolve() != folder.resolve():
        raise UserError(
            f"--fresh={named}: names what will be deleted and must be the job_dir, {job_dir}"
        )
    # The new job has already written these.
    children = [
        child
        for child in (folder.iterdir() if folder.exists() else ())
        if child.name not in (CLUSTER_FOLDER, DATA_FOLDER, WRITER, LOCK)
    ]
    if children and not (folder / CONFIG).exists():
        raise UserError(
            f"--fresh={named}: holds no {CONFIG}, so it is not a job's folder; delete it yourself"
        )
    kept = find_kept(folder)
    if kept is not None:
        raise UserError(
            f"--fresh={named}: would delete {kept}, {KEPT[kept.name]}; move its folder elsewhere, "
            "or name another --job_dir"
        )
    return children


def find_kept(folder: Path) -> Optional[Path]:
    """Returns a file of a served model or a search in a job's folder; None if there is none.

    Args:
        folder: the job's folder.
    """
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in KEPT:
            if name in names:
                return Path(parent, name)
    return None
