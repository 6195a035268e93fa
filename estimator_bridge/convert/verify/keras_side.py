"""Runs the Keras files for a comparison, in a process without Estimators and without the bridge.

    python -m estimator_bridge.convert.verify.keras_side REQUEST.json

The request contains the paths of a model.keras, its SavedModel and rows in .npz files, and batches
to train on. The program writes the outputs to an .npz file, and losses and speeds to a JSON file.
"""

import json
import sys
import time
from typing import Any, Callable, Optional

import numpy as np

from .arrays import message_of, read_request, write_arrays

__all__ = ["main"]

BATCH_ROWS = 512


def _load(path: str) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=True) as stored:
        return {name: stored[name] for name in stored.files}


def _predict(
    predict: Callable[[dict[str, Any]], dict[str, Any]], features: dict[str, Any], num_rows: int
) -> tuple[dict[str, np.ndarray], float]:
    """Returns the outputs of a function that is called with each batch, and rows per second."""

    def one(start: int) -> dict[str, np.ndarray]:
        batch = {name: values[start : start + BATCH_ROWS] for name, values in features.items()}
        return {name: np.asarray(value) for name, value in predict(batch).items()}

    # The first call of each batch size is slower.
    one(0)
    one(num_rows - num_rows % BATCH_ROWS if num_rows % BATCH_ROWS else 0)
    started = time.perf_counter()
    found = [one(start) for start in range(0, num_rows, BATCH_ROWS)]
    secs = time.perf_counter() - started
    outputs = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    return outputs, num_rows / secs


def _predict_tree_files(
    trees: dict[str, Any], model: Any, features: dict[str, Any], num_rows: int
) -> dict[str, dict[str, np.ndarray]]:
    """Returns library -> outputs of its file, for the numbers that the Keras model computes."""
    import keras

    from ..write.trees import FEATURES
    from .tree_side import predict_trees

    numbers = keras.Model(model.input, model.get_layer(FEATURES).output)
    table, _ = _predict(lambda batch: {"": numbers(batch)}, features, num_rows)
    columns = dict(zip(trees["names"], table[""].T))
    return {
        kind: predict_trees(kind, path, columns, trees["task"])
        for kind, path in trees["files"].items()
    }


def _find_updates(request: dict[str, Any]) -> Optional[Callable[[Any], None]]:
    """Returns the function of the written module that gives a model the Estimator's updates."""
    if not request["code"]:
        return None
    written: dict[str, Any] = {"__name__": "converted_model"}
    with open(request["code"], encoding="utf-8") as file:
        exec(compile(file.read(), request["code"], "exec"), written)  # noqa: S102 - the module that convert wrote
    return written.get("use_estimator_updates")


def _train(
    request: dict[str, Any], model: Any, features: dict[str, Any]
) -> tuple[list[float], float]:
    """Returns the loss of each step, and steps per second."""
    import keras
    import tensorflow as tf

    for layer in model.layers:
        if isinstance(layer, keras.layers.Dropout):
            # With dropout, which is random, the losses of two programs would differ.
            layer.rate = 0.0
        for cell in getattr(getattr(layer, "cell", None), "cells", [getattr(layer, "cell", None)]):
            if cell is not None:
                cell.dropout = cell.recurrent_dropout = 0.0
    labels, weights = _load(request["labels"]), _load(request["weights"])
    labels = {name: value.reshape(len(value), -1) for name, value in labels.items()}
    losses: list[float] = []
    first = 0.0
    for batch in np.array(request["batches"]):
        inputs = {name: tf.gather(values, batch) for name, values in features.items()}
        target = {name: tf.constant(value[batch]) for name, value in labels.items()}
        sample = {name: value[batch] for name, value in weights.items()}
        for name in request["divided"]:
            # The loss of the Estimator is divided by the number of these rows.
            sample[name] = sample[name] * len(batch) / max(np.count_nonzero(sample[name]), 1)
        given = {name: tf.constant(value) for name, value in sample.items()} or None
        # Without the reset, the result would be the mean loss of all batches so far. The loss is
        # computed before the step.
        model.reset_metrics()
        losses.append(_total(model.train_on_batch(inputs, target, sample_weight=given)))
        first = first or time.perf_counter()
    return losses, (len(losses) - 1) / (time.perf_counter() - first)


def _total(result: Any) -> float:
    """Returns the total loss, which is the result of train_on_batch or the first of its items."""
    return float(result[0] if isinstance(result, (list, tuple)) else result)


def main(argv: list[str]) -> int:
    """Runs the program.

    Args:
      argv: path of the request.

    Returns:
      The exit status.
    """
    request, model, features = read_request(argv[0])
    import keras
    import tensorflow as tf

    num_rows = len(next(iter(features.values())))
    call = tf.function(lambda batch: model(batch, training=False), reduce_retracing=True)
    outputs: dict[str, dict[str, np.ndarray]] = {}
    speeds: dict[str, float] = {}
    losses: list[float] = []
    plain_losses: list[float] = []
    plain_fault = ""
    outputs["keras"], speeds["keras"] = _predict(call, features, num_rows)
    if request["saved_model"]:
        loaded = tf.saved_model.load(request["saved_model"])
        signature = loaded.signatures.get("json:predict") or loaded.signatures["predict"]
        specs = signature.structured_input_signature[1]
    if request["saved_model"] and set(specs) == set(features):
        # An input function may return [rows, 1] and 32-bit integers; signatures take [rows] and the
        # dtypes of the model.
        shaped = {
            name: tf.reshape(value, [-1]) if specs[name].shape.rank == 1 else value
            for name, value in features.items()
        }
        shaped = {
            name: value if value.dtype == tf.string else tf.cast(value, specs[name].dtype)
            for name, value in shaped.items()
        }
        found = _predict(lambda batch: signature(**batch), shaped, num_rows)
        outputs["saved_model"], speeds["saved_model"] = found
    if request["trees"]:
        outputs.update(_predict_tree_files(request["trees"], model, features, num_rows))
    if request["batches"]:
        use_updates = _find_updates(request)
        if use_updates is not None:
            plain = keras.saving.load_model(request["model"])
            try:
                plain_losses, _ = _train(request, plain, features)
            except tf.errors.OpError as error:
                # The state of Keras' own optimizer may become NaN, for which Keras fails.
                plain_fault = message_of(str(error))
            use_updates(model)
        losses, speeds["training"] = _train(request, model, features)
    write_arrays(request["outputs"], outputs)
    with open(request["outputs"] + ".json", "w", encoding="utf-8") as file:
        reply = {"speeds": speeds, "losses": losses, "plain_losses": plain_losses}
        json.dump({**reply, "plain_fault": plain_fault, "keras": keras.__version__}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
