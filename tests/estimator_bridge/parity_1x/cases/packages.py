"""Cases of the packages of tf.contrib that few programs used, and of reversible layers."""

import functools
import importlib
import os
import tempfile

import numpy as np
import tensorflow as tf
import values
from tensorflow.python.eager import context

CASES = {}
slim, layers = tf.contrib.slim, tf.contrib.layers
# 1.15 imports some packages by statement only.
recurrent, tfprof, checkpoint, memory_stats = (
    getattr(tf.contrib, name, None) or importlib.import_module("tensorflow.contrib." + name)
    for name in ("recurrent", "tfprof", "checkpoint", "memory_stats")
)
metrics = tf.contrib.eager.metrics


def shown(function, *arguments, **options):
    """Returns what a function returns as text, or the type of its error."""
    try:
        return str(function(*arguments, **options))
    except Exception as error:
        return type(error).__name__


# The module `utils` of slim and of layers.
def aliases():
    utils = slim.utils
    one, two = tf.identity(values.real(2), name="one"), tf.identity(values.real(2), name="two")
    found = {"none": str(utils.get_tensor_aliases(one))}
    utils.append_tensor_alias(one, "first/")
    utils.append_tensor_alias(one, "second")
    found["two"] = str(utils.get_tensor_aliases(one))
    found["all"] = str(utils.gather_tensors_aliases([one, two]))
    utils.collect_named_outputs(["a", "b"], "third/", two)
    utils.collect_named_outputs(None, "fourth", two)
    utils.collect_named_outputs("a", "fifth", one)
    found["dict"] = str(list(utils.convert_collection_to_dict("a", clear_collection=True)))
    found["cleared"] = str(list(utils.convert_collection_to_dict("a")))
    return found


def constants():
    utils = slim.utils
    given = [
        *(True, 3, "text", [1, 2], tf.constant(5), tf.constant([1.0, 2.0]), tf.zeros([2]) + 1),
        *(tf.placeholder(tf.bool), tf.Variable(True), None),
    ]
    found = {}
    for place, value in enumerate(given):
        found[f"{place}"] = shown(utils.constant_value, value)
        found[f"{place}, bool"] = shown(utils.constant_value, value, tf.bool)
    return found


def conditions():
    utils = slim.utils
    given = [True, False, None, 1, 0, tf.constant(True), np.bool_(False)]
    one, two = (lambda: "one"), (lambda: "two")
    found = {}
    for place, value in enumerate(given):
        found[f"{place}"] = shown(utils.smart_cond, value, one, two)
        if not isinstance(value, tf.Tensor):
            found[f"{place}, static"] = shown(utils.static_cond, value, one, two)
    found["no function"] = shown(lambda: utils.smart_cond(True, 1, lambda: 2))
    found["no second function"] = shown(lambda: utils.static_cond(True, lambda: 2, 1))
    x = values.real(3)
    chosen = utils.smart_cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x * 3, name="mine")
    return {"chosen": chosen, "shown": found}


def sizes():
    utils, shape = slim.utils, tf.TensorShape
    found = {}
    given = [[2, 3, 4], [2, None, 4], None, [2, 3], []]
    for one in given:
        for kind in ("channels_first", "channels_last"):
            if one == [] and kind == "channels_first":
                continue
            found[f"{one} {kind}"] = shown(utils.channel_dimension, shape(one), kind)
        found[f"{one} last"] = shown(utils.last_dimension, shape(one))
        found[f"{one} rank"] = shown(utils.last_dimension, shape(one), min_rank=3)
    pairs = [2, (1, 2), [1, 2], shape([3, 4]), shape([3, 4, 5]), "a", 2.0, True, (1.0, 2)]
    for place, one in enumerate(pairs):
        found[f"pair {place}"] = shown(utils.two_element_tuple, one)
    for place, one in enumerate([2, (1, 2), shape([3, 4]), (1, 2, 3), 0, (1, -1), "12", 2.0, "a"]):
        found[f"integers {place}"] = shown(utils.n_positive_integers, 2, one)
    found["no integers"] = shown(lambda: utils.n_positive_integers(0, 3))
    for one in (None, ["a"], {"w": ["a"]}):
        found[f"collections {one}"] = [
            str(slim.utils.get_variable_collections(one, name)) for name in ("w", "b")
        ]
    return found


