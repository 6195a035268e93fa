"""Operations that are added to graphs with less Python are those that TensorFlow adds."""

import contextlib
import random
import re
import zlib

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.patches import new_operations, operation_kinds
from estimator_bridge.private_tf import op_def_library, op_def_registry, ops

tf1 = tf.compat.v1
CREATE, CALL = ops.Graph._create_op_internal, op_def_library._apply_op_helper
NAMES = [name for name in sorted(dir(tf.raw_ops)) if op_def_registry.get(name) is not None]
DTYPES = [tf.float32, tf.int32, tf.int64, tf.string, tf.bool, tf.float64, tf.resource, tf.bfloat16]
# Rounds of each operation.
ROUNDS = 1


@contextlib.contextmanager
def way(own):
    """Has operations added by TensorFlow's code, or by the bridge's."""
    create, call = (CREATE.__wrapped__, CALL.__wrapped__) if own else (CREATE, CALL)
    ops.Graph._create_op_internal, op_def_library._apply_op_helper = create, call
    try:
        yield
    finally:
        ops.Graph._create_op_internal, op_def_library._apply_op_helper = CREATE, CALL


def describe(graph):
    """What there is to know about the operations of a graph."""
    return [
        (
            op.name,
            op.node_def.SerializeToString(deterministic=True),
            [tensor.name for tensor in op.inputs],
            sorted(each.name for each in op.control_inputs),
            [(tensor.dtype, str(tensor.shape)) for tensor in op.outputs],
            op.colocation_groups(),
            [str(each.obj) for each in op._device_code_locations or ()],
            op._original_op and op._original_op.name,
            op._gradient_function,
            op._get_control_flow_context() and op._get_control_flow_context().name,
        )
        for op in graph.get_operations()
    ]


def both(build):
    """Builds a graph in both ways; returns what it is, and the errors of `build`."""
    found = []
    for own in (True, False):
        with way(own), tf.Graph().as_default() as graph:
            tf1.set_random_seed(7)
            try:
                error = build(graph)
            except Exception as raised:
                error = raised
            text = error and (type(error), re.sub("0x[0-9a-f]+", "", str(error)))
            found.append((describe(graph), text))
    return found


class Arguments:
    """Arguments of an operation that are mostly right; the same for the same name."""

    def __init__(self, name, round_number):
        self.random = random.Random(zlib.crc32(f"{name} {round_number}".encode()))
        self.definition = op_def_registry.get(name)
        self.dtypes = {}
        for attr in self.definition.attr:
            allowed = [tf.as_dtype(each) for each in attr.allowed_values.list.type] or DTYPES
            self.dtypes[attr.name] = self.random.choice(allowed)
        self.lengths = {attr.name: self.random.randint(0, 3) for attr in self.definition.attr}

    def one(self, argument):
        dtype = tf.as_dtype(argument.type) if argument.type else self.dtypes[argument.type_attr]
        kind = self.random.random()
        if kind < 0.7:
            return tf1.placeholder(dtype.base_dtype)
        if kind < 0.85:
            return self.random.choice(
                [
                    0,
                    2,
                    -1,
                    5000,
                    2**40,
                    1.5,
                    True,
                    [1, 2],
                    (3,),
                    [0.5, 2.0],
                    [1, True],
                    [],
                    "a",
                    b"b",
                ]
            )
        return self.random.choice(
            [
                None, np.float32(2), np.arange(3), tf1.placeholder(self.random.choice(DTYPES)),
                tf1.get_variable(f"r{self.random.random()}", [2], use_resource=False)._ref(),
                tf1.get_variable(f"v{self.random.random()}", [2], use_resource=True), object(),
            ]
        )  # fmt: skip

    def input(self, argument):
        if not (argument.number_attr or argument.type_list_attr):
            return self.one(argument)
        if argument.type_list_attr:
            return [tf1.placeholder(self.random.choice(DTYPES)) for _ in range(2)]
        values = [self.one(argument) for _ in range(self.lengths[argument.number_attr])]
        return tuple(values) if self.random.random() < 0.1 else values

    def attribute(self, attr):
        if self.random.random() < 0.2:
            return self.random.choice(
                [None, 0, 1, -3, 2**70, True, 1.0, "a", b"valid", [1], "float32", np.int32(1)]
            )
        kind = attr.type.removeprefix("list(").rstrip(")")
        texts = [each.decode() for each in attr.allowed_values.list.s] or ["", "text"]
        value = {
            "type": self.random.choice(
                [self.dtypes[attr.name], self.dtypes[attr.name].as_datatype_enum]
            ),
            "int": self.random.randint(0, 4),
            "float": self.random.choice([0.5, 1, -0.0]),
            "bool": self.random.choice([True, False]),
            "string": self.random.choice(texts),
            "shape": self.random.choice([[2], None, [None, 3], tf.TensorShape([1])]),
        }.get(kind)
        return [value] * self.random.randint(0, 4) if attr.type.startswith("list") else value

    def make(self):
        inferred = {
            each
            for one in self.definition.input_arg
            for each in (one.type_attr, one.number_attr, one.type_list_attr)
        }
        made = {one.name: self.input(one) for one in self.definition.input_arg}
        for attr in self.definition.attr:
            if attr.name not in inferred and self.random.random() < 0.8:
                made[attr.name] = self.attribute(attr)
        if self.random.random() < 0.3:
            names = ["n", "a/b", "x/", "_under", "bad name", "", "N", "-x", 3]
            made["name"] = self.random.choice(names)
        return made


