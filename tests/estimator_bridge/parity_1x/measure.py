"""Runs the cases of areas in the TensorFlow of this process and writes what they compute.

    python measure.py FOLDER losses metrics  (TensorFlow 1.15, four times)
    python -m estimator_bridge run --tf1 measure.py FOLDER losses metrics

FOLDER gets a file for each area, when the area is done.

A case is a function that builds a graph and returns tensors, or a pair (tensors, operations); with
operations, they are run twice and the tensors before, between and after.
"""

import gc
import importlib
import json
import os
import sys
import zlib

import jobs
import numpy as np
import signatures
import tensorflow as tf
import trained
import values

# Areas whose cases go on from a checkpoint of 1.15.
PROGRAMS = ("programs", "more_programs", "timeseries_programs", "state_space_programs")
GOING_ON = {"trained": trained}
GOING_ON.update(dict.fromkeys((*PROGRAMS, "sdca", "forests", "ready_made", "sequences"), jobs))
# Of a larger tensor only so many values are kept, at equal distances.
KEPT = 120
NAMES = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    *["..", "..", "..", "estimator_bridge", "audit", "symbols", "supplied.json"],
)
HIDDEN = (
    values.INPUTS,
    "table_initializer",
    "cond_context",
    "while_context",
    "savers",
    "saveable_objects",
)


def flatten(result, path=""):
    """Yields (name, value) of the parts of dictionaries, sequences and sparse tensors."""
    if isinstance(result, dict):
        for key in sorted(result):
            for pair in flatten(result[key], f"{path}/{key}"):
                yield pair
    elif isinstance(result, tf.SparseTensor):
        parts = [("indices", result.indices), ("values", result.values)]
        for pair in flatten(dict(parts + [("shape", result.dense_shape)]), path):
            yield pair
    elif isinstance(result, (list, tuple)):
        for place, part in enumerate(result):
            for pair in flatten(part, f"{path}/{place}"):
                yield pair
    elif result is not None:
        yield path.strip("/") or "result", result