for _make in (aliases, constants, conditions, sizes):
    CASES[f"slim.utils, {_make.__name__}"] = _make
CASES["layers.utils, by its path"] = lambda: importlib.import_module(
    "tensorflow.contrib.layers.python.layers.utils"
).collect_named_outputs("a", "b", values.real(2))


# Summaries of slim.
def summarized(kind, **options):
    made = {
        "histogram": lambda: tf.identity(values.real(4), name="scope/x"),
        "scalar": lambda: tf.identity(values.real(), name="scope/x"),
        "zero_fraction": lambda: tf.nn.relu(values.real(4), name="scope/x"),
        "image": lambda: tf.identity(values.real(2, 3, 3, 1), name="scope/x"),
    }[kind]()
    getattr(slim.summaries, f"add_{kind}_summary")(made, **options)
    getattr(slim.summaries, f"add_{kind}_summary")(made, prefix="before", **options)
    suffix = "summaries"
    getattr(slim.summaries, f"add_{kind}_{suffix}")([made, made], prefix="all")
    return {"x": made}


for _kind in ("histogram", "scalar", "zero_fraction", "image"):
    CASES[f"slim.summaries, {_kind}"] = functools.partial(summarized, _kind)
    CASES[f"slim.summaries, {_kind}, named"] = functools.partial(summarized, _kind, name="mine")
for _kind in ("scalar", "image"):
    CASES[f"slim.summaries, {_kind}, printed"] = functools.partial(
        summarized, _kind, print_summary=True
    )
CASES["slim.summaries, a number"] = lambda: slim.summaries.add_scalar_summary(3.0)


def summarized_layer(kind):
    slim.fully_connected(values.real(2, 4), 3)
    return {"names": [one.op.name for one in getattr(slim, f"summarize_{kind}")()]}


for _kind in ("biases", "variables", "weights"):
    CASES[f"slim.summarize_{_kind}"] = functools.partial(summarized_layer, _kind)


# Reversible layers.
def dense(x):
    return tf.layers.dense(x, 4, activation=tf.nn.tanh)


def reversible(again=False, **options):
    f, g = options.pop("f", dense), options.pop("g", dense)
    with tf.variable_scope("outer"):
        found = layers.rev_block(values.real(3, 4), values.real(3, 4, seed=2), f, g, **options)
        if again:
            found = layers.rev_block(*found, f=f, g=g, **options)
    return list(found)


def with_side(x, side):
    return tf.layers.dense(x, 4) * side[0]


def regularized(x):
    return tf.layers.dense(x, 4, kernel_regularizer=layers.l2_regularizer(0.1))


for _name, _options in {
    "": {},
    ", two layers": {"num_layers": 2},
    ", without training": {"num_layers": 2, "is_training": False},
    ", lists": {"num_layers": 2, "f": [dense, tf.nn.tanh], "g": [tf.sin, dense]},
    ", wrong list": {"num_layers": 2, "f": [dense]},
    ", twice": {"again": True},
    ", regularized": {"f": regularized},
}.items():
    CASES["layers.rev_block" + _name] = functools.partial(reversible, **_options)
CASES["layers.rev_block, side inputs"] = lambda: reversible(
    f=with_side, g=with_side, f_side_input=[values.real(3, 4)], g_side_input=[values.real(4)]
)


# Cells over sequences.
def sequences(name, cells, **options):
    made = [getattr(tf.nn.rnn_cell, cell)(3) for cell in cells]
    return getattr(recurrent, name)(*made, values.real(2, 4, 3), dtype=tf.float32, **options)