SCOPES = (
    contextlib.nullcontext,
    lambda: tf1.name_scope("outer"),
    lambda: tf1.device("/cpu:0"),
    lambda: tf1.control_dependencies([tf1.no_op(), tf1.placeholder(tf.float32)]),
    lambda: tf1.colocate_with(tf1.placeholder(tf.float32).op),
    lambda: tf1.get_default_graph()._attr_scope(
        {"_a": tf1.AttrValue(i=3), "_b": lambda node: tf1.AttrValue(s=node.op.encode())}
    ),
    lambda: tf1.get_default_graph().container("box"),
    lambda: tf1.get_default_graph()._original_op(tf1.placeholder(tf.float32).op),
)


@pytest.mark.parametrize("part", range(8))
def test_every_operation_with_right_and_wrong_arguments(part):
    quick = 0
    reads = operation_kinds.read

    def count(*arguments):
        nonlocal quick
        done = reads(*arguments)
        quick += done is not None
        return done

    names = NAMES[part::8]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operation_kinds, "read", count)
        for number, name in enumerate(names):
            for round_number in range(ROUNDS):

                def build(graph, name=name, scope=SCOPES[number % 8], round_number=round_number):
                    with scope():
                        made = Arguments(name, round_number).make()
                        for _ in range(2):
                            getattr(tf.raw_ops, name)(**made)

                (own, own_error), (ours, our_error) = both(build)
                assert our_error == own_error, (name, round_number)
                assert ours == own, (name, round_number)
    # Else the test would compare TensorFlow with itself.
    assert quick > len(names) / 2


@contextlib.contextmanager
def control_flow_of_1x():
    """Loops and branches as in TensorFlow 1.x: operations of the graph itself."""
    before = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        yield
    finally:
        if before:
            tf1.enable_control_flow_v2()


def build_loops(graph):
    x = tf1.placeholder(tf.float32, [None, 3])
    weights = tf1.get_variable("w", [3, 3], use_resource=False)

    def body(index, value):
        with (
            tf1.name_scope("inner"),
            tf1.control_dependencies([tf1.assign_add(weights, tf.ones([3, 3]))]),
        ):
            value = tf.cond(
                index > 1, lambda: tf.matmul(value, weights), lambda: tf.nn.relu(value * 2.0)
            )
        return index + 1, tf.reshape(value, [-1, 3])

    _, value = tf1.while_loop(lambda index, _: index < 3, body, [0, x])
    tf1.train.AdamOptimizer().minimize(tf.reduce_mean(tf.concat([value, x], axis=1)))
    tf1.summary.histogram("value", value)


