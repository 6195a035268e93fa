"""Reads FnArgs: the options and the schema of a job."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml

from trainer import schema as schema_lib
from trainer import storage
from trainer.data_validation.infer import InferRequest, infer
from trainer.errors import UserError, nearest
from trainer.inputs.files import find_files
from trainer.tfx.metadata import Described, read_metadata

# Keys of custom_config that are read here; TFX and its runners have keys of their own.
KEYS = ("label", "schema", "columns", "options", "search", "tuning", "objective", "max_trials")
# What is read of FnArgs.
FIELDS = (
    "working_dir",
    "train_files",
    "eval_files",
    "train_steps",
    "eval_steps",
    "schema_path",
    "schema_file",
    "transform_graph_path",
    "transform_output",
    "serving_model_dir",
    "model_run_dir",
    "base_model",
    "hyperparameters",
    "custom_config",
)
TRANSFORMED_SCHEMA = "transformed_metadata/schema.pbtxt"
VARIABLES = "variables/variables"
# Beside the SavedModel of run_fn: its last checkpoint, with the state of the optimizers.
CHECKPOINT = "checkpoint"


class Arguments(NamedTuple):
    """What FnArgs ask for.

    Attributes:
        options: of the job, as `trainer.train` takes them; without job_dir.
        schema: of the examples.
        custom: custom_config.
    """

    options: dict[str, Any]
    schema: schema_lib.Schema
    custom: dict[str, Any]


def flatten(fn_args: Any) -> dict[str, Any]:
    """Returns what is read of FnArgs as plain values, for another process.

    Args:
        fn_args: tfx.components.FnArgs.

    Raises:
        UserError: the examples are in a format that only TFX reads.
    """
    accessor = getattr(fn_args, "data_accessor", None)
    if accessor is not None and getattr(accessor, "data_view_decode_fn", None) is not None:
        raise UserError(
            "examples: a data view decodes these records; give examples of the payload format "
            "FORMAT_TF_EXAMPLE or FORMAT_PARQUET"
        )
    given = {name: getattr(fn_args, name, None) for name in FIELDS}
    given["hyperparameters"] = _read_hyperparameters(given["hyperparameters"])
    return given


def read_arguments(fn_args: Mapping[str, Any]) -> Arguments:
    """Returns the options and the schema of a job.

    Args:
        fn_args: from `flatten`.

    Raises:
        UserError: custom_config is wrong, or the examples cannot be read.
    """
    custom = _read_custom(fn_args)
    options = {
        "data.train": _list_patterns(fn_args, "train_files"),
        "data.eval": _list_patterns(fn_args, "eval_files"),
        **_list_given(fn_args),
        **custom.get("options", {}),
        **(_get(fn_args, "hyperparameters") or {}),
    }
    return Arguments(options, _read_schema(fn_args, custom, options), custom)


def _get(fn_args: Mapping[str, Any], name: str) -> Any:
    """Returns a field; None where this version of TFX has none, or an empty one."""
    return fn_args.get(name) or None


def _read_custom(fn_args: Mapping[str, Any]) -> dict[str, Any]:
    custom = _get(fn_args, "custom_config") or {}
    if not isinstance(custom, Mapping):
        raise UserError(f"custom_config: got {type(custom).__name__}; give a dict")
    if not custom.get("label") and not custom.get("schema"):
        close = next((one for one in custom if nearest(str(one), ("label", "schema"))), None)
        hint = f" (it has {close!r})" if close is not None else ""
        raise UserError(
            f"custom_config: neither label nor schema is given{hint}; name the column to predict "
            "as label, or a schema file as schema"
        )
    for name, kind in (("options", Mapping), ("columns", Mapping), ("search", (list, tuple))):
        if name in custom and not isinstance(custom[name], kind):
            wanted = "a list" if name == "search" else "a dict"
            raise UserError(f"custom_config[{name!r}]: got {custom[name]!r:.60}; give {wanted}")
    return dict(custom)


def _list_patterns(fn_args: Mapping[str, Any], name: str) -> list[str]:
    given = _get(fn_args, name)
    if given is None:
        raise UserError(f"{name}: empty; connect examples with both splits to the component")
    return [given] if isinstance(given, str) else list(given)


def _list_given(fn_args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that components set by arguments of their own."""
    transform = find_transform_output(fn_args)
    base = _get(fn_args, "base_model")
    found = {
        "train.max_steps": _get(fn_args, "train_steps"),
        "eval.steps": _get(fn_args, "eval_steps"),
        "train.warm_start": None if base is None else _find_start(base.rstrip("/")),
        "tfx.transform_output": transform,
    }
    return {name: value for name, value in found.items() if value is not None}