for _name, _options in {
    "": {},
    ", time major": {"time_major": True},
    ", scope": {"scope": "mine"},
    ", reverse": {"reverse": True},
    ", lengths": {"sequence_length": [1, 4]},
}.items():
    CASES["recurrent.functional_rnn" + _name] = functools.partial(
        sequences, "functional_rnn", ["LSTMCell"], **_options
    )
CASES["recurrent.bidirectional_functional_rnn"] = functools.partial(
    sequences, "bidirectional_functional_rnn", ["LSTMCell", "GRUCell"]
)


# Metrics of tf.contrib.eager.
def in_graph(kind, arguments, **options):
    metric = getattr(metrics, kind)(**options)
    update = metric(*arguments())
    names = [one.name for one in metric.variables]
    return {"value": metric.result(), "names": str([metric.name, names])}, [update]


def eagerly(kind, arguments, **options):
    with context.eager_mode():
        metric = getattr(metrics, kind)(**options)
        found = metric(*arguments())
        metric(*arguments())
        other = getattr(metrics, kind)(**options)
        other(*arguments())
        before = metric.result().numpy()
        metric.aggregate([other])
        after = [one.numpy() for one in metric.variables]
        metric.init_variables()
        return {
            "returned": [np.asarray(one) for one in found]
            if isinstance(found, tuple)
            else np.asarray(found),
            "before": before,
            "after": after,
            "start": [one.numpy() for one in metric.variables],
            "names": str([one.name for one in metric.variables]),
        }


LABELS = [0, 1, 1, 0]
SHARES = [[0.3, 0.7], [0.2, 0.8], [0.9, 0.1], [0.6, 0.4]]
for _name, (_kind, _arguments, _options) in {
    "Mean": ("Mean", lambda: (values.array(2, 3),), {}),
    "Mean, weights": ("Mean", lambda: (values.array(2, 3), values.array(2, 1, seed=2)), {}),
    "Mean, named": ("Mean", lambda: (values.array(3),), {"name": "my own", "dtype": tf.float32}),
    "Mean, global": ("Mean", lambda: (values.array(3),), {"use_global_variables": True}),
    "Accuracy": ("Accuracy", lambda: (LABELS, [0, 1, 0, 1]), {}),
    "Accuracy, weights": ("Accuracy", lambda: (LABELS, [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]), {}),
    "Accuracy, shapes": ("Accuracy", lambda: (LABELS, [0, 1, 0]), {}),
    "SparseAccuracy": ("SparseAccuracy", lambda: (LABELS, SHARES), {}),
    "CategoricalAccuracy": ("CategoricalAccuracy", lambda: (SHARES[::-1], SHARES), {}),
    "BinaryAccuracy": ("BinaryAccuracy", lambda: ([1, 0, 1], [0.3, 0.5, 0.6]), {"threshold": 0.5}),
}.items():
    CASES[f"eager.metrics.{_name}"] = functools.partial(eagerly, _kind, _arguments, **_options)
    if "shapes" not in _name:
        CASES[f"eager.metrics.{_name}, in a graph"] = functools.partial(
            in_graph,
            _kind,
            lambda arguments=_arguments: [tf.constant(one) for one in arguments()],
            **_options,
        )


# Objects in checkpoints.
def stored(make):
    """Returns what a checkpoint with an object contains."""
    folder = tempfile.mkdtemp()
    root = tf.train.Checkpoint(mine=make())
    with tf.Session():
        path = root.save(os.path.join(folder, "model"))
    reader = tf.train.load_checkpoint(path)
    keys = [one for one in reader.get_variable_to_shape_map() if "OBJECT" not in one]
    return path, {key: np.asarray(reader.get_tensor(key)) for key in sorted(keys)}


def arrays():
    made = checkpoint.NumpyState()
    made.matrix, made.number = np.arange(6.0).reshape(2, 3), np.int64(5)
    return made


def restored():
    path, _ = stored(arrays)
    early, late = checkpoint.NumpyState(), checkpoint.NumpyState()
    early.matrix = np.zeros([1])
    for one in (early, late):
        with tf.Session():
            tf.train.Checkpoint(mine=one).restore(path)
    return {"early": early.matrix, "late": [late.matrix, late.number]}