def build_model(graph):
    column = tf1.feature_column.embedding_column(
        tf1.feature_column.categorical_column_with_hash_bucket("word", 10), 4
    )
    numbers = tf1.feature_column.numeric_column("number")
    features = {
        "word": tf1.placeholder(tf.string, [None]), "number": tf1.placeholder(tf.float32, [None, 1])
    }  # fmt: skip
    net = tf1.feature_column.input_layer(features, [column, numbers])
    with tf1.variable_scope("deep", partitioner=tf1.fixed_size_partitioner(2)):
        net = tf1.nn.dropout(net @ tf1.get_variable("k", [5, 4]) + tf.ones([4]), 0.5)
    label = tf1.placeholder(tf.int64, [None])
    loss = tf1.losses.sparse_softmax_cross_entropy(label, net)
    tf1.metrics.auc(tf.cast(label > 1, tf.int32), tf.sigmoid(net[:, 0]))
    tf1.train.FtrlOptimizer(0.1).minimize(loss, tf1.train.get_or_create_global_step())
    tf1.train.Saver()


@pytest.mark.parametrize("build", [build_loops, build_model])
def test_whole_graphs_are_equal(build):
    with control_flow_of_1x():
        (own, own_error), (ours, our_error) = both(build)
    assert (own_error, our_error) == (None, None)
    assert len(own) > 100
    assert ours == own


def test_an_error_leaves_a_graph_that_goes_on(capsys):
    def build(graph):
        x = tf1.placeholder(tf.float32, [2, 3])
        for _ in range(2):
            with tf1.name_scope("scope"), pytest.raises(ValueError, match="must be equal"):
                tf.matmul(x, x)
            tf.identity(x)
        graph.finalize()
        tf.identity(x)

    (own, own_error), (ours, our_error) = both(build)
    assert ours == own
    assert our_error == own_error and "finalized" in own_error[1]


def test_a_traceback_ends_where_the_program_does():
    frames = []
    for own in (True, False):
        with way(own), tf.Graph().as_default():
            x = tf1.placeholder(tf.float32)
            made = [x + 1.0, tf.constant(1), tf.nn.relu(x), tf1.get_variable("v", []).op.outputs[0]]
        here = [[one for one in each.op.traceback if one.filename == __file__] for each in made]
        frames.append([[one.name for one in each] for each in here])
        ours = [
            one for each in made for one in each.op.traceback if "bridge.patches" in one.filename
        ]
        assert ours == [] or not own
    assert frames[0] == frames[1]
    assert all(frames[0])


def test_an_error_of_a_run_names_the_program_alone():
    with control_flow_of_1x(), tf.Graph().as_default(), tf1.Session() as session:
        size = tf1.placeholder(tf.int32, [])
        _, looped = tf1.while_loop(
            lambda index, _: index < 1,
            lambda index, value: (index + 1, tf.matmul(value, tf.ones([size, 2]))),
            [0, tf.ones([2, 2])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
        )
        for failing in (tf.reshape(tf.ones([3]) * 2.0, [size]), looped):
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(failing, {size: 7})
            # After it comes a list with the frames of TensorFlow.
            places = str(raised.value).partition("Original stack trace")[0]
            assert __file__ in places
            assert "new_operations" not in places.replace(__file__, "")


def test_a_large_constant_is_refused_as_by_tensorflow(monkeypatch):
    monkeypatch.setattr(new_operations, "_TOO_LARGE", 1000)
    taken = []
    monkeypatch.setattr(new_operations, "_add", lambda *arguments: taken.append(arguments))
    with tf.Graph().as_default():
        assert tf.constant(np.zeros(1000)).op.type == "Const"
    assert not taken


def test_it_is_applied_once():
    new_operations.apply()
    assert (ops.Graph._create_op_internal, op_def_library._apply_op_helper) == (CREATE, CALL)
