"""Keras' half of a comparison, in a process of its own: nothing of Estimators, nor of us, is
loaded there.

    python -m estimator_bridge.convert.verify.keras_side QUESTION.json

The question names a model.keras, its SavedModel, rows in an .npz file and batches to train on; the
answer is an .npz file and a JSON file.
"""

import json
import sys
import time

import numpy as np

__all__ = ["main"]

BATCH_ROWS = 512


def _load(path):
    with np.load(path, allow_pickle=True) as stored:
        return {name: stored[name] for name in stored.files}


def _ask(tf, ask, features, num_rows):
    """Answers and rows a second of a function of a batch."""

    def one(start):
        batch = {name: values[start : start + BATCH_ROWS] for name, values in features.items()}
        return {name: np.asarray(value) for name, value in ask(batch).items()}

    # The first call of each batch size is slower.
    one(0)
    one(num_rows - num_rows % BATCH_ROWS if num_rows % BATCH_ROWS else 0)
    started = time.perf_counter()
    found = [one(start) for start in range(0, num_rows, BATCH_ROWS)]
    secs = time.perf_counter() - started
    answers = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    return answers, num_rows / secs


def _train(tf, keras, question, model, features):
    """The loss of each step, and steps a second."""
    if question["code"]:
        written = {"__name__": "converted_model"}
        with open(question["code"], encoding="utf-8") as file:
            exec(compile(file.read(), question["code"], "exec"), written)
        if "use_estimator_updates" in written:
            written["use_estimator_updates"](model)
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dropout):
            # What is dropped is drawn at random: no two programs could agree on it.
            layer.rate = 0.0
        for cell in getattr(getattr(layer, "cell", None), "cells", [getattr(layer, "cell", None)]):
            if cell is not None:
                cell.dropout = cell.recurrent_dropout = 0.0
    labels, weights = _load(question["labels"]), _load(question["weights"])
    labels = {name: value.reshape(len(value), -1) for name, value in labels.items()}
    losses, first = [], None
    for batch in np.array(question["batches"]):
        inputs = {name: tf.gather(values, batch) for name, values in features.items()}
        target = {name: tf.constant(value[batch]) for name, value in labels.items()}
        sample = {name: tf.constant(value[batch]) for name, value in weights.items()} or None
        # The value is the loss of this batch alone, before its step.
        model.reset_metrics()
        losses.append(_first(model.train_on_batch(inputs, target, sample_weight=sample)))
        first = time.perf_counter() if first is None else first
    return losses, (len(losses) - 1) / (time.perf_counter() - first)


def _first(given) -> float:
    """The loss of what train_on_batch gives: of several outputs the losses of each come after."""
    return float(given[0] if isinstance(given, (list, tuple)) else given)


def main(argv: list[str]) -> int:
    """Answers the question in a JSON file."""
    import keras
    import tensorflow as tf

    with open(argv[0], encoding="utf-8") as file:
        question = json.load(file)
    features = {name: tf.constant(value) for name, value in _load(question["features"]).items()}
    num_rows = len(next(iter(features.values())))
    model = keras.saving.load_model(question["model"])
    features = {name: value for name, value in features.items() if name in model.input}
    call = tf.function(lambda batch: model(batch, training=False), reduce_retracing=True)
    answers, speeds, losses = {}, {}, []
    answers["keras"], speeds["keras"] = _ask(tf, call, features, num_rows)
    if question["saved_model"]:
        loaded = tf.saved_model.load(question["saved_model"])
        signature = loaded.signatures.get("json:predict") or loaded.signatures["predict"]
        specs = signature.structured_input_signature[1]
    if question["saved_model"] and set(specs) == set(features):
        # An input function may give one value a row as [rows, 1], and integers of 32 bits;
        # signatures take [rows] and the model's own types.
        shaped = {
            name: tf.reshape(value, [-1]) if specs[name].shape.rank == 1 else value
            for name, value in features.items()
        }
        shaped = {
            name: value if value.dtype == tf.string else tf.cast(value, specs[name].dtype)
            for name, value in shaped.items()
        }
        found = _ask(tf, lambda batch: signature(**batch), shaped, num_rows)
        answers["saved_model"], speeds["saved_model"] = found
    if question["batches"]:
        losses, speeds["training"] = _train(tf, keras, question, model, features)
    flat = {
        f"{side}/{name}": value for side, part in answers.items() for name, value in part.items()
    }
    np.savez(question["answers"], **flat)
    with open(question["answers"] + ".json", "w", encoding="utf-8") as file:
        json.dump({"speeds": speeds, "losses": losses, "keras": keras.__version__}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
