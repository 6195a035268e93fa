"""Finds where sides begin to differ: in which columns, layers and weights."""

import os
import tempfile
from typing import Any

import numpy as np

from ..read.checkpoint import Checkpoint, open_checkpoint
from ..read.rows import Rows
from ..read.source import Source
from ..write.module import write_module
from .arrays import read_arrays
from .beside import find_saved_model, run_beside
from .estimator_layers import compute_layers
from .estimator_side import find_export
from .findings import Comparison, Results, compare_sides
from .layers import (
    Tap,
    Weight,
    compare_places,
    compare_weights,
    describe_first,
    list_taps,
    list_weights,
)
from .rebuild import build_estimator

__all__ = ["locate"]

# Rows that differ most; their values inside both models are compared.
MAX_ROWS = 512


def locate(
    options: Any, source: Source, comparison: Comparison, results: Results
) -> dict[str, Any]:
    """Compares the insides of the models whose outputs differ.

    Args:
      options: parsed options of the command.
      source: the Estimator.
      comparison: the inputs of the comparison.
      results: the results of the sides.

    Returns:
      "where": lines that name what differs first; "places": the differences at the columns and
      layers of the Keras model. Both are empty if all outputs are equal within the tolerance.
    """
    # Not `>`: NaN is a difference.
    all_differences, _ = compare_sides(results.outputs)
    differing = [one for one in all_differences if not one.scaled <= options.tolerance]
    plan, checkpoint = comparison.plan, comparison.checkpoint
    sides = [side for side in results.outputs if side in {one.side for one in differing}]
    tables = write_module(plan, "verify").tables if sides else ()
    weights = list_weights(plan, tables, checkpoint) if sides else []
    rows = [one.by_row for one in differing if one.side == "keras"]
    taps = list_taps(plan, tables) if rows else []
    chosen = np.argsort(-np.max(rows, axis=0), kind="stable")[:MAX_ROWS] if rows else np.arange(1)
    arrays: dict[str, dict[str, np.ndarray]] = {}
    if {"keras", "saved_model"} & set(sides):
        arrays = _compute_keras(options, comparison.rows.take(chosen), taps, weights)
    places = []
    if taps:
        built = source.estimator or build_estimator(plan, os.path.dirname(checkpoint.path))
        expected = compute_layers(
            built, checkpoint.path, comparison.rows.take(chosen), comparison.sparse, taps
        )
        places = compare_places(taps, expected, arrays.get("values", {}), chosen)
    if "export" in sides:
        arrays["export"] = _read_export(options, checkpoint, weights)
    lines: list[str] = []
    for side in sides:
        of_side = compare_weights(weights, arrays.get(side, {}))
        lines += describe_first(side, places if side == "keras" else [], of_side, options.tolerance)
    return {"where": lines, "places": places}


def _compute_keras(
    options: Any, rows: Rows, taps: list[Tap], weights: list[Weight]
) -> dict[str, dict[str, np.ndarray]]:
    """Returns the values at the taps, and the weights of the Keras model and its SavedModel."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, f"{name}.npz") for name in ("features", "outputs")}
        features: dict[str, Any] = rows.features
        np.savez(paths["features"], **features)
        request = {
            "model": options.keras_model,
            "saved_model": find_saved_model(options),
            "taps": [tap._asdict() for tap in taps],
            "weights": [weight.name for weight in weights],
            **paths,
        }
        run_beside(request, "keras_layers", folder)
        return read_arrays(paths["outputs"])


def _read_export(
    options: Any, checkpoint: Checkpoint, weights: list[Weight]
) -> dict[str, np.ndarray]:
    """Returns name -> value of the weights in the export of the Estimator."""
    folder = options.export or find_export(os.path.dirname(checkpoint.path))
    stored = open_checkpoint(os.path.join(str(folder), "variables", "variables"))
    return {
        weight.name: np.asarray(stored.get(weight.stored)).reshape(weight.value.shape)
        for weight in weights
        if weight.stored in stored.names
    }
