"""Threads of TensorFlow in which Python is called: they keep Python's state between the calls."""

import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import estimator_bridge
from estimator_bridge.patches import thread_states
from estimator_bridge.private_tf import script_ops

estimator_bridge.install()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def count_new_states(rows):
    """Returns in how many calls of a py_func the thread had no state of an earlier call."""
    thread, found = threading.local(), []

    def look(number):
        found.append(hasattr(thread, "seen"))
        thread.seen = True
        return number

    numbers = tf.data.Dataset.range(rows)
    numbers = numbers.map(lambda number: tf.py_func(look, [number], tf.int64), 2)
    element = tf.data.make_one_shot_iterator(numbers.batch(rows)).get_next()
    with tf.Session() as session:
        assert session.run(element).tolist() == list(range(rows))
    return found.count(False)


def test_threads_keep_their_state():
    assert 1 <= count_new_states(200) <= 20


def test_no_state_is_kept_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(thread_states, "_MOST", thread_states._count)
    assert count_new_states(200) == 200


def test_threads_of_python_are_left_as_they_are(monkeypatch):
    kept = []
    monkeypatch.setattr(thread_states, "_keep", lambda: kept.append(threading.get_ident()))
    call = tf.py_func(threading.get_ident, [], tf.int64)
    token = call.op.get_attr("token").decode()
    thread = threading.Thread(target=lambda: script_ops._py_funcs(token, None, []))
    thread.start()
    thread.join()
    script_ops._py_funcs(token, None, [])
    assert not kept


@pytest.mark.parametrize(
    "value",
    [
        np.float32([[1, 2], [3, 4]]).T,
        np.float32([1, 2, 3, 4])[::2],
        np.ma.masked_array([1, 2], [True, False]),
        np.array(["a", "bc"]),
        np.array([b"a", b"bc"], object),
        *(np.int16(3), np.bool_(True), np.complex64(1j), np.str_("a"), 3, 2.5, "ä", b"a\0", [1, 2]),
    ],
    ids=repr,
)
def test_values_are_converted_as_by_tensorflow(value):
    registry = script_ops.FuncRegistry
    ours, theirs = registry._convert(value), registry._convert.__wrapped__(value)
    assert (type(ours), ours.dtype, ours.flags.c_contiguous) == (
        *(np.ndarray, theirs.dtype, theirs.flags.c_contiguous),
    )
    assert ours.tolist() == theirs.tolist()
