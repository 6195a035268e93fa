"""Builds the arguments that TFX's Trainer component passes to a trainer_fn, from our options."""

import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from trainer import config as config_lib
from trainer.environment.variables import read_secret
from trainer.errors import UserError
from trainer.schema import load_schema

# TFX writes its schema as a protocol buffer in text format, schema.pbtxt.
PROTO_SUFFIX = ".pbtxt"


def build_trainer_fn_args(config: config_lib.Config, eval_model_dir: str) -> Any:
    """Returns the trainer_fn_args object, which has the attributes of TFX's FnArgs.

    train_files and eval_files are the patterns of data.train and data.eval. serving_model_dir is
    job_dir. hyperparameters and custom_config are the user section; custom_config also contains the
    secrets. Steps that are not set are
    None.

    Args:
        config: job_dir, data, train.max_steps, eval.steps, tfx and user.
        eval_model_dir: folder for a model that is exported for evaluation.

    Raises:
        UserError: tfx.transform_output or tfx.base_model does not exist.
    """
    for name in ("transform_output", "base_model"):
        path = getattr(config.tfx, name)
        if path is not None and not Path(path).exists():
            raise UserError(f"tfx.{name}: nothing at {path!r}; check the path")
    transform = config.tfx.transform_output
    graph = None if transform is None else str(Path(transform) / "transform_fn")
    return types.SimpleNamespace(
        working_dir=config.job_dir,
        train_files=_patterns(config.data.train),
        eval_files=_patterns(config.data.eval),
        train_steps=config.train.max_steps,
        eval_steps=config.eval.steps,
        schema_path=config.data.schema_file,
        schema_file=config.data.schema_file,
        transform_output=transform,
        transform_graph_path=graph,
        data_accessor=None,
        serving_model_dir=config.job_dir,
        eval_model_dir=eval_model_dir,
        model_run_dir=config.job_dir,
        base_model=config.tfx.base_model,
        hyperparameters=dict(config.user),
        custom_config={**config.user, **_read_secrets(config)},
    )


def _read_secrets(config: config_lib.Config) -> dict[str, str]:
    return {name: read_secret(name, variable) for name, variable in config.secret.items()}


def _patterns(given: Sequence[str]) -> list[str]:
    # TFX accepts only patterns. A folder is replaced by the pattern of all files in it.
    return [str(Path(one) / "*") if Path(one).is_dir() else one for one in given]


def read_schema(path: Optional[str]) -> Any:
    """Returns the schema that is passed to the trainer_fn.

    Args:
        path: a schema.pbtxt, a YAML file, or None.

    Returns:
        A tensorflow_metadata Schema, a trainer.schema.Schema, or None.

    Raises:
        UserError: the file cannot be read, or tensorflow_metadata is not installed.
    """
    if path is None:
        return None
    if not path.endswith(PROTO_SUFFIX):
        return load_schema(path)
    try:
        from google.protobuf import text_format
        from tensorflow_metadata.proto.v0 import schema_pb2
    except ImportError as error:
        raise UserError(
            f"data.schema_file {path}: a {PROTO_SUFFIX} schema needs tensorflow_metadata "
            f"({error}); pip install tensorflow-metadata"
        ) from error
    try:
        return text_format.Parse(Path(path).read_text(encoding="utf-8"), schema_pb2.Schema())
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise UserError(f"data.schema_file {path}: {' '.join(str(error).split())}") from error
