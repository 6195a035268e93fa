"""The check of weights: it refuses what TensorFlow's own refuses, with the same message."""

import re

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.private_tf import weights_broadcast_ops

pytestmark = pytest.mark.versions

v1 = tf.compat.v1


def _answer(weights, values, shapes):
    """Returns the product of weights and ones, or the error, and whether there were branches."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        given = v1.placeholder(tf.float32, shapes[0], name="given")
        wanted = v1.placeholder(tf.float32, shapes[1], name="wanted")
        product = weights_broadcast_ops.broadcast_weights(given, wanted)
        has_branches = bool(graph.as_graph_def().library.function)
        try:
            found = session.run(product, {given: np.ones(weights), wanted: np.ones(values)})
            return found.shape, has_branches
        except tf.errors.InvalidArgumentError as error:
            found = re.search(r"assertion failed: (.*)", error.message)
            return found and found[1], has_branches


CASES = [
    ((3, 1), (3, 1)),
    ((3, 1), (3, 2)),
    ((1, 2), (3, 2)),
    ((3, 2), (3, 1)),
    ((2, 1), (3, 1)),
    ((0, 1), (0, 1)),
    ((1,), (3,)),
    ((2,), (4,)),
]


@pytest.mark.parametrize(("weights", "values"), CASES)
def test_the_answer_is_that_of_tensorflow(weights, values):
    unknown = tuple([None] * len(shape) for shape in (weights, values))
    found, has_branches = _answer(weights, values, unknown)
    # TensorFlow's own check runs where a rank is unknown.
    expected, had_branches = _answer(weights, values, (None, None))
    assert had_branches and not has_branches
    assert found == expected
    fits = all(size in (1, other) for size, other in zip(weights, values))
    assert (found == values) == fits
    if not fits:
        assert "weights can not be broadcast to values." in found
        assert "[given:0]" in found or "weights:0" in found


def test_what_the_shapes_tell_is_known_when_the_graph_is_built():
    assert _answer((), (3, 2), ((), (None, 2))) == ((3, 2), False)
    with pytest.raises(ValueError, match=r"values.rank=2. weights.rank=1"):
        _answer((3,), (3, 1), ((None,), (None, 1)))
    with pytest.raises(ValueError, match="Mismatch at dim 1"):
        _answer((3, 2), (3, 1), ((3, 2), (3, 1)))
