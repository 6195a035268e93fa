"""python -m estimator_bridge verify: compares an Estimator with its Keras model on real rows."""

import argparse
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from estimator_bridge.command_line.commands import Parser
from estimator_bridge.errors import BridgeError
from estimator_bridge.model_files.saved_models import require_whole
from estimator_bridge.output.logs import set_verbosity
from estimator_bridge.output.terminal import escape_lines

from ..plan.model import (
    BASELINE_INPUT,
    BY_USED_ROWS,
    Head,
    Plan,
    drops_units,
    model_inputs,
    without_dropout,
)
from ..read.input_function import read_input_fn
from ..read.rows import Rows, default_files, is_divided, read_files
from ..read.source import (
    Source,
    add_source_flags,
    check_places,
    describe,
    install_version,
    names_in,
    require_keras_3,
)
from ..read.user_code import hidden_arguments
from ..write.plain_trees import name_numbers
from ..write.targets import complete_together
from ..write.tree_files import KINDS
from .arrays import read_arrays
from .beside import find_saved_model, run_beside
from .differences import compare_losses, encode_labels
from .findings import DRIFT_FACTOR, Comparison, Results, find_differences
from .locate import locate

__all__ = ["main", "verify"]

_USAGE = """python -m estimator_bridge verify --job_dir=JOB --keras_model=model.keras
       python -m estimator_bridge verify [--as=2.8] \\
           --estimator=MODULE:FUNCTION --input_fn=MODULE:FUNCTION \\
           --keras_model=model.keras

Compares the predictions, metrics and next training steps of both models.
Exit status: 0 if they agree, 1 if they differ, 2 for an error."""


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="estimator_bridge verify", usage=_USAGE)
    add_source_flags(parser)
    parser.add_argument("--keras_model", required=True, help="the converted model, *.keras")
    parser.add_argument(
        "--saved_model",
        help="its SavedModel; default: the model's path without .keras, if it exists",
    )
    parser.add_argument(
        "--export", help="export of the Estimator; default: the newest of the job_dir"
    )
    parser.add_argument("--data", help="CSV, TFRecord or Parquet; default: the job's eval files")
    parser.add_argument(
        "--input_fn", metavar="MODULE:FUNCTION", help="returns rows with labels for --estimator"
    )
    for kind in KINDS:
        parser.add_argument(f"--{kind}", metavar="PATH", help=f"also verify this {kind} model")
    parser.add_argument(
        "--rows", type=int, default=2000, help="number of rows to compare [%(default)s]"
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=200,
        help="number of training steps to compare; 0: none [%(default)s]",
    )
    parser.add_argument(
        "--batch_size", type=int, default=64, help="rows per training step [%(default)s]"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-6,
        help="for outputs and metrics: |difference| <= tolerance * max(1, |value|) [%(default)s]",
    )
    parser.add_argument(
        "--loss_tolerance",
        type=float,
        default=1e-4,
        help="for training losses, relative; if rounding alone changes the losses of the Estimator "
        f"by more than this, the tolerance is {DRIFT_FACTOR:g} times that change [%(default)s]",
    )
    parser.add_argument("--json", help="write the findings to this file")
    parser.add_argument("--html", help="write a report to this file")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Runs the command.

    Args:
      argv: arguments of the command line.

    Returns:
      The exit status: 0 if all differences are within the tolerance, else 1.

    Raises:
      BridgeError: an argument is invalid, or the comparison is impossible.
    """
    options = _parse(argv)
    set_verbosity("error")
    check_places(options)
    require_keras_3()
    outputs = [path for path in (options.json, options.html) if path]
    for path in outputs:
        if not Path(path).resolve().parent.is_dir():
            raise BridgeError(f"{path}: there is no folder {Path(path).resolve().parent}")
        if os.path.isdir(path):
            raise BridgeError(f"{path}: is a folder; name a file")
    for name in ("keras_model", *KINDS):
        path = getattr(options, name)
        if path and not os.path.exists(path):
            raise BridgeError(f"--{name}={path}: there is no such file")
    with open(options.keras_model, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise BridgeError(
                f"--keras_model={options.keras_model}: no *.keras file of convert, or only a part "
                "of one; convert the checkpoint again"
            )
    find_saved_model(options)
    if options.export:
        require_whole(Path(options.export))
    with hidden_arguments():
        findings = verify(options)
    from .report import to_html, to_text

    texts = [json.dumps(findings, indent=1)] if options.json else []
    texts += [to_html(findings)] if options.html else []
    with complete_together(outputs) as paths:
        for path, text in zip(paths, texts):
            Path(path).write_text(text, encoding="utf-8")
    print(escape_lines(to_text(findings)))
    return 0 if findings["passed"] else 1


def verify(options: Any) -> dict[str, Any]:
    """Runs all sides and compares them.

    Args:
      options: parsed options of the command.

    Returns:
      The findings, which can be written as JSON.

    Raises:
      BridgeError: something is missing that the comparison needs, or a side fails.
    """
    # Keras 3 runs in a process of its own, so this one may have Keras 2 and no eager execution.
    install_version(options)
    source = describe(options)
    plan = source.plan
    rows = _read_rows(options, plan)
    notes: list[str] = []
    if options.job_dir and not options.data and is_divided(options.job_dir):
        notes.append(
            "the rows are training and evaluation rows, since the job divides its files; the "
            "metrics compare the two models, and do not measure them"
        )
    steps = _training_steps(options, source, rows, notes)
    numbers = np.arange(steps * options.batch_size).reshape(steps, options.batch_size)
    comparison = Comparison(
        plan=plan,
        checkpoint=source.checkpoint,
        rows=rows,
        labels={} if rows.labels is None else encode_labels(plan.head, rows.labels),
        sparse={*names_in(options.sparse), *rows.sparse},
        batches=numbers % len(rows),
    )
    results = _run_sides(options, source, comparison, notes)
    findings = find_differences(options, comparison, results, notes)
    return {**findings, **locate(options, source, comparison, results)}


def _read_rows(options: Any, plan: Plan) -> Rows:
    if options.job_dir:
        files = options.data.split(",") if options.data else default_files(options.job_dir)
        return read_files(plan, files, options.rows)
    if not options.input_fn:
        raise BridgeError("--estimator: the rows are missing; add --input_fn=MODULE:FUNCTION")
    from ..read.user_code import load_function

    function = load_function(options.input_fn, "--input_fn")
    if plan.kind != "baseline":
        return read_input_fn(function, model_inputs(plan), options.rows, plan.head)
    rows = read_input_fn(function, None, options.rows, plan.head)
    # The Estimator counts the rows of any feature; the Keras model has an input for that.
    rows.features[BASELINE_INPUT] = np.zeros(len(rows), np.int64)
    return rows


def _training_steps(options: Any, source: Source, rows: Rows, notes: list[str]) -> int:
    """Returns the number of training steps to compare; adds a note if training is left out."""
    plan, steps = source.plan, int(options.steps)
    if drops_units(plan):
        if source.estimator is not None:
            notes.append("training was not compared: the Estimator uses dropout")
            return 0
        notes.append("training was compared without dropout, which is random")
    if not steps:
        return 0
    if rows.labels is None:
        notes.append("training and metrics were not compared: the rows have no labels")
        return 0
    if plan.training_notes:
        notes.append(f"training was not compared: {'; '.join(plan.training_notes)}")
        return 0
    if plan.wide_optimizer is None and plan.deep_optimizer is None:
        notes.append("training was not compared: the optimizer was not converted")
        return 0
    return steps


def _run_sides(options: Any, source: Source, comparison: Comparison, notes: list[str]) -> Results:
    """Runs the checkpoint, the export, the training and the Keras files."""
    from . import estimator_side
    from .rebuild import build_estimator

    plan, checkpoint, rows = comparison.plan, comparison.checkpoint, comparison.rows
    folder = os.path.dirname(checkpoint.path)
    built = source.estimator or build_estimator(plan, folder)
    outputs: dict[str, dict[str, np.ndarray]] = {}
    speeds: dict[str, float] = {}
    outputs["checkpoint"], speeds["checkpoint"] = estimator_side.predict_checkpoint(
        built, checkpoint.path, rows, comparison.sparse
    )
    export = options.export or estimator_side.find_export(folder)
    if export is None:
        notes.append("no export was compared: the Estimator has none")
    elif estimator_side.export_step(export) not in (None, checkpoint.step):
        notes.append(f"the export {export} was not compared: its step is not the checkpoint's")
    else:
        try:
            outputs["export"], speeds["export"] = estimator_side.predict_export(export, rows)
        except estimator_side.OtherInputsError as error:
            notes.append(f"the export {export} was not compared: {error}")
    losses: list[float] = []
    perturbed: list[float] = []
    if len(comparison.batches):
        losses, perturbed, speed = _train_estimator(options, source, comparison)
        speeds["training (Estimator)"] = speed
    with tempfile.TemporaryDirectory() as workspace:
        keras_outputs, reply = _run_keras(options, comparison, workspace)
    outputs.update(keras_outputs)
    if "saved_model" not in keras_outputs:
        notes.append("no SavedModel was compared: there is none with signatures of raw tensors")
    apart = compare_losses(reply["losses"], reply["plain_losses"])
    if apart is not None:
        notes.append(
            "training was compared with use_estimator_updates(model) of the written module; "
            "without it, the losses of the file differ from these by at most "
            f"{apart['max_relative']:.2e} (relative; at step {apart['at_step']})"
        )
    if reply["plain_fault"]:
        notes.append(
            "training was compared with use_estimator_updates(model) of the written module; "
            f"without it, Keras fails: {reply['plain_fault']}"
        )
    names = {"training": "training (Keras)"}
    speeds.update({names.get(side, side): speed for side, speed in reply["speeds"].items()})
    return Results(outputs, speeds, losses, perturbed, reply["losses"], reply["keras"])


def _train_estimator(
    options: Any, source: Source, comparison: Comparison
) -> tuple[list[float], list[float], float]:
    """Returns losses, losses after a rounding error in the weights, and steps per second."""
    from ..read.canned import load_estimator
    from . import estimator_side
    from .rebuild import build_estimator

    plan, path = comparison.plan, comparison.checkpoint.path
    built = source.estimator or build_estimator(without_dropout(plan), os.path.dirname(path))
    data = (path, comparison.rows, comparison.batches)
    losses, speed = estimator_side.train_on(built, *data, sparse=comparison.sparse)
    if options.estimator:
        # An optimizer object can train only one graph.
        built = load_estimator(options.estimator).estimator
    perturbed, _ = estimator_side.train_on(built, *data, sparse=comparison.sparse, perturbed=True)
    return losses, perturbed, speed


def _run_keras(
    options: Any, comparison: Comparison, folder: str
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
    """Runs the Keras files in a separate process; returns their outputs and its reply."""
    from ..write.module import write_module

    plan, rows, labels = comparison.plan, comparison.rows, comparison.labels

    def at(name: str) -> str:
        return os.path.join(folder, name)

    weights = _weights_of(plan.head, rows, labels)
    arrays: dict[str, dict[str, Any]] = {
        "features": rows.features,
        "labels": labels,
        "weights": weights,
    }
    for name, values in arrays.items():
        np.savez(at(f"{name}.npz"), **values)
    Path(at("code.py")).write_text(write_module(plan, "verify").code, encoding="utf-8")
    request = {
        "model": options.keras_model,
        "saved_model": find_saved_model(options),
        "code": at("code.py"),
        "batches": comparison.batches.tolist(),
        "divided": [one.target for one in plan.head.single if one.reduction == BY_USED_ROWS],
        "outputs": at("outputs.npz"),
        "trees": _describe_tree_files(options, plan),
        **{name: at(f"{name}.npz") for name in arrays},
    }
    run_beside(request, "keras_side", folder)
    with open(at("outputs.npz.json"), encoding="utf-8") as file:
        return read_arrays(at("outputs.npz")), json.load(file)


def _describe_tree_files(options: Any, plan: Plan) -> dict[str, Any]:
    """Returns what the Keras side needs to predict with files of other libraries; {} for none."""
    files = {kind: getattr(options, kind) for kind in KINDS if getattr(options, kind)}
    if not files:
        return {}
    if plan.trees is None:
        raise BridgeError(f"--{min(files)}: only boosted trees have such a file")
    return {"files": files, "names": name_numbers(plan.trees), "task": plan.head.task}


def _weights_of(head: Head, rows: Rows, labels: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns output -> weights of the rows in training; {} if all are 1."""
    if not head.weights and not any(one.class_weights for one in head.single):
        return {}
    found = {}
    for one in head.single:
        feature = one.weight or head.weight
        weights = (
            np.ones(len(rows), np.float32) if feature is None else rows.features[feature].ravel()
        )
        if one.class_weights and labels:
            factors = np.array(one.class_weights, np.float32)
            weights = weights * factors[labels[one.target].ravel().astype(int)]
        found[one.target] = weights
    return found