def tracked():
    made = checkpoint.UniqueNameTracker()
    for place, name in enumerate(["x", "x", "x_1", "y"]):
        variable = tf.get_variable(f"v{place}", initializer=float(place), use_resource=True)
        made.track(variable, name)
    return made


def names_of(make):
    return str(sorted(name for name, _ in make()._checkpoint_dependencies))


CASES["checkpoint.NumpyState"] = lambda: stored(arrays)[1]
CASES["checkpoint.NumpyState, restored"] = restored
CASES["checkpoint.NumpyState, no array"] = lambda: setattr(checkpoint.NumpyState(), "a", 3)
CASES["checkpoint.UniqueNameTracker"] = lambda: {"names": names_of(tracked)}
CASES["checkpoint.UniqueNameTracker, no object"] = lambda: checkpoint.UniqueNameTracker().track(
    3, "a"
)
CASES["checkpoint.dot_graph_from_checkpoint"] = lambda: {
    "text": "\n".join(sorted(checkpoint.dot_graph_from_checkpoint(stored(arrays)[0]).split("\n")))
}
for _kind, _parts in {"List": lambda: [arrays()], "Mapping": lambda: {"a": arrays()}}.items():
    CASES[f"checkpoint.{_kind}"] = lambda kind=_kind, parts=_parts: stored(
        lambda: getattr(checkpoint, kind)(parts())
    )[1]


# Profiles.
def profiled(**options):
    folder = tempfile.mkdtemp()
    x = tf.get_variable("x", [3, 3], initializer=tf.ones_initializer())
    y = tf.matmul(x, x)
    build = tf.profiler.ProfileOptionBuilder
    quiet = build(build.time_and_memory()).with_empty_output().build()
    with tfprof.ProfileContext(folder, **options) as profile, tf.Session() as session:
        profile.add_auto_profiling("op", quiet, [2])
        for step in range(4):
            if step == 3:
                profile.dump_next_step()
            session.run(y if step else x.initializer)
    return {
        "files": str(sorted(os.listdir(folder))),
        "profiles": shown(lambda: sorted(profile.get_profiles("op"))),
        "missing": shown(lambda: profile.get_profiles("code")),
    }


CASES["tfprof.ProfileContext"] = lambda: profiled(trace_steps=[0, 1], dump_steps=[1])
CASES["tfprof.ProfileContext, nothing"] = lambda: profiled(trace_steps=[], dump_steps=[])
CASES["tfprof.ProfileContext, by itself"] = lambda: profiled()


def counted():
    analyzer = tfprof.model_analyzer
    tf.matmul(tf.ones([2, 3]), tf.get_variable("x", [3, 4]))
    graph = tf.get_default_graph()
    parameters = {**analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, "output": "none"}
    operations = {**analyzer.FLOAT_OPS_OPTIONS, "output": "none"}
    return {
        "parameters": analyzer.print_model_analysis(
            graph, tfprof_options=parameters
        ).total_parameters,
        "operations": analyzer.print_model_analysis(
            graph, tfprof_cmd="op", tfprof_options=operations
        ).total_float_ops,
        "accounted": str(analyzer.PRINT_ALL_TIMING_MEMORY["select"]),
    }


CASES["tfprof.model_analyzer.print_model_analysis"] = counted


# The memory of a GPU.
for _name in ("BytesInUse", "BytesLimit", "MaxBytesInUse"):
    CASES[f"memory_stats.{_name}"] = lambda name=_name: getattr(memory_stats, name)()


# Constants.
CASES["constants"] = lambda: {
    "eager": [
        *(getattr(tf.contrib.eager, f"DEVICE_PLACEMENT_{one}") for one in PLACEMENTS),
        *(tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC),
    ],
    "optimizers": str(sorted(slim.OPTIMIZER_CLS_NAMES)),
    "summaries": str(sorted(slim.OPTIMIZER_SUMMARIES)),
}
PLACEMENTS = ("EXPLICIT", "WARN", "SILENT")
