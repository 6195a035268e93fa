"""A graph's text is that of protocol buffers, byte by byte."""

import inspect

import pytest
from google.protobuf import text_format

import estimator_bridge
from estimator_bridge.patches import message_text

tf = estimator_bridge.tf


def build():
    """Returns the definition of a graph with nodes, functions, devices and strange texts."""
    with tf.Graph().as_default() as graph:
        rows = tf.compat.v1.placeholder(tf.float32, [None, 3], name="rows")
        tf.constant(["\u00fc\n\"q'\\", "?"])
        tf.constant([b"\x00\xff?"])
        tf.constant([1.5, 1e-30, 3.4e38, float("inf"), float("nan"), -0.0, 0.1, 1e16, 123456789.0])
        tf.constant([0.1, 1e300, float("-inf")], tf.float64)
        tf.constant([[-1, 2**62]], tf.int64)
        tf.constant([True, False])
        tf.constant([0.1, 2.0], tf.bfloat16)
        tf.constant(1 + 2j)
        tf.constant(list(range(2_000)))
        with tf.device("/job:worker/task:1"):
            kernel = tf.compat.v1.get_variable("kernel", [3, 4])
        hidden = tf.nn.leaky_relu(tf.matmul(rows, kernel), alpha=1e-7)
        for _ in range(20):
            hidden = tf.nn.relu(hidden * 2.5 + 0.1)
        tf.gradients(hidden, [kernel])
        numbers = tf.data.Dataset.range(3).map(lambda number: number * 2).batch(2)
        numbers = numbers.map(lambda both: tf.cond(both[0] > 1, lambda: both * 3, lambda: both))
        tf.compat.v1.data.make_initializable_iterator(numbers).get_next()
    definition = graph.as_graph_def(add_shapes=True)
    definition.node[0].experimental_debug_info.original_node_names.append("caf\u00e9\n")
    definition.node[1].name = 'caf\u00e9 "1"\n'
    definition.version = 7
    function = definition.library.function[0]
    function.node_def[0].name = 'caf\u00e9 "2"\n'
    function.attr["text"].s = b"\xff\n"
    definition.library.gradient.add(function_name="f", gradient_func="g")
    return definition


@pytest.fixture
def original(monkeypatch):
    """MessageToString of protocol buffers, in the place of which ours is."""
    found = getattr(text_format.MessageToString, "__wrapped__", text_format.MessageToString)
    monkeypatch.setattr(text_format, "MessageToString", found)
    message_text.apply()
    assert text_format.MessageToString is not found
    return found


# Those that each version of protocol buffers takes.
TAKEN = inspect.signature(inspect.unwrap(text_format.MessageToString)).parameters
OPTIONS = [{}, {"float_format": ""}, {"as_one_line": True}, {"indent": 3}, {"as_utf8": True}]


@pytest.mark.parametrize("options", [each for each in OPTIONS if set(each) <= set(TAKEN)])
def test_a_graph(original, options):
    definition = build()
    text = text_format.MessageToString(definition, **options)
    assert text == original(definition, **options)
    node = definition.node[3]
    assert text_format.MessageToString(node, **options) == original(node, **options)


def test_an_empty_graph(original):
    empty = tf.compat.v1.GraphDef()
    assert text_format.MessageToString(empty) == original(empty) == ""


def test_a_written_graph_is_read_again(original, tmp_path):
    definition = build()
    path = tf.io.write_graph(definition, str(tmp_path), "graph.pbtxt")
    with open(path, encoding="utf-8") as file:
        assert text_format.Parse(file.read(), tf.compat.v1.GraphDef()) == definition


def test_each_equal_attribute_is_written_once(original):
    calls = []

    def count(message, **options):
        calls.append(message)
        return original(message, **options)

    definition = build()
    writer = message_text._GraphWriter(count, {})
    assert writer.write(definition) == original(definition)
    assert len(calls) < sum(len(node.attr) for node in definition.node) / 3
