"""`trainer.train`: trains a job in this process."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional, Union

from trainer import config as config_lib
from trainer import job_layout, storage
from trainer import schema as schema_lib
from trainer.api import tables
from trainer.api.jobs import Host, run_in_workspace
from trainer.api.runs import Run, read_run
from trainer.api.schemas import InferredSchema
from trainer.config.flags import CommandLine, list_aliases
from trainer.errors import UserError
from trainer.signals import Interrupted, SignalWatch

# Words in a mapping of options that are not options of the configuration.
_WORDS = ("hparams", "fresh", "reuse")
Data = Union[tables.Table, tables.Files]
SchemaLike = Union[str, Path, Mapping[str, Any], InferredSchema, schema_lib.Schema]


def train(
    config: Union[str, Path, Mapping[str, Any], config_lib.Config],
    train_data: Optional[Data] = None,
    eval_data: Optional[Data] = None,
    *,
    schema: Optional[SchemaLike] = None,
    progress: bool = True,
) -> Run:
    """Trains, evaluates and exports a model, as `python -m trainer.task` does.

    A job whose folder contains a checkpoint continues from it. Ctrl-C, or the interrupt of a
    notebook's kernel, saves a checkpoint first.

    Args:
        config: options, by the names of the command's flags without dashes, such as
            {"job_dir": "jobs/first", "train.epochs": 2, "learning_rate": 0.1}; sections may also be
            mappings. "hparams" names a preset or a YAML file; "fresh" and "reuse" have the meaning
            of the flags. Or the path of a YAML file; or a Config.
        train_data: the training data: files, or a table, which is stored in job_dir/data. None:
            the option data.train.
        eval_data: the evaluation data, in the same way.
        schema: result of `infer_schema`, a schema file, or its content as a mapping. None: the
            option data.schema_file.
        progress: whether to show the progress.

    Returns:
        The job with its metrics, exports and plots.

    Raises:
        UserError: the data, the options, the model or job_dir are invalid; the message is that of
            the command.
        KeyboardInterrupt: Ctrl-C; the same call continues from the checkpoint.
    """
    command, resolved = resolve(config)
    given = {"train": train_data, "eval": eval_data}
    update: dict[str, Any] = {
        name: _store(data, name, resolved) for name, data in given.items() if data is not None
    }
    if any(data is not None and not tables.is_files(data) for data in given.values()):
        # Tables are Parquet files, whatever the files of the configuration are.
        update["format"] = "auto"
    resolved = resolved.model_copy(update={"data": resolved.data.model_copy(update=update)})
    if not progress and resolved.verbosity == "info":
        resolved = resolved.model_copy(update={"verbosity": "warning"})
    summaries: list[str] = []
    try:
        with SignalWatch() as watch:
            host = Host(watch, summaries.append, is_program=False)
            folder = run_in_workspace(resolved, command, host, _read_schema(schema))
    except Interrupted as end:
        text = f"stopped{end.saved}; the same call resumes from the last checkpoint"
        if end.signal == signal.SIGINT:
            raise KeyboardInterrupt(text) from end
        raise SystemExit(end.status) from end
    return read_run(resolved.require_job_dir(), folder, "".join(summaries))


def resolve(config: Any) -> tuple[CommandLine, config_lib.Config]:
    """Returns the command line that is equivalent to the argument of train, and the configuration.

    Args:
        config: as `train` takes it.

    Raises:
        UserError: an option does not exist, or its value is wrong.
    """
    if isinstance(config, config_lib.Config):
        return CommandLine(None, {}, False, None, False), config
    if isinstance(config, (str, Path)):
        return CommandLine(str(config), {}, False, None, False), config_lib.load_config(
            str(config), {}
        )
    if not isinstance(config, Mapping):
        raise UserError(
            f"config: got {type(config).__name__}; give a mapping of options, or a YAML file"
        )
    aliases = list_aliases()
    words = {name: config[name] for name in _WORDS if config.get(name)}
    overrides = {
        aliases.get(name, name): value for name, value in _flatten(config) if name not in _WORDS
    }
    fresh = words.get("fresh")
    command = CommandLine(
        words.get("hparams"),
        overrides,
        False,
        str(fresh) if fresh is not None else None,
        bool(words.get("reuse")),
    )
    return command, config_lib.load_config(command.hparams, overrides)


def _flatten(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields option → value; a section may be given as a mapping."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            for leaf, part in value.items():
                yield f"{name}.{leaf}", part
        else:
            yield str(name), str(value) if isinstance(value, Path) else value


def _store(data: Data, name: str, config: config_lib.Config) -> tuple[str, ...]:
    """Returns the names of the files of data; writes a table into job_dir."""
    if tables.is_files(data):
        return tuple(tables.list_files(data))
    job_dir = config.require_job_dir()
    argument = f"{name}_data"
    if storage.is_remote(job_dir):
        raise UserError(
            f"{argument}: a table is stored in job_dir, which is {job_dir}; give files, or a local "
            "job_dir"
        )
    table = tables.to_arrow(data, argument)
    return (str(tables.write_table(table, Path(job_dir, job_layout.DATA_FOLDER), name)),)


def _read_schema(schema: Optional[SchemaLike]) -> Optional[schema_lib.Schema]:
    if schema is None or isinstance(schema, schema_lib.Schema):
        return schema
    if isinstance(schema, InferredSchema):
        return schema.schema
    if isinstance(schema, Mapping):
        return schema_lib.parse_schema(dict(schema), "(argument)")
    return schema_lib.load_schema(str(schema), storage.fetch_data)
