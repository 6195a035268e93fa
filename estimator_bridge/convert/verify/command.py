"""python -m estimator_bridge verify: the same real rows through the Estimator and its Keras
model.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

import numpy as np

from estimator_bridge.errors import BridgeError
from estimator_bridge.logs import set_verbosity

from ..plan.model import Plan, drops_units, without_dropout
from ..read.rows import Rows, default_files, read_files, read_input_fn
from ..read.source import (
    add_source_flags,
    describe,
    names_in,
    refuse_addresses,
    require_keras_3,
)
from .differences import compare_answers, compare_losses, encode_labels, metrics_of, stirling

__all__ = ["main", "verify"]

_USAGE = """python -m estimator_bridge verify --job_dir=JOB --keras_model=model.keras
       python -m estimator_bridge verify --estimator=MODULE:FUNCTION --input_fn=MODULE:FUNCTION \
--keras_model=model.keras"""
TIMEOUT_SECS = 3600
# Two runs that differ by rounding are carried apart by units that switch on or off a step earlier.
# When that happens is chance, so a single measurement of it is generously read.
DRIFT_FACTOR = 10.0


def _parse(argv):
    parser = argparse.ArgumentParser(prog="estimator_bridge verify", usage=_USAGE)
    add_source_flags(parser)
    parser.add_argument("--keras_model", required=True, help="the converted model, *.keras")
    parser.add_argument("--saved_model", help="its SavedModel; unset: the folder beside it, if any")
    parser.add_argument("--export", help="the Estimator's export; unset: the newest of the job_dir")
    parser.add_argument("--data", help="CSV, TFRecord or Parquet; unset: the job's eval files")
    parser.add_argument(
        "--input_fn", metavar="MODULE:FUNCTION", help="gives rows for --estimator, with labels"
    )
    parser.add_argument("--rows", type=int, default=2000, help="rows compared")
    parser.add_argument("--steps", type=int, default=200, help="training steps compared; 0: none")
    parser.add_argument("--batch_size", type=int, default=64, help="rows of a training step")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-6,
        help="of answers and metrics: |difference| <= tolerance * max(1, |value|)",
    )
    parser.add_argument(
        "--loss_tolerance",
        type=float,
        default=1e-4,
        help="of training losses, relative; where rounding alone carries the Estimator further "
        f"than that, {DRIFT_FACTOR:g} times as far as it does",
    )
    parser.add_argument("--json", help="write the findings to this file")
    parser.add_argument("--html", help="write a report to this file")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Compares; returns 0 if all is within the tolerance, else 1."""
    options = _parse(argv)
    set_verbosity("error")
    refuse_addresses(options)
    require_keras_3()
    for path in (options.json, options.html):
        if path and not Path(path).resolve().parent.is_dir():
            raise BridgeError(f"{path}: there is no folder {Path(path).resolve().parent}")
    if not os.path.exists(options.keras_model):
        raise BridgeError(f"--keras_model={options.keras_model}: there is no such file")
    findings = verify(options)
    from .report import to_html, to_text

    if options.json:
        Path(options.json).write_text(json.dumps(findings, indent=1), encoding="utf-8")
    if options.html:
        Path(options.html).write_text(to_html(findings), encoding="utf-8")
    print(to_text(findings))
    return 0 if findings["passed"] else 1


