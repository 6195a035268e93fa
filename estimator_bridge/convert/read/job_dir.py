"""Reads a Plan from config.yaml, schema.json and statistics.json of a job_dir of this trainer.

Only this module and job_columns.py interpret the fields, which job_files.py has checked. The tests
compare the result with the trainer's own feature columns, for each kind of column.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from estimator_bridge.errors import BridgeError

from ..plan.columns import Input, name_of
from ..plan.model import Cell, Data, Head, Network, Optimizer, Plan, Recurrent, Schedule
from ..plan.optimizers import keras2_options
from .checkpoint import open_checkpoint
from .job_columns import default_of, derived_of, read_columns, read_tree_columns
from .job_files import read_job_files
from .trees import TREE_NOTES, read_trees

__all__ = ["read_job_dir"]

_Json = dict[str, Any]

_DTYPES = {"float": "float32", "int": "int64", "string": "string"}
_CELLS = {"lstm": "LSTM", "gru": "GRU", "simple": "SimpleRNN"}
_ACTIVATIONS = {"gelu": "gelu", "swish": "silu"}
_KINDS = ("baseline", "linear", "dnn", "wide_deep", "rnn", "boosted_trees")


def read_job_dir(job_dir: str, checkpoint: Optional[str] = None) -> Plan:
    """Returns the plan of the model that was trained in a job_dir.

    Args:
      job_dir: folder of a finished run of the trainer.
      checkpoint: prefix of the checkpoint whose trees are in the plan of boosted trees, or its
        folder; default: the newest of the job_dir.

    Raises:
      BridgeError: a file is missing, lacks a field that the trainer writes, or has a value that
        the trainer never writes; or the checkpoint has no trees.
    """
    config, schema, statistics = read_job_files(Path(job_dir))
    try:
        if config["model"]["type"] == "boosted_trees":
            return _read_trees(config, schema, statistics, checkpoint or job_dir)
        return _read_plan(config, schema, statistics)
    except KeyError as error:
        raise BridgeError(
            f"job_dir {job_dir}: config.yaml, schema.json or statistics.json has no field {error}; "
            "convert with the version of this package that trained the job"
        ) from error


def _read_plan(config: _Json, schema: _Json, statistics: _Json) -> Plan:
    model, train, columns = config["model"], config["train"], schema["columns"]
    kind = model["type"]
    if kind not in _KINDS:
        raise BridgeError(
            f"model.type {kind!r} is not a canned model; convert it with "
            "--estimator=MODULE:FUNCTION --model_fn"
        )
    features = _list_features(schema)
    wide, deep, steps = read_columns(schema, statistics, features)
    wide = wide if kind in ("linear", "wide_deep") else []
    context = deep if kind == "rnn" else []
    deep = {"rnn": steps, "dnn": deep, "wide_deep": deep}.get(kind, [])
    used = _used_features(schema, features)
    max_steps = _max_steps(train, statistics)
    return Plan(
        kind=kind,
        inputs=tuple(Input(name, _raw_dtype(columns[name]), 1) for name in used),
        wide=tuple(wide),
        wide_combiner="sum",
        deep=tuple(deep),
        network=_network(model) if kind in ("dnn", "wide_deep") else None,
        head=_head(schema, train),
        wide_optimizer=_optimizer(train, max_steps, True) if kind not in ("dnn", "rnn") else None,
        deep_optimizer=_optimizer(train, max_steps, False) if deep else None,
        keys=_keys(schema),
        data=_data(config, schema, statistics, used),
        training_notes=tuple(_training_notes(train)),
        recurrent=_recurrent(model) if kind == "rnn" else None,
        context=tuple(context),
        derived=tuple(one for name in used for one in derived_of(name, schema, statistics)),
    )


def _read_trees(config: _Json, schema: _Json, statistics: _Json, checkpoint: str) -> Plan:
    head = _head(schema, config["train"])
    features = _list_features(schema)
    columns = read_tree_columns(schema, features)
    # As boosted trees number their features.
    ordered = tuple(sorted((one for found in columns.values() for one in found), key=name_of))
    # The exports of a job also take the weights of multivalent values, which trees do not read.
    weights = {schema["columns"][name].get("weights") for name in columns}
    used = [name for name in features if name in columns or name in weights]
    return Plan(
        kind="boosted_trees",
        inputs=tuple(Input(name, _raw_dtype(schema["columns"][name]), 1) for name in used),
        wide=(),
        wide_combiner="sum",
        deep=ordered,
        network=None,
        head=head,
        wide_optimizer=None,
        deep_optimizer=None,
        keys=_keys(schema),
        data=_data(config, schema, statistics, used),
        training_notes=TREE_NOTES,
        derived=tuple(one for name in columns for one in derived_of(name, schema, statistics)),
        trees=read_trees(ordered, open_checkpoint(checkpoint), head.units),
    )


def _list_features(schema: _Json) -> list[str]:
    not_features = {*_label_columns(schema), schema["weight"], schema["key"]}
    return [name for name in schema["columns"] if name not in not_features]


def _keys(schema: _Json) -> tuple[Input, ...]:
    return () if schema["key"] is None else (Input(schema["key"], "string", 1),)


def _used_features(schema: _Json, features: list[str]) -> list[str]:
    """Returns the features that a column, a cross or a weighted column reads."""
    columns = schema["columns"]
    crossed = {name for cross in schema["crosses"] for name in cross["columns"]}
    weights = {columns[name].get("weights") for name in features if columns[name]["use"]}
    return [name for name in features if columns[name]["use"] or name in crossed or name in weights]


def _network(model: _Json) -> Network:
    name: str = model["activation"]
    activation = _ACTIVATIONS.get(name, name)
    return Network(tuple(model["hidden_units"]), activation, model["dropout"], model["batch_norm"])


def _recurrent(model: _Json) -> Recurrent:
    kind = _CELLS[model.get("cell", "lstm")]
    options = {"dropout": model["dropout"]} if model["dropout"] else {}
    units = enumerate(model["hidden_units"])
    return Recurrent(tuple(Cell(kind, f"cell_{index}", size, options) for index, size in units))


def _raw_dtype(column: _Json) -> str:
    # The values of a multivalent feature are one text.
    return _DTYPES["string" if column.get("separator") else column["type"]]


def _training_notes(train: _Json) -> Iterator[str]:
    if train.get("warmup_steps"):
        yield (
            f"train.warmup_steps {train['warmup_steps']}: the warm-up of the learning rates is not "
            "converted; after it, the rates are the same"
        )


def _data(config: _Json, schema: _Json, statistics: _Json, used: list[str]) -> Data:
    defaults, multivalent = {}, {}
    for name in used:
        column = schema["columns"][name]
        default = default_of(name, schema, statistics)
        if column.get("missing_indicator"):
            # The model itself replaces NaN.
            default = math.nan
        if default is None and _raw_dtype(column) == "string":
            default = ""
        if default is not None:
            defaults[name] = default
        if column.get("separator"):
            multivalent[name] = (_DTYPES[column["type"]], column["separator"])
    return Data(
        tuple(schema["columns"]),
        tuple(_label_names(label) for label in _labels(schema)),
        config["data"]["delimiter"],
        tuple(schema["missing_values"]),
        defaults,
        multivalent,
        config["data"].get("encoding", "utf-8"),
    )


# The fields that are read with get() are missing in files of older versions of the trainer.


def _labels(schema: _Json) -> list[_Json]:
    return [schema["label"], *(schema.get("more_labels") or ())]


def _label_names(label: _Json) -> tuple[str, ...]:
    return tuple(label.get("columns") or ()) or (label["column"],)


def _label_columns(schema: _Json) -> list[str]:
    return [name for label in _labels(schema) for name in _label_names(label)]


def _head(schema: _Json, train: _Json) -> Head:
    # Versions of the trainer without this field used the mean loss.
    is_sum = train.get("loss_reduction", "mean") == "sum"
    reduction = "sum" if is_sum else "sum_over_batch_size"
    heads = [_head_of(label, reduction, schema["weight"]) for label in _labels(schema)]
    if len(heads) == 1:
        return heads[0]
    parts = tuple(
        head._replace(name=label["column"], importance=label.get("importance", 1.0))
        for head, label in zip(heads, _labels(schema))
    )
    units = sum(head.units for head in heads)
    return Head("multihead", units, None, reduction, schema["weight"], parts=parts)


def _head_of(label: _Json, reduction: str, weight: Optional[str]) -> Head:
    if label.get("columns"):
        return Head("multilabel", len(label["columns"]), None, reduction, weight)
    vocabulary = label["vocabulary"]
    num_classes = len(vocabulary) if vocabulary is not None else label["num_classes"] or 0
    if not num_classes:
        task = "poisson" if label.get("loss") == "poisson" else "regression"
        given = label.get("normalize")
        moments = (float(given["mean"]), float(given["std"])) if given else None
        return Head(task, 1, None, reduction, weight, moments=moments)
    classes = None if vocabulary is None else tuple(map(str, vocabulary))
    weights = {str(name): factor for name, factor in (label.get("class_weights") or {}).items()}
    factors = tuple(weights.get(name, 1.0) for name in classes or map(str, range(num_classes)))
    task, units = ("binary", 1) if num_classes == 2 else ("multiclass", num_classes)
    return Head(task, units, classes, reduction, weight, class_weights=factors if weights else ())


def _max_steps(train: _Json, statistics: _Json) -> int:
    if train["max_steps"] is not None:
        return int(train["max_steps"])
    return math.ceil(statistics["num_rows"] * (train["epochs"] or 1) / train["batch_size"])


def _optimizer(train: _Json, max_steps: int, linear: bool) -> Optimizer:
    kind = train["linear_optimizer"] if linear else train["optimizer"]
    rate = (train["linear_learning_rate"] if linear else None) or train["learning_rate"]
    options = keras2_options(kind, {"l1": train["l1"], "l2": train["l2"]})
    steps = train["decay_steps"] or max_steps
    if train["decay"] == "exponential":
        rate = Schedule("ExponentialDecay", (rate, steps, train["decay_rate"]), {})
    elif train["decay"] == "cosine":
        rate = Schedule("CosineDecay", (rate, steps), {"alpha": train["decay_rate"]})
    elif train["decay"] == "piecewise":
        # Keras changes the rate after a boundary; the trainer's boundary is the first step with the
        # new rate.
        steps = [step - 1 for step in train["piecewise_steps"]]
        rates = [rate, *(rate * share for share in train["piecewise_shares"])]
        rate = Schedule("PiecewiseConstantDecay", (steps, rates), {})
    elif train["decay"] != "constant":
        raise BridgeError(
            f"config.yaml: train.decay {train['decay']!r} has no counterpart in Keras; "
            "add --no_optimizer to convert the model without its optimizers"
        )
    return Optimizer(kind, rate, options, 2)
