"""Cases of tf.contrib.framework: graphs, devices, initializers from checkpoints; of lookup too."""

import functools
import os
import tempfile

import tensorflow as tf
import values

CASES = {}
framework = tf.contrib.framework


def chosen(**options):
    choose = framework.VariableDeviceChooser(**options)
    op = tf.constant(1).op
    return {"devices": str([choose(op) for _ in range(5)])}


for _name, _options in {
    "": {},
    ", two servers": {"num_tasks": 2},
    ", GPU": {"device_type": "GPU"},
    ", replica": {"num_tasks": 3, "job_name": "w", "device_index": 1, "replica": 2},
    ", any": {"num_tasks": 1, "device_index": None},
}.items():
    CASES["VariableDeviceChooser" + _name] = functools.partial(chosen, **_options)


def on_devices():
    """Returns the devices of variables that a chooser places."""
    with tf.device(framework.VariableDeviceChooser(2)):
        made = [framework.variable(name, [2], initializer=tf.ones_initializer()) for name in "ab"]
    return {"devices": str([one.device for one in made])}


CASES["VariableDeviceChooser, variables"] = on_devices
for _name, _make in {
    "int32": lambda: tf.constant(3),
    "int64": lambda: tf.constant(3, tf.int64),
    "number": lambda: 3,
    "float": lambda: tf.constant(3.0),
    "vector": lambda: tf.constant([3]),
    "unknown rank": lambda: tf.placeholder(tf.int32),
}.items():
    CASES[f"assert_scalar_int, {_name}"] = functools.partial(
        lambda make: framework.assert_scalar_int(make(), name="mine"), _make
    )


def graph():
    """Returns a graph with a chain of operations."""
    a = tf.placeholder(tf.float32, [2], name="a")
    b = tf.square(a, name="b")
    c = tf.multiply(b, a, name="c")
    d = tf.negative(c, name="d")
    tf.exp(d, name="e")
    tf.sqrt(c, name="f")
    tf.placeholder_with_default(1.0, [], name="g")
    return tf.get_default_graph()


CASES["get_placeholders"] = lambda: {
    "names": str([one.name for one in framework.get_placeholders(graph())])
}
CASES["get_placeholders, no graph"] = lambda: framework.get_placeholders(graph().as_graph_def())


def fused(inputs, outputs, types=(1,), quantized=True):
    found = framework.fuse_op(
        graph().as_graph_def(), inputs, outputs, types, quantized, "mine", "Mine"
    )
    made = next(one for one in found.node if one.name == "mine")
    return {
        "nodes": str([(one.name, one.op, list(map(str, one.input))) for one in found.node]),
        "types": str(list(made.attr["_output_types"].list.type)),
        "quantized": made.attr["_output_quantized"].b,
    }


for _name, _arguments in {
    "": (["a"], ["d"]),
    ", two outputs": (["a"], ["d", "f"], [1, 1], False),
    ", two inputs": (["b", "a"], ["d"]),
    ", last": (["c"], ["e"]),
    ", two arguments": (["a"], ["c"]),
    ", no input": (["z"], ["d"]),
    ", no output": (["a"], ["z"]),
}.items():
    CASES["fuse_op" + _name] = functools.partial(fused, *_arguments)
CASES["fuse_op, no graph"] = lambda: framework.fuse_op(graph(), ["a"], ["d"], [1], True, "m", "M")


def structured(a, b, scale=None, **more):
    return a + b * scale["by"], {"first": a}


CASES["py_func"] = lambda: framework.py_func(
    lambda one: one * 2, [values.real(3)], output_types=tf.float32
)
CASES["py_func, structures"] = lambda: framework.py_func(
    structured,
    (values.real(3), tf.constant(2.0)),
    {"scale": {"by": tf.constant(3.0)}},
    (tf.float32, {"first": tf.float32}),
    ((3,), {"first": [None]}),
)
CASES["py_func, shape"] = lambda: {
    "static": str(
        framework.py_func(
            lambda one: one, [values.real(3)], output_types=tf.float32, output_shapes=[3]
        ).shape
    )
}
CASES["py_func, stateless"] = lambda: {
    "type": framework.py_func(
        lambda one: one, [tf.constant(1)], output_types=tf.int32, stateful=False, name="mine"
    ).op.type
}
CASES["py_func, no types"] = lambda: framework.py_func(lambda: None)