def name_checkpoint_folder(model: str) -> str:
    """Returns the folder in which run_fn keeps the checkpoint of a model.

    Args:
        model: folder of the SavedModel in the component's output.
    """
    return f"{model.rstrip('/').rpartition('/')[0]}/{CHECKPOINT}"


def _find_start(model: str) -> str:
    """Returns what training starts from: the checkpoint of a model, else its variables."""
    folder = name_checkpoint_folder(model)
    try:
        is_there = Path(storage.fetch_data(f"{folder}/checkpoint")).is_file()
    except UserError:
        is_there = False
    return folder if is_there else f"{model}/{VARIABLES}"


def find_transform_output(fn_args: Mapping[str, Any]) -> Optional[str]:
    """Returns the folder that Transform has written; None: the examples are raw.

    Args:
        fn_args: from `flatten`.
    """
    found: Optional[str] = _get(fn_args, "transform_graph_path") or _get(
        fn_args, "transform_output"
    )
    return found


def _read_hyperparameters(given: Any) -> dict[str, Any]:
    """Returns the values of a keras_tuner HyperParameters configuration, or of a plain dict."""
    if given is None:
        return {}
    if hasattr(given, "get_config"):
        given = given.get_config()
    values = given.get("values", given)
    return {str(name): value for name, value in values.items()}


def _read_schema(
    fn_args: Mapping[str, Any], custom: dict[str, Any], options: dict[str, Any]
) -> schema_lib.Schema:
    given = custom.get("schema")
    if isinstance(given, Mapping):
        return schema_lib.parse_schema(dict(given), "custom_config['schema']")
    if given:
        return schema_lib.load_schema(str(given), storage.fetch_data)
    label = custom["label"]
    label = dict(label) if isinstance(label, Mapping) else {"column": str(label)}
    if not label.get("column"):
        raise UserError("custom_config['label']: no column; name the column to predict")
    return infer_schema(options, label, custom.get("columns", {}), read_described(fn_args))


def read_described(fn_args: Mapping[str, Any]) -> Optional[Described]:
    """Returns what the pipeline's schema says of the examples; None without one.

    Args:
        fn_args: from `flatten`.

    Raises:
        UserError: the schema cannot be read.
    """
    transform = find_transform_output(fn_args)
    path = _get(fn_args, "schema_path") or _get(fn_args, "schema_file")
    if transform is not None:
        path = f"{transform.rstrip('/')}/{TRANSFORMED_SCHEMA}"
    return None if path is None else read_metadata(path)


def infer_schema(
    options: Mapping[str, Any],
    label: Mapping[str, Any],
    columns: Mapping[str, Any],
    described: Optional[Described],
) -> schema_lib.Schema:
    """Infers a schema from examples, and adds what is known of them.

    Args:
        options: data.train is read.
        label: fields of the label: its column, and what is not to be inferred.
        columns: name → fields of a column that replace inferred ones.
        described: what the pipeline's schema says; None: nothing.

    Raises:
        UserError: the examples cannot be read, or a column does not exist.
    """
    patterns = options["data.train"]
    patterns = patterns.split(",") if isinstance(patterns, str) else patterns
    files = find_files(patterns, "auto", "train_files")
    found, _, _ = infer(InferRequest(files, patterns, label["column"]))
    values = yaml.safe_load(found.text)
    if described is not None:
        _add_described(values, described)
    for name, fields in columns.items():
        if name not in values["columns"]:
            raise UserError(
                f"custom_config['columns']: no column {name!r}{nearest(name, values['columns'])}"
            )
        values["columns"][name] = dict(fields)
    kinds = {"vocabulary", "num_classes", "loss"}
    if kinds & label.keys():
        values["label"] = {}
    values["label"] = {**values["label"], **label}
    return schema_lib.parse_schema(values, "(inferred from train_files)")


def _add_described(values: dict[str, Any], described: Described) -> None:
    """Adds the vocabularies and uses of the pipeline's schema to an inferred one."""
    columns, label = values["columns"], values["label"]
    for name, words in described.vocabularies.items():
        if name == label["column"]:
            label.pop("num_classes", None)
            label["vocabulary"] = words
        elif columns.get(name, {}).get("type") == "string" and len(words) > 1:
            kept = {
                field: columns[name][field]
                for field in ("type", "separator")
                if field in columns[name]
            }
            columns[name] = {**kept, "vocabulary": words, "oov_buckets": 1}
    for name, size in described.identities.items():
        if name in columns and name != label["column"]:
            separator = columns[name].get("separator")
            several = {} if separator is None else {"separator": separator}
            columns[name] = {"type": "int", "identities": size, "default": -1, **several}
            if several:
                del columns[name]["default"]
    for name in described.unused:
        if name in columns and name != label["column"]:
            columns[name] = {"type": columns[name]["type"], "use": []}
