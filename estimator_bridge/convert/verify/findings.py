"""Compares the results of all sides, and collects the findings of a comparison."""

from typing import Any, NamedTuple, Optional

import numpy as np

from ..plan.model import Plan
from ..read.checkpoint import Checkpoint
from ..read.rows import Rows
from ..write.tree_files import KINDS
from .differences import Difference, compare_losses, compare_outputs, metrics_of, stirling
from .slices import describe_common

__all__ = ["DRIFT_FACTOR", "Comparison", "Results", "compare_sides", "find_differences"]

# Because of rounding errors, a unit may become active at different steps in two runs, which then
# drift apart. The step is random, so the limit is far above the drift in a single measurement.
DRIFT_FACTOR = 10.0


class Comparison(NamedTuple):
    """The inputs of a comparison.

    Attributes:
      plan: the model.
      checkpoint: checkpoint of the Estimator.
      rows: the rows.
      labels: {output from which a loss is computed: labels}; {} without labels.
      sparse: names of the features fed as SparseTensors.
      batches: row numbers [steps, rows of a batch] for training.
    """

    plan: Plan
    checkpoint: Checkpoint
    rows: Rows
    labels: dict[str, np.ndarray]
    sparse: set[str]
    batches: np.ndarray


class Results(NamedTuple):
    """The results of the sides.

    Attributes:
      outputs: side -> output -> array [rows, ...].
      speeds: side -> rows or steps per second.
      losses: losses of the Estimator, by step.
      perturbed: its losses after a rounding error in its weights.
      keras_losses: losses of the Keras model.
      keras_version: version of Keras.
    """

    outputs: dict[str, dict[str, np.ndarray]]
    speeds: dict[str, float]
    losses: list[float]
    perturbed: list[float]
    keras_losses: list[float]
    keras_version: str


def find_differences(
    options: Any, comparison: Comparison, results: Results, notes: list[str]
) -> dict[str, Any]:
    """Compares the results of all sides.

    Args:
      options: parsed options of the command, with the tolerances.
      comparison: the inputs of the comparison.
      results: the results of the sides.
      notes: remarks about comparisons that were left out.

    Returns:
      The findings, which can be written as JSON.
    """
    differences, problems = compare_sides(results.outputs)
    metrics = _metrics(comparison, results)
    curve = _loss_curve(comparison, results)
    problems += _output_problems(differences, options.tolerance, comparison.rows)
    problems += _metric_problems(metrics, options.tolerance)
    problems += _training_problems(curve, options.loss_tolerance)
    worst = sorted({row for difference in differences for row in difference.worst[:2]})
    plan, checkpoint, rows = comparison.plan, comparison.checkpoint, comparison.rows
    return {
        "passed": not problems,
        "problems": problems,
        "notes": notes,
        "model": f"{plan.kind}, {plan.head.task}",
        "checkpoint": checkpoint.path,
        "step": checkpoint.step,
        "keras_model": options.keras_model,
        "keras_version": results.keras_version,
        "rows": len(rows),
        "tolerance": options.tolerance,
        "loss_tolerance": options.loss_tolerance,
        "differences": [difference.to_json() for difference in differences],
        "worst_rows": {row: _to_json(rows, row) for row in worst},
        "metrics": metrics,
        "training": curve,
        "speeds": results.speeds,
    }


def compare_sides(
    outputs: dict[str, dict[str, np.ndarray]],
) -> tuple[list[Difference], list[str]]:
    """Compares the outputs of each side with those of the checkpoint.

    Args:
      outputs: side -> output -> array [rows, ...].

    Returns:
      The differences, and a message for each missing output.
    """
    expected = outputs["checkpoint"]
    differences: list[Difference] = []
    problems: list[str] = []
    for side, found in outputs.items():
        if side != "checkpoint":
            # A file of another library has the scores alone.
            wanted = {name: expected[name] for name in found} if side in KINDS else expected
            some, missing = compare_outputs(side, wanted, found)
            differences += some
            problems += missing
    return differences, problems


def _metrics(comparison: Comparison, results: Results) -> dict[str, dict[str, float]]:
    """Returns side -> metric -> value; {} without labels."""
    if not comparison.labels:
        return {}
    head, features = comparison.plan.head, comparison.rows.features
    return {
        side: metrics_of(head, outputs, comparison.labels, features)
        for side, outputs in results.outputs.items()
    }


def _loss_curve(comparison: Comparison, results: Results) -> Optional[dict[str, Any]]:
    """Compares the training losses; returns None if training was left out."""
    found = np.array(results.keras_losses)
    if not comparison.labels or not len(found):
        return None
    head, rows = comparison.plan.head, comparison.rows
    for one in head.single:
        if one.task == "poisson":
            values = stirling(comparison.labels[one.target].reshape(len(rows), -1))
            weight = one.weight or head.weight
            if weight is not None:
                values = values * rows.features[weight].reshape(len(rows), -1)
            added = one.reduction == "sum"
            by_row = one.importance * (values.sum(1) if added else values.mean(1))
            constant = by_row[comparison.batches]
            found = found + (constant.sum(1) if added else constant.mean(1))
    curve = compare_losses(results.losses, list(found))
    own = compare_losses(results.losses, results.perturbed)
    if curve is None or own is None:
        return None
    return {**curve, "own_drift": own["max_relative"]}


# Not `>`: a difference that is NaN is a problem, too.


def _output_problems(differences: list[Difference], tolerance: float, rows: Rows) -> list[str]:
    problems = []
    for one in differences:
        if not one.scaled <= tolerance:
            text = f"{one.side}: {one.output} differs by {one.max_abs:.3g}, tolerance {tolerance:g}"
            common = describe_common(rows.features, ~(one.by_row <= tolerance))
            problems.append(f"{text}; {common}" if common else text)
    return problems


def _metric_problems(metrics: dict[str, dict[str, float]], tolerance: float) -> list[str]:
    problems = []
    for side, values in metrics.items():
        for name, value in values.items():
            expected = metrics["checkpoint"][name]
            difference = abs(value - expected)
            # The metric of a model that has diverged may be infinite or NaN on both sides.
            is_same = np.array_equal(value, expected, equal_nan=True)
            if not is_same and not difference <= tolerance * max(1.0, abs(value)):
                problems.append(f"{side}: metric {name} differs by {difference:.3g}")
    return problems


def _training_problems(curve: Optional[dict[str, Any]], tolerance: float) -> list[str]:
    if curve is None:
        return []
    allowed = max(tolerance, DRIFT_FACTOR * curve["own_drift"])
    if curve["max_relative"] <= allowed:
        return []
    return [
        f"training: at step {curve['at_step']} the losses differ by {curve['max_relative']:.3g} "
        f"(relative), tolerance {allowed:.3g}"
    ]


def _to_json(rows: Rows, row: int) -> dict[str, Any]:
    """Returns the features of one row as values for JSON."""

    def to_text(value: Any) -> Any:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def convert(value: Any) -> Any:
        plain = np.asarray(value).tolist()
        return [to_text(item) for item in plain] if isinstance(plain, list) else to_text(plain)

    return {name: convert(values[row]) for name, values in rows.features.items()}
