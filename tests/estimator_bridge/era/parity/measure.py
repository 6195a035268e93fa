"""Trains, evaluates, predicts, exports and serves programs in the TensorFlow of this process.

    python measure.py TASK FOLDER OUTPUT PROGRAM...

trains each program in FOLDER/PROGRAM until step 100 (TASK start); evaluates it, trains it until
step 150, evaluates and exports it (go_on); or evaluates it and answers with its export (evaluate);
or answers only (serve). It writes what they compute as JSON. go_on_again is go_on; with
go_on_nudged, each real variable, and the rows, are first moved by a rounding step.
"""

import collections
import glob
import itertools
import json
import os
import random
import sys
import warnings

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rows  # noqa: E402
from more_programs import ALL  # noqa: E402
from rows import nudged, read_rows, serialize  # noqa: E402

FIRST_STEPS, LAST_STEP = 100, 150
# The object graph, and counters of savers.
UNREAD = ("_CHECKPOINTABLE_OBJECT_GRAPH", "save_counter")
# Values of a tensor that are kept, rows that are predicted.
KEPT, PREDICTED = 40, 8


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


def answers(program, estimator):
    """Returns name -> value of an evaluation and of eight predictions."""
    evaluation = estimator.evaluate(program.input_fn, 4)
    found = {"eval " + key: one for key, one in evaluation.items()}
    predictions = list(itertools.islice(estimator.predict(program.input_fn), PREDICTED))
    for key in predictions[0]:
        # Those of several heads are pairs.
        found[f"predict {key}"] = np.stack([one[key] for one in predictions])
    return {key: stored(one) for key, one in found.items()}


def events(folder):
    """Returns tag and step -> value of the summaries; of others than scalars, that they exist."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "*tfevents*"), recursive=True)):
        for event in tf.compat.v1.train.summary_iterator(path):
            for one in event.summary.value:
                is_scalar = one.WhichOneof("value") == "simple_value"
                value = np.float32(one.simple_value) if is_scalar else np.int64(0)
                if not one.tag.endswith("/sec"):
                    found[f"{one.tag} at {event.step}"] = stored(value)
    return found


def nudge(folder, precision):
    """Moves each real variable by one rounding step."""
    moved = {}
    for name, value in variables(folder).items():
        if value.dtype.kind == "f" and value.size:
            # Layers may compute in half precision; optimizers do not.
            value = nudged(value, np.float32 if name.startswith("Adam/") else precision)
        moved[name] = value
    path = tf.train.latest_checkpoint(folder)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = {key: tf.compat.v1.Variable(one, name=f"v{place}", use_resource=True)
                for place, (key, one) in enumerate(moved.items())}  # fmt: skip
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver(made).save(session, path, write_meta_graph=False)


def find_exports(folder):
    """Returns place -> newest export: of the program's own exporters too."""
    found = {}
    pattern = os.path.join(folder, "export*", "**", "saved_model.pb")
    for path in sorted(glob.glob(pattern, recursive=True)):
        export = os.path.dirname(path)
        found[os.path.relpath(os.path.dirname(export), folder)] = export
    return found


def serve(folder, precision=np.float32):
    """Answers with the exports of a folder, by both ways to load one.

    Args:
      folder: of a program.
      precision: a type; rows are moved by one step of it.

    Returns:
      The answers for eight rows, and those for rows that were moved by one rounding step: place,
      signature and output -> value.
    """
    found = ({}, {})
    for place, export in find_exports(folder).items():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            loaded = tf.compat.v1.saved_model.load(session, ["serve"], export)
            signatures = loaded.signature_def.items()
            inputs = (inputs_of(signatures), inputs_of(signatures, precision))
            for values, given in zip(found, inputs):
                for name, one in signatures:
                    feeds = {at.name: given[name][key] for key, at in one.inputs.items()}
                    outputs = {key: at.name for key, at in one.outputs.items()}
                    for key, value in session.run(outputs, feeds).items():
                        values[f"{place}: {name}: {key}"] = stored(value)
        again = tf.saved_model.load(export)
        for name, given in inputs_of(signatures).items():
            tensors = {key: tf.constant(value) for key, value in given.items()}
            for key, value in again.signatures[name](**tensors).items():
                path = f"{place}: {name}: {key}"
                found[0][f"{path}, loaded again"] = stored(value.numpy())
                found[1][f"{path}, loaded again"] = found[1][path]
    return found


def inputs_of(signatures, precision=None):
    """Returns signature -> input -> values of eight rows, moved by one step of a type."""
    features, _ = read_rows()
    first = {name: one[:PREDICTED] for name, one in features.items()}
    if precision is not None:
        first["x"] = nudged(first["x"], precision)
    # Serialized examples, and the one tensor of some models, have names of their own.
    examples = np.array(serialize(first), dtype=object)
    others = collections.defaultdict(lambda: first["x"], {tf.string.as_datatype_enum: examples})
    return {
        name: {key: first.get(key, others[at.dtype]) for key, at in one.inputs.items()}
        for name, one in signatures
    }


def run(task, name, folder):
    """Returns what a program computes."""
    if task == "serve":
        return {"served": serve(folder)[0]}
    program = ALL[name]
    if task == "go_on_nudged":
        nudge(folder, program.precision)
    rows.moved_by = program.precision if task == "go_on_nudged" else None
    # Layers are numbered, and draw their first values, in each process.
    tf.keras.backend.clear_session()
    random.seed(1)
    estimator = program.build(folder)
    if task == "start":
        program.train(estimator, program.input_fn, FIRST_STEPS)
        return {}
    record = {"restored": answers(program, estimator)}
    if task == "evaluate":
        return dict(record, served=serve(folder)[0])
    program.train(estimator, program.input_fn, LAST_STEP)
    record["after"] = answers(program, estimator)
    record["variables"] = {key: stored(one) for key, one in variables(folder).items()}
    record["events"] = events(folder)
    if program.precision == np.float16:
        # Each operation rounds its result to half precision, as its version does.
        record["rounding"] = float(np.finfo(np.float16).eps) / 2
    if task == "go_on":
        estimator.export_saved_model(os.path.join(folder, "exports"), program.receive)
        record["served"], record["served, rows moved"] = serve(folder, program.precision)
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
            found[name] = {"error": type(error).__name__, "message": f"{task}: {error}"[:400]}
            if os.environ.get("SHOW_ERRORS"):
                raise
        with open(output, "w") as file:
            json.dump(found, file, sort_keys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