def stored(value):
    """Returns an array as JSON: its type, its shape, its values."""
    value = np.asarray(value)
    flat = value.reshape(-1)
    flat = flat[:: max(1, flat.size // KEPT)]
    if value.dtype.kind in "OSU":
        texts = [one.decode("latin1") if isinstance(one, bytes) else str(one) for one in flat]
        return {"type": "text", "shape": list(value.shape), "values": texts}
    if value.dtype.kind == "f":
        flat = [float(f"{one:.9g}") for one in flat.tolist()]
    else:
        flat = flat.tolist()
    return {"type": value.dtype.name, "shape": list(value.shape), "values": flat}


def is_tensor(value):
    # On TensorFlow 2 a resource variable is no tf.compat.v1.Variable.
    return isinstance(value, (tf.Tensor, tf.Operation)) or hasattr(value, "initializer")


def evaluate(session, fetches):
    """Returns the values of flattened fetches, some of which may be Python values."""
    tensors = {name: one for name, one in fetches.items() if is_tensor(one)}
    found = session.run(tensors)
    return {
        name: stored(found.get(name, one))
        for name, one in fetches.items()
        if not isinstance(one, tf.Operation)
    }


def load(session, variables):
    """Gives trainable and moving variables values that depend on their names alone."""
    for variable in variables:
        if not variable.dtype.is_floating:
            continue
        initial = session.run(variable)
        random = np.random.RandomState(zlib.crc32(variable.name.encode()))
        low, high = (0.5, 1.5) if initial.size and (initial == 1).all() else (-0.5, 0.5)
        numbers = np.round(random.uniform(low, high, initial.shape) * 1024) / 1024
        variable.load(values.nudged(numbers.astype(initial.dtype)), session)


def gradients(outputs):
    """Returns the gradients of a weighted sum of the real outputs."""
    real = [one for one in outputs.values() if isinstance(one, tf.Tensor) and one.dtype.is_floating]
    sources = [(one.name, one) for one in tf.trainable_variables()]
    sources += [
        (f"input/{place}", one) for place, one in enumerate(tf.get_collection(values.INPUTS))
    ]
    if not real or not sources:
        return {}
    total = 0.0
    for one in real:
        flat = tf.reshape(tf.cast(one, tf.float32), [-1])
        total += tf.reduce_sum(flat * tf.cos(tf.cast(tf.range(tf.size(flat)), tf.float32)))
    found = tf.gradients(total, [source for _, source in sources])
    return {
        name: tf.convert_to_tensor(one) for (name, _), one in zip(sources, found) if one is not None
    }


def collections(graph):
    """Returns collection -> the names of what is in it."""
    found = {}
    for key in graph.get_all_collection_keys():
        if isinstance(key, str) and key not in HIDDEN and not key.startswith("_"):
            items = graph.get_collection(key)
            if items:
                found[key] = [getattr(item, "name", type(item).__name__) for item in items]
    return found


def describe(variables):
    return [
        # The clusters of k-means have no shape before they have been chosen.
        [
            one.name,
            None if one.shape.dims is None else one.shape.as_list(),
            one.dtype.base_dtype.name,
        ]
        for one in variables
    ]


def summary_tags(session):
    """Returns the tags that the summaries of the graph write."""
    tags = []
    for one in session.run(tf.get_collection(tf.GraphKeys.SUMMARIES)):
        tags += [value.tag for value in tf.Summary.FromString(one).value]
    return sorted(tags)


def run(case, seed=1):
    """Returns what a case computes: variables, collections, values, gradients; or its error."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(seed)
        try:
            return run_in(graph, case)
        except Exception as error:
            values.show_error()
            return {"error": type(error).__name__, "message": str(error)[:300]}


def run_in(graph, case):
    result = case()
    operations = []
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], list):
        result, operations = result
    outputs = dict(flatten(result))
    record = {
        "variables": describe(tf.global_variables()),
        "local_variables": describe(tf.local_variables()),
        "collections": collections(graph),
    }
    found = gradients(outputs) if not operations else {}
    with tf.Session(config=values.one_thread()) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        record["initial"] = evaluate(session, {one.name: one for one in tf.global_variables()})
        moving = tf.moving_average_variables() + tf.get_collection("model_variables")
        load(session, sorted(set(tf.trainable_variables() + moving), key=lambda one: one.name))
        record["outputs"] = evaluate(session, outputs)
        for step in range(2 if operations else 0):
            session.run(operations)
            for name, value in evaluate(session, outputs).items():
                record["outputs"][f"{name} after {step + 1}"] = value
        if operations:
            for variable in tf.global_variables():
                key = f"variable {variable.name}"
                record["outputs"][key] = evaluate(session, {key: variable})[key]
        record["gradients"] = evaluate(session, found)
        record["summaries"] = summary_tags(session)
    return record


def differing(first, second):
    """Returns the names of the values that differ between two records; NaN is equal to NaN."""
    return sorted(
        f"{part}/{name}"
        for part in ("initial", "outputs", "gradients")
        for name, value in first.get(part, {}).items()
        if json.dumps(second.get(part, {}).get(name), sort_keys=True)
        != json.dumps(value, sort_keys=True)
    )


def moved(first, second):
    """Returns value -> how far it moves when every input moves by one rounding step."""
    found = {}
    for name in differing(first, second):
        part, _, key = name.partition("/")
        one, other = first[part][key], second.get(part, {}).get(key)
        if other and one["shape"] == other["shape"] and one["type"].startswith("float"):
            with np.errstate(all="ignore"):
                away = np.abs(np.subtract(one["values"], other["values"], dtype=np.float64))
            away = away[np.isfinite(away)]
            found[name] = float(f"{away.max():.2g}") if away.size else 0.0
    return found


def measure(area, native, start=None):
    """Returns case -> record of an area, or the signatures.

    Args:
      area: name of a file of cases, or `signatures`.
      native: whether this is TensorFlow 1.15.
      start: file of records whose ends the cases of GOING_ON begin with.
    """
    if area == "signatures":
        with open(NAMES) as file:
            return signatures.of_names(tf.contrib, json.load(file), native)
    cases = importlib.import_module("cases." + area).CASES
    if area in GOING_ON:
        return GOING_ON[area].measure(cases, native, starts(area, native, start))
    found = {}
    for name, case in cases.items():
        record = run(case)
        if native:
            record.pop("message", None)
            # A race in 1.15 is no seed: such values are compared, within what two runs are apart.
            apart = moved(record, run(case))
            record["random"] = [
                name for name in differing(record, run(case, seed=2)) if name not in apart
            ]
            trained.keep_apart(record, apart)
            values.nudge = 1
            record["moved"] = moved(record, run(case))
            values.nudge = 0
        found[name] = record
        if not len(found) % 20:
            gc.collect()
    return found


def starts(area, native, start):
    """Returns case -> record to begin with."""
    if start:
        with open(start) as file:
            found = json.load(file)[area]
        # What was the end becomes the beginning.
        return {
            case: dict(one, start=one["end"], checkpoint=one["end"])
            for case, one in found.items()
            if "end" in one
        }
    if native:
        return {}
    # Python 3.7 of 1.15 cannot import it.
    import compare

    return compare.read(area)


def write(folder, area, found):
    """Writes what an area computes; its file is there only when it is whole."""
    path = os.path.join(folder, area + ".json")
    with open(path + ".part", "w") as file:
        json.dump(found, file, sort_keys=True)
    os.rename(path + ".part", path)


def main(arguments):
    start = next((one[len("--start=") :] for one in arguments if one.startswith("--start=")), None)
    arguments = [one for one in arguments if not one.startswith("-")]
    tf.logging.set_verbosity(tf.logging.ERROR)
    # Graphs have many cycles; collecting them after every few nodes takes most of the time.
    gc.disable()
    # The bridge also says 1.15; it needs Python 3.9.
    native = sys.version_info < (3, 8)
    if native:
        used = None
    else:
        # Python 3.7 of 1.15 cannot import it.
        import names

        used = names.record(tf.contrib)
    # Modules and classes stay; the collections between cases need not look at them.
    gc.freeze()
    for area in arguments[1:]:
        write(arguments[0], area, measure(area, native, start))
    if used is not None:
        write(arguments[0], "without cases", names.without_cases(tf.contrib, used))


if __name__ == "__main__":
    main(sys.argv[1:])
