"""Graphs are built with less Python, and are the same: types are checked, constants are equal."""

import itertools
import math

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.patches import graph_construction
from estimator_bridge.private_tf import op_def_library, tensor_util

PATCHED = tensor_util.make_tensor_proto, op_def_library._SatisfiesTypeConstraint
DTYPES = (None, tf.int32, tf.int64, tf.float32, tf.bool, np.float64, "half")
OPTIONS = [
    {}, {"shape": [2, 2]}, {"shape": ()}, {"shape": tf.TensorShape([2])}, {"shape": 2},
    {"shape": [0, True]}, {"verify_shape": True}, {"shape": [2], "allow_broadcast": True},
]  # fmt: skip
VALUES = [
    0, 1, True, False, -7, 2**40, 2**70, 0.0, -0.0, 0.1, math.inf, math.nan, 1e300,
    [], (), [0], [True], [1, True], (3, -1), [0, 2**40], [1.5, 2], [[1, 2], [3, 4]], [1, "text"],
    list(range(8)), list(range(9)), np.float32(2), np.int64(4), np.arange(3),
    "text", b"bytes", None, object(),
]  # fmt: skip
ORIGINALS = tuple(each.__wrapped__ for each in PATCHED)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_constants_are_tensorflows_own(values):
    for dtype, options in itertools.product(DTYPES, OPTIONS):
        # The second time, a kept message is copied.
        for _ in range(2):
            answers = []
            for make in (ORIGINALS[0], PATCHED[0]):
                try:
                    answers.append(make(values, dtype, **options).SerializeToString())
                except (TypeError, ValueError, OverflowError) as error:
                    answers.append((type(error), str(error)))
            assert answers[0] == answers[1], (dtype, options)


def test_a_constant_that_is_changed_changes_no_other():
    first = tensor_util.make_tensor_proto(5)
    first.int_val[0] = 6
    assert tensor_util.make_tensor_proto(5).int_val == [5]
    assert not hasattr(tf.make_tensor_proto, "_bridged")


def test_a_type_is_still_checked():
    with tf.Graph().as_default():
        text, number = tf.constant("a"), tf.constant(1.0)
        wrong = "has DataType string not in list of allowed values: .*float64"
        with pytest.raises(TypeError, match=wrong):
            tf.raw_ops.Exp(x=text)
        with pytest.raises(TypeError, match="not in list of allowed values: int32, int64"):
            tf.raw_ops.ExpandDims(input=number, axis=number)
        with pytest.raises(TypeError, match="DataType float32 not in list of allowed values"):
            tf.raw_ops.Cast(x=tf.raw_ops.Shape(input=text, out_type=tf.float32), DstT=tf.int32)


def test_a_graph_is_the_same(monkeypatch):
    def build():
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [None, 9])
            y = tf.nn.relu(x[:, 2:4] * 0.5 + tf.reduce_mean(x, axis=1, keepdims=True))
            weights = tf.compat.v1.get_variable("w", initializer=tf.zeros([11, 3]))
            tf.nn.bias_add(tf.matmul(tf.concat([y, -0.0 * x], 1), weights), [0.5, 0.0, -1.0])
            return graph.as_graph_def().SerializeToString(deterministic=True)

    built = build()
    monkeypatch.setattr(tensor_util, "make_tensor_proto", ORIGINALS[0])
    monkeypatch.setattr(op_def_library, "_SatisfiesTypeConstraint", ORIGINALS[1])
    assert build() == built


def test_it_is_applied_once():
    graph_construction.apply()
    assert (tensor_util.make_tensor_proto, op_def_library._SatisfiesTypeConstraint) == PATCHED
