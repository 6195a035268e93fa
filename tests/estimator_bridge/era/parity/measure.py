"""Trains, evaluates and predicts programs in the TensorFlow of this process.

    python measure.py TASK FOLDER OUTPUT PROGRAM...

trains each program in FOLDER/PROGRAM until step 100 (TASK start), evaluates it and trains it until
step 150 (TASK go_on), or evaluates it only (TASK evaluate), and writes what it computes as JSON.
go_on_again does the same; with go_on_nudged, each real variable is first moved by a rounding step.
"""

import glob
import itertools
import json
import os
import sys
import warnings

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs  # noqa: E402

FIRST_STEPS, LAST_STEP = 100, 150
# The object graph, and counters of savers.
UNREAD = ("_CHECKPOINTABLE_OBJECT_GRAPH", "save_counter")
# Values of a tensor that are kept.
KEPT = 40


def stored(value):
    value = np.asarray(value)
    flat = value.reshape(-1)
    flat = flat[:: max(1, flat.size // KEPT)]
    kind = value.dtype.kind
    numbers = [float(f"{one:.9g}") for one in flat] if kind == "f" else flat.tolist()
    if kind not in "fiub":
        numbers = [repr(one) for one in flat]
    return {"shape": list(value.shape), "values": numbers, "is_real": kind == "f"}


def variables(folder):
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(folder))
    names = sorted(reader.get_variable_to_shape_map())
    return {name: reader.get_tensor(name) for name in names if not name.endswith(UNREAD)}


def answers(name, estimator):
    """Returns name -> value of an evaluation and of eight predictions."""
    source = programs.input_of(name)
    found = {"eval " + key: one for key, one in estimator.evaluate(source, 4).items()}
    rows = list(itertools.islice(estimator.predict(source), 8))
    for key in rows[0]:
        found["predict " + key] = np.stack([row[key] for row in rows])
    return {key: stored(one) for key, one in found.items()}


def tags(folder):
    found = set()
    for path in glob.glob(os.path.join(folder, "**", "*tfevents*"), recursive=True):
        for event in tf.compat.v1.train.summary_iterator(path):
            found.update(one.tag for one in event.summary.value)
    return sorted(one for one in found if not one.endswith("/sec"))


def nudge(folder):
    """Moves each real variable by one rounding step, up and down in turns."""
    moved = {}
    for name, value in variables(folder).items():
        if value.dtype.kind == "f" and value.size:
            flat = value.reshape(-1)
            flat[::2] = np.nextafter(flat[::2], np.float32(np.inf))
            flat[1::2] = np.nextafter(flat[1::2], np.float32(-np.inf))
        moved[name] = value
    path = tf.train.latest_checkpoint(folder)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = {key: tf.compat.v1.Variable(one, name=f"v{place}", use_resource=True)
                for place, (key, one) in enumerate(moved.items())}  # fmt: skip
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver(made).save(session, path, write_meta_graph=False)


def run(task, name, folder):
    """Returns what a program computes."""
    if task == "go_on_nudged":
        nudge(folder)
    # Layers are numbered in each process.
    tf.keras.backend.clear_session()
    estimator = programs.PROGRAMS[name][1](folder)
    record = {}
    if task in ("go_on", "evaluate"):
        record["restored"] = answers(name, estimator)
    if task == "evaluate":
        return record
    until = FIRST_STEPS if task == "start" else LAST_STEP
    estimator.train(programs.input_of(name), max_steps=until)
    if task != "start":
        record["after"] = answers(name, estimator)
        record["variables"] = {key: stored(one) for key, one in variables(folder).items()}
        record["tags"] = tags(folder)
    return record


def main(task, folder, output, *names):
    tf.get_logger().setLevel("ERROR")
    warnings.simplefilter("ignore")
    # For MirroredStrategy.
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    found = {}
    for name in names:
        try:
            found[name] = run(task, name, os.path.join(folder, name))
        except Exception as error:
            found[name] = {"error": type(error).__name__, "message": str(error)[:400]}
            if os.environ.get("SHOW_ERRORS"):
                raise
        with open(output, "w") as file:
            json.dump(found, file, sort_keys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