def verify(options: Any) -> dict[str, Any]:
    """Runs every side and compares them; returns the findings, which JSON can hold.

    Raises:
      BridgeError: something is missing that the comparison needs.
    """
    from ..read.canned import load_estimator
    from . import estimator_side
    from .rebuild import build_estimator

    plan, checkpoint, built = describe(options)
    rows = _read_rows(options, plan)
    labels = {} if rows.labels is None else encode_labels(plan.head, rows.labels)
    sparse = {*names_in(options.sparse), *rows.sparse}
    notes: list[str] = []
    train_plan = plan
    if drops_units(plan):
        if built is None:
            train_plan = without_dropout(plan)
            notes.append("training was compared without dropout, which is drawn at random")
        else:
            options.steps = 0
            notes.append("training was not compared: the Estimator drops units at random")
    steps = _steps_wanted(options, plan, rows, notes)
    batches = np.arange(steps * options.batch_size).reshape(steps, options.batch_size) % len(rows)
    with tempfile.TemporaryDirectory() as folder:
        trained = built or build_estimator(train_plan, os.path.dirname(checkpoint.path))
        expected, speed = estimator_side.ask_checkpoint(
            built or build_estimator(plan, os.path.dirname(checkpoint.path)),
            checkpoint.path,
            rows,
            sparse,
        )
        speeds = {"checkpoint": speed}
        answers = {"checkpoint": expected}
        export = options.export or estimator_side.find_export(os.path.dirname(checkpoint.path))
        if export is None:
            notes.append("there is no export of the Estimator to compare")
        elif estimator_side.export_step(export) not in (None, checkpoint.step):
            notes.append(f"the export {export} is of another step than the checkpoint: left out")
        else:
            answers["export"], speeds["export"] = estimator_side.ask_export(export, rows)
        losses, disturbed = [], []
        if steps:
            given = (checkpoint.path, rows, batches, sparse)
            losses, speeds["training (Estimator)"] = estimator_side.train_on(trained, *given)
            if options.estimator:
                # An optimizer that was made once trains one graph only.
                trained = load_estimator(options.estimator).estimator
            disturbed, _ = estimator_side.train_on(trained, *given, disturbed=True)
        keras_answers, reply = _ask_keras(options, plan, rows, labels, batches, folder)
    answers.update(keras_answers)
    if "saved_model" not in keras_answers:
        notes.append("no SavedModel was compared: there is none, or none that takes raw tensors")
    speeds.update(
        {
            "training (Keras)" if name == "training" else name: v
            for name, v in reply["speeds"].items()
        }
    )
    losses = (losses, disturbed, reply)
    return _findings(
        options, plan, checkpoint, rows, labels, answers, losses, speeds, notes, batches
    )


def _read_rows(options, plan) -> Rows:
    if options.job_dir:
        files = options.data.split(",") if options.data else default_files(options.job_dir)
        return read_files(plan, files, options.rows)
    if not options.input_fn:
        raise BridgeError("--input_fn=MODULE:FUNCTION: it has to give the rows of --estimator")
    from ..read.user_code import load_function

    return read_input_fn(load_function(options.input_fn, "--input_fn"), plan.inputs, options.rows)


def _steps_wanted(options, plan, rows, notes) -> int:
    if not options.steps:
        return 0
    if rows.labels is None:
        notes.append("training and metrics were not compared: the rows have no labels")
        return 0
    if plan.training_notes:
        notes.append(f"training was not compared: {'; '.join(plan.training_notes)}")
        return 0
    if plan.wide_optimizer is None and plan.deep_optimizer is None:
        notes.append("training was not compared: the optimizer is not carried over")
        return 0
    return options.steps


def _ask_keras(options, plan: Plan, rows: Rows, labels, batches, folder) -> tuple[dict, dict]:
    """Has a process of its own ask the Keras files."""
    from ..write.module import write_module

    def at(name):
        return os.path.join(folder, name)

    np.savez(at("features.npz"), **rows.features)
    np.savez(at("labels.npz"), **labels)
    np.savez(at("weights.npz"), **_weights_of(plan.head, rows, labels))
    Path(at("code.py")).write_text(write_module(plan, "verify").code, encoding="utf-8")
    beside = options.saved_model or options.keras_model[: -len(".keras")]
    question = {
        "model": options.keras_model,
        "saved_model": beside if os.path.isdir(beside) else None,
        "code": at("code.py"),
        "features": at("features.npz"),
        "labels": at("labels.npz"),
        "batches": batches.tolist(),
        "weights": at("weights.npz"),
        "answers": at("answers.npz"),
    }
    Path(at("question.json")).write_text(json.dumps(question), encoding="utf-8")
    # Keras alone: without the bridge's choice of Keras 2 for tf.keras.
    environment = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge.convert.verify.keras_side", at("question.json")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECS,
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no word of why"]
        raise BridgeError(f"--keras_model={options.keras_model}: {lines[-1]}")
    answers: dict[str, dict] = {}
    with np.load(at("answers.npz"), allow_pickle=True) as stored:
        for name in stored.files:
            side, _, output = name.partition("/")
            answers.setdefault(side, {})[output] = stored[name]
    with open(at("answers.npz.json"), encoding="utf-8") as file:
        return answers, json.load(file)