def zeroed(twice=False, **options):
    """Returns a variable that has been set to zeros before it had a value."""
    with tf.Graph().as_default():
        made = tf.get_variable("v", [2, 3], initializer=tf.ones_initializer(), **options)
        start = framework.zero_initializer(made)
        with tf.Session() as session:
            for _ in range(2 if twice else 1):
                session.run(start)
            return {"value": session.run(made), "name": start.name}


for _kind in (False, True):
    CASES[f"zero_initializer, resource {_kind}"] = functools.partial(zeroed, use_resource=_kind)
    CASES[f"zero_initializer, resource {_kind}, twice"] = functools.partial(
        zeroed, twice=True, use_resource=_kind
    )


def orthogonal(name, shape, **options):
    return tf.get_variable("v", shape, initializer=getattr(framework, name)(seed=2, **options))


for _name, _shape in {
    "convolutional_delta_orthogonal": [3, 3, 2, 4],
    "convolutional_orthogonal_1d": [3, 2, 4],
    "convolutional_orthogonal_2d": [3, 3, 2, 4],
    "convolutional_orthogonal_3d": [2, 2, 2, 2, 4],
}.items():
    CASES[_name] = functools.partial(orthogonal, _name, _shape)
    CASES[_name + ", gain"] = functools.partial(orthogonal, _name, _shape, gain=2.0)
    CASES[_name + ", wrong shape"] = functools.partial(orthogonal, _name, [3, 2])

# Initializers from a matrix of a checkpoint with other words.
OLD_ROWS, NEW_ROWS = ["mercury", "venus", "mars"], ["venus", "jupiter", "mercury"]
OLD_COLUMNS, NEW_COLUMNS = ["good", "better", "best"], ["good", "best", "fantastic"]


def lines(folder, name, words):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("\n".join(words) + "\n")
    return path


