"""Trains estimators from a checkpoint of TensorFlow 1.15, and reads what becomes of it.

1.15 trains a few steps; its variables are stored as `start`. Both TensorFlows restore them from a
checkpoint, train on, evaluate and predict.
"""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
import values

FIRST_STEPS, MORE_STEPS = 4, 50


def read_variables(folder):
    """Returns name -> array of the newest checkpoint in a folder."""
    reader = tf.train.load_checkpoint(folder)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def write_checkpoint(folder, start):
    """Writes variables as the checkpoint that a job in the folder restores."""
    prefix = os.path.join(folder, "model.ckpt-1")
    names = sorted(start)
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(start[name]["values"], start[name]["type"]) for name in names]
        tensors = [tf.reshape(one, start[name]["shape"]) for one, name in zip(tensors, names)]
        session.run(
            tf.raw_ops.SaveV2(
                prefix=prefix,
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                tensors=tensors,
            )
        )
    tf.train.update_checkpoint_state(folder, prefix)


def text(content):
    """Returns bytes as a text that JSON can keep; each byte that is no UTF-8 stays one sign."""
    return content.decode("utf-8", "surrogateescape")


def as_record(name, array):
    array = np.asarray(array)
    flat = array.ravel()
    kept = (
        [float(f"{one:.9g}") for one in flat.tolist()]
        if array.dtype.kind == "f"
        else [text(one) if isinstance(one, bytes) else one for one in flat.tolist()]
    )
    return {"type": array.dtype.name, "shape": list(array.shape), "values": kept}


def train(estimator, input_fn, **steps):
    """Trains an estimator; those of tf.contrib.learn have `fit` in 1.15."""
    getattr(estimator, "fit", estimator.train if hasattr(estimator, "train") else None)(
        input_fn=input_fn, **steps
    )


def run(build, start=None):
    """Returns the record of an estimator.

    Args:
      build: function from a folder to (estimator, input_fn).
      start: the variables to begin with; None trains them first.
    """
    folder = tempfile.mkdtemp()
    try:
        if start is None:
            estimator, input_fn = build(folder)
            train(estimator, input_fn, steps=FIRST_STEPS)
            start = {name: as_record(name, one) for name, one in read_variables(folder).items()}
            shutil.rmtree(folder)
            os.mkdir(folder)
        write_checkpoint(folder, start)
        estimator, input_fn = build(folder)
        before = int(np.ravel(start["global_step"]["values"])[0])
        train(estimator, input_fn, max_steps=before + MORE_STEPS)
        found = read_variables(folder)
        end = {name: as_record(name, one) for name, one in found.items()}
        outputs = {f"variable {name}": one for name, one in end.items()}
        result = estimator.evaluate(input_fn=input_fn, steps=1)
        outputs.update({f"eval {name}": as_record(name, one) for name, one in result.items()})
        predicted = estimator.predict(input_fn=input_fn)
        row = next(predicted)
        predicted.close()
        row = row if isinstance(row, dict) else {"value": row}
        outputs.update({f"predict {name}": as_record(name, one) for name, one in row.items()})
        return {
            "start": start,
            "end": end,
            "variables": sorted(
                [name, list(one.shape), one.dtype.name] for name, one in found.items()
            ),
            "local_variables": [],
            "collections": {},
            "summaries": [],
            "initial": {},
            "gradients": {},
            "outputs": outputs,
        }
    finally:
        shutil.rmtree(folder)


def measure(cases, native, starts):
    """Returns case -> record.

    Args:
      cases: case -> function from a folder to (estimator, input_fn).
      native: whether this is TensorFlow 1.15.
      starts: case -> record whose `start` to begin with; {} trains first.
    """
    found = {}
    for name, build in cases.items():
        try:
            record = run(build, starts.get(name, {}).get("start"))
        except Exception as error:
            found[name] = {"error": type(error).__name__, "message": str(error)[:300]}
            values.show_error()
            continue
        if native:
            values.nudge = 1
            other = run(build, record["start"])
            values.nudge = 0
            record["moved"], record["random"] = distances(record, other), []
            keep_apart(record, distances(record, run(build, record["start"])))
        found[name] = record
    return found


def keep_apart(record, apart):
    """Stores how far two runs of 1.15 are apart, where they are."""
    if apart:
        record["apart"] = apart


def distances(record, other):
    """Returns value -> how far it moved with the inputs."""
    found = {}
    for key, one in record["outputs"].items():
        two = other["outputs"].get(key)
        if one["type"].startswith("float") and two and two["shape"] == one["shape"]:
            away = np.abs(np.subtract(one["values"], two["values"], dtype=np.float64))
            if away.size and away.max() > 0:
                found["outputs/" + key] = float(f"{away.max():.2g}")
    return found
