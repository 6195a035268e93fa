"""trainer.features.matrices: columns are not copied twice."""

import numpy as np

from estimator_bridge import tf
from trainer.features.matrices import map_parts, stack_columns

WORDS = np.array([[b"a", b"b", b"c"], [b"d", b"e", b""]], object)


def test_columns_of_a_matrix_are_taken_from_it():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        matrix = tf.constant(WORDS)
        columns = tf.unstack(matrix, axis=1)
        assert stack_columns(columns) is matrix
        some = stack_columns(columns[:0:-1])
        assert some.op.type == "GatherV2"
        others = stack_columns([columns[0], tf.constant(["x", "y"])])
        of_rows = stack_columns(tf.unstack(tf.constant(WORDS), axis=0))
        found = session.run([some, others, of_rows])
    np.testing.assert_array_equal(found[0], WORDS[:, :0:-1])
    np.testing.assert_array_equal(found[1], [[b"a", b"x"], [b"d", b"y"]])
    np.testing.assert_array_equal(found[2], WORDS.T)


def test_columns_outside_of_a_graph():
    np.testing.assert_array_equal(stack_columns(tf.unstack(tf.constant(WORDS), axis=1)), WORDS)


def test_parts_of_a_matrix_are_computed_before_they_are_joined():
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        matrix = tf.concat([WORDS, WORDS[:1], WORDS[:0]], axis=0)
        beside = tf.concat([WORDS, WORDS], axis=1)
        found = [map_parts(tf.strings.length, each) for each in (matrix, beside)]
        kinds = [op.type for op in graph.get_operations()]
        assert kinds.count("StringLength") == 4
        assert "ConcatV2" in found[0].op.type and found[1].op.type == "StringLength"
        joined, wide = session.run(found)
    np.testing.assert_array_equal(joined, [[1, 1, 1], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(wide, [[1] * 6, [1, 1, 0] * 2])
    np.testing.assert_array_equal(map_parts(tf.strings.length, tf.constant(WORDS[1:])), [[1, 1, 0]])