def _weights_of(head, rows, labels) -> dict[str, np.ndarray]:
    """Output -> weights of the rows in training; empty where all are 1."""
    weight = None if head.weight is None else rows.features[head.weight].ravel()
    if weight is None and not any(one.class_weights for one in head.single):
        return {}
    found = {}
    for one in head.single:
        each = np.ones(len(rows), np.float32) if weight is None else weight
        if one.class_weights and labels:
            factors = np.array(one.class_weights, np.float32)
            each = each * factors[labels[one.target].ravel().astype(int)]
        found[one.target] = each
    return found


def _findings(options, plan, checkpoint, rows, labels, answers, losses, speeds, notes, batches):
    expected = answers["checkpoint"]
    differences, problems = [], []
    for side, found in answers.items():
        if side != "checkpoint":
            some, missing = compare_answers(side, expected, found)
            differences += some
            problems += missing
    metrics: dict[str, dict[str, float]] = {}
    curve: Optional[dict] = None
    if labels:
        weights = rows.features.get(plan.head.weight)
        metrics = {
            side: metrics_of(plan.head, found, labels, weights) for side, found in answers.items()
        }
        found = np.array(losses[2]["losses"])
        for one in plan.head.single:
            if one.task == "poisson" and len(found):
                constant = one.importance * stirling(labels[one.target].ravel())[batches]
                found = found + (constant.sum(1) if one.reduction == "sum" else constant.mean(1))
        curve = compare_losses(losses[0], list(found))
        if curve is not None:
            curve["own_drift"] = compare_losses(losses[0], losses[1])["max_relative"]
    beyond = [d for d in differences if not d.scaled <= options.tolerance]
    problems += [
        f"{d.side}: {d.output} differs by {d.max_abs:.3g}, tolerance {options.tolerance:g}"
        for d in beyond
    ]
    for side, values in metrics.items():
        for name, value in values.items():
            apart = abs(value - metrics["checkpoint"][name])
            if not apart <= options.tolerance * max(1.0, abs(value)):
                problems.append(f"{side}: metric {name} differs by {apart:.3g}")
    allowed = max(options.loss_tolerance, DRIFT_FACTOR * curve["own_drift"]) if curve else 0.0
    if curve is not None and not curve["max_relative"] <= allowed:
        problems.append(
            f"training: at step {curve['at_step']} the losses are {curve['max_relative']:.3g} "
            f"apart, allowed are {allowed:.3g}"
        )
    worst = sorted({row for difference in differences for row in difference.worst[:2]})
    return {
        "passed": not problems,
        "problems": problems,
        "notes": notes,
        "model": f"{plan.kind}, {plan.head.task}",
        "checkpoint": checkpoint.path,
        "step": checkpoint.step,
        "keras_model": options.keras_model,
        "keras_version": losses[2]["keras"],
        "rows": len(rows),
        "tolerance": options.tolerance,
        "loss_tolerance": options.loss_tolerance,
        "differences": [difference._asdict() for difference in differences],
        "worst_rows": {row: _plain(rows, row) for row in worst},
        "metrics": metrics,
        "training": curve,
        "speeds": speeds,
    }


def _plain(rows: Rows, row: int) -> dict[str, Any]:
    def plain(value):
        value = np.asarray(value).tolist()
        decode = (
            [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
            if (isinstance(value, list))
            else value
        )
        return decode.decode("utf-8", "replace") if isinstance(decode, bytes) else decode

    return {name: plain(values[row]) for name, values in rows.features.items()}