def saved(folder):
    """Returns the prefix of a checkpoint of a matrix and of a column."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("m", initializer=values.array(3, 3))
        tf.get_variable("b", initializer=values.array(3, 1, seed=2))
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"))


def remapped(make, shape, **scope):
    """Returns a variable whose initializer is made from a checkpoint and files of words."""
    folder = tempfile.mkdtemp()
    files = {
        name: lines(folder, name, words)
        for name, words in {
            "old_rows": OLD_ROWS,
            "new_rows": NEW_ROWS,
            "old_columns": OLD_COLUMNS,
            "new_columns": NEW_COLUMNS,
        }.items()
    }
    with tf.variable_scope("s", **scope):
        made = tf.get_variable("v", shape, initializer=make(saved(folder), files))
    return tf.convert_to_tensor(made)


def rows_of(files):
    return {"old_row_vocab_file": files["old_rows"], "new_row_vocab_file": files["new_rows"]}


def columns_of(files):
    return {"old_col_vocab_file": files["old_columns"], "new_col_vocab_file": files["new_columns"]}


REMAPPED = {
    "load_and_remap_matrix_initializer": (
        lambda path, files: framework.load_and_remap_matrix_initializer(
            path, "m", 3, 3, **dict(rows_of(files), **columns_of(files))
        ),
        [3, 3],
    ),
    "load_and_remap_matrix_initializer, buckets": (
        lambda path, files: framework.load_and_remap_matrix_initializer(
            *(path, "m", 3, 3),
            num_row_oov_buckets=2,
            num_col_oov_buckets=1,
            initializer=tf.constant_initializer(7.0),
            max_rows_in_memory=1,
            **dict(rows_of(files), **columns_of(files)),
        ),
        [5, 4],
    ),
    "load_and_remap_matrix_initializer, old size": (
        lambda path, files: framework.load_and_remap_matrix_initializer(
            path, "m", 3, 3, old_row_vocab_size=1, **rows_of(files)
        ),
        [3, 3],
    ),
    "load_and_remap_matrix_initializer, same words": (
        lambda path, files: framework.load_and_remap_matrix_initializer(path, "m", 3, 3),
        [3, 3],
    ),
    "load_and_remap_matrix_initializer, wrong initializer": (
        lambda path, files: framework.load_and_remap_matrix_initializer(
            path, "m", 3, 3, initializer=7.0
        ),
        [3, 3],
    ),
    "load_embedding_initializer": (
        lambda path, files: framework.load_embedding_initializer(
            *(path, "m", 3, 3, files["old_rows"], files["new_rows"]),
            num_oov_buckets=1,
            initializer=tf.ones_initializer(),
        ),
        [4, 3],
    ),
    "load_linear_multiclass_bias_initializer": (
        lambda path, files: framework.load_linear_multiclass_bias_initializer(
            *(path, "b", 3, files["old_rows"], files["new_rows"]),
            num_class_oov_buckets=1,
            initializer=tf.ones_initializer(),
        ),
        [4, 1],
    ),
    "load_linear_multiclass_bias_initializer, defaults": (
        lambda path, files: framework.load_linear_multiclass_bias_initializer(
            path, "b", 3, files["old_rows"], files["new_rows"]
        ),
        [3, 1],
    ),
    "load_variable_slot_initializer": (
        lambda path, files: framework.load_variable_slot_initializer(
            *(path, "m", None, 3, 3), initializer=tf.ones_initializer(), **rows_of(files)
        ),
        [3, 3],
    ),
}
for _name, (_make, _shape) in REMAPPED.items():
    CASES[_name] = functools.partial(remapped, _make, _shape)
CASES["load_embedding_initializer, partitioned"] = functools.partial(
    remapped, *REMAPPED["load_embedding_initializer"], partitioner=tf.fixed_size_partitioner(2)
)


def slot_of_part():
    """Returns a slot that begins with the second part of the matrix."""
    found = []

    def start(shape, dtype=tf.float32, partition_info=None):
        found.append(partition_info)
        return tf.zeros(shape, dtype)

    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(3)):
        tf.get_variable("v", [3, 3], initializer=start)
    path = saved(tempfile.mkdtemp())
    load = framework.load_variable_slot_initializer(path, "m", found[1], 3, 3)
    return load(tf.TensorShape([1, 3]), tf.float32)


CASES["load_variable_slot_initializer, part"] = slot_of_part

# Names that TensorFlow has.
CASES["prepend_name_scope"] = lambda: {
    "names": str([framework.prepend_name_scope(one, "s") for one in ("a/b", "^a", "loc:@a")]),
    "none": framework.prepend_name_scope("a", None),
}
CASES["strip_name_scope"] = lambda: {
    "names": str([framework.strip_name_scope(one, "s") for one in ("s/a", "^s/a", "loc:@s/a", "a")])
}
CASES["smart_case"] = lambda: [
    framework.smart_case([(True, lambda: tf.constant(1))], exclusive=True),
    framework.smart_case(
        {tf.constant(False): lambda: tf.constant(1)}, default=lambda: tf.constant(2)
    ),
    framework.smart_case(
        [(tf.placeholder_with_default(True, []), lambda: tf.constant(3))],
        default=lambda: tf.constant(4),
    ),
]
CASES["convert_to_tensor_or_sparse_tensor"] = lambda: [
    framework.convert_to_tensor_or_sparse_tensor(one)
    for one in ([1, 2], tf.SparseTensorValue([[0]], [1.5], [2]), tf.constant("a"))
]
CASES["convert_to_tensor_or_sparse_tensor, wrong type"] = lambda: (
    framework.convert_to_tensor_or_sparse_tensor(tf.SparseTensor([[0]], [1.5], [2]), dtype=tf.int32)
)


def bounded(shape=(2,), lowest=0, highest=(1, 2)):
    made = framework.BoundedTensorSpec(list(shape), tf.int32, lowest, list(highest), name="mine")
    return {"lowest": made.minimum, "highest": made.maximum, "name": made.name}


CASES["BoundedTensorSpec"] = bounded
CASES["BoundedTensorSpec, wrong shape"] = lambda: bounded(highest=(1, 2, 3))


def records():
    """Returns records that have been read, sorted, since their order is random."""
    path = os.path.join(tempfile.mkdtemp(), "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for one in (b"a", b"b", b"c"):
            writer.write(one)
    found = framework.RecordInput(path, batch_size=3, buffer_size=3, seed=1).get_yield_op()
    with tf.Session() as session:
        return {"records": str(sorted(session.run(found)))}


CASES["RecordInput"] = records


class Doubled(tf.contrib.lookup.TableInitializerBase):
    """A table of numbers and their doubles."""

    def __init__(self, numbers):
        super().__init__(tf.int64, tf.int64)
        self.numbers = numbers


CASES["TableInitializerBase"] = lambda: {
    "types": str([Doubled([1]).key_dtype, Doubled([1]).value_dtype]),
    "abstract": str(callable(Doubled([1]).initialize)),
}
