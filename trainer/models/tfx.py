"""What TFX's Trainer component hands to a trainer_fn, made from our options."""

import types
from pathlib import Path
from typing import Any, Optional

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.schema import load_schema

# TFX writes its schema as a text protocol buffer, schema.pbtxt.
PROTO_SUFFIX = ".pbtxt"


def build_trainer_fn_args(config: config_lib.Config, eval_model_dir: str) -> Any:
    """The trainer_fn_args object, with the attributes that TFX's FnArgs has.

    train_files and eval_files are the patterns of data.train and data.eval; serving_model_dir is
    job_dir; hyperparameters and custom_config are the user section; steps are None where unset.

    Raises:
        UserError: a folder of the transform's output or a base model does not exist.
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
        custom_config=dict(config.user),
    )


def _patterns(given: Any) -> list[str]:
    # TFX names files by patterns; a folder means all that is in it.
    return [str(Path(one) / "*") if Path(one).is_dir() else one for one in given]


def read_schema(path: Optional[str]) -> Any:
    """The schema as the trainer_fn wants it.

    Args:
        path: a schema.pbtxt, read into a tensorflow_metadata Schema; a YAML file, read into a
            trainer.schema.Schema; or None.

    Raises:
        UserError: it cannot be read, or tensorflow_metadata is not installed.
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
