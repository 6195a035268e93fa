"""The optimizers of the fused engine update rows as TensorFlow's own operations do."""

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.models.fused import row_operations, updates
from trainer.models.fused.variables import create_plain

ROWS = 40


def update(kind, rows, grad, start, is_slow, monkeypatch):
    """Returns a variable and its accumulator after two updates of rows."""
    monkeypatch.setattr(row_operations, "HAS_SLOW_ROWS", is_slow)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        stored = [create_plain(name, tf.constant(value)) for name, value in start.items()]
        numbers = {"rate": tf.constant(0.3)}
        step = updates.OptimizerStep(
            updates.KINDS[kind],
            updates._FUNCTIONS[kind],
            numbers,
            {stored[0].variable.ref(): stored[1:]},
        )
        operation = step.apply(stored[0], tf.constant(grad), tf.constant(rows))
        kinds = {one.type for one in session.graph.get_operations()}
        assert ("ResourceSparseApplyAdagradV2" in kinds) == (not is_slow or grad.shape[1] == 1)
        session.run(tf.compat.v1.global_variables_initializer())
        for _ in range(2):
            session.run(operation)
        return session.run([one.variable for one in stored])


@pytest.mark.parametrize("count", [0, 1, 17, ROWS])
@pytest.mark.parametrize("dimension", [1, 2, 5, 16, 64])
def test_rows_that_are_read_and_written_are_updated_bit_for_bit(dimension, count, monkeypatch):
    random = np.random.default_rng(dimension)
    start = {
        "variable": random.normal(size=(ROWS, dimension)).astype(np.float32),
        "accumulator": np.full([ROWS, dimension], 0.1, np.float32),
    }
    rows = random.permutation(ROWS)[:count].astype(np.int32)
    # A gradient of zero changes nothing; a large one does not overflow.
    grad = random.normal(size=(count, dimension)).astype(np.float32)
    grad[: count // 4] = 0
    grad[count // 2 :] *= 1e15
    whole, read = (
        update("adagrad", rows, grad, start, is_slow, monkeypatch) for is_slow in (False, True)
    )
    np.testing.assert_array_equal(whole, read)
    untouched = np.setdiff1d(np.arange(ROWS), rows)
    np.testing.assert_array_equal(read[0][untouched], start["variable"][untouched])
    assert count == 0 or not np.array_equal(read[0], start["variable"])


@pytest.mark.parametrize("may_lack", [True, False])
@pytest.mark.parametrize("count", [1, 7, 300])
@pytest.mark.parametrize("dimension", [1, 2, 16, 31, 32])
def test_rows_are_summed_bit_for_bit(dimension, count, may_lack, monkeypatch):
    random = np.random.default_rng(dimension)

    def run(is_slow, places, is_known):
        monkeypatch.setattr(row_operations, "HAS_SLOW_ROWS", is_slow)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            rows = tf.constant(values[: len(places)])
            number = count if is_known else tf.compat.v1.placeholder_with_default(count, [])
            summed = row_operations.sum_rows(rows, tf.constant(places, tf.int32), number, may_lack)
            kinds = {one.type for one in session.graph.get_operations()}
            assert ("SparseTensorDenseMatMul" in kinds) == (is_slow and 1 < dimension < 32)
            assert summed.shape.as_list() == [count if is_known else None, dimension]
            return session.run(summed)

    values = random.normal(size=(500, dimension)).astype(np.float32) * 1e3
    values[3] = np.inf
    for places in (
        random.integers(-may_lack, count, 500),
        np.full(5, count - 1),
        np.full(5, -int(may_lack)),
        np.zeros(0, int),
    ):
        for is_known in (True, False):
            expected, found = (run(is_slow, places, is_known) for is_slow in (False, True))
            np.testing.assert_array_equal(found, expected)
