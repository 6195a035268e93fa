"""Threads of TensorFlow that start operations: they sleep without work."""

import pytest
import tensorflow.compat.v1 as tf

import estimator_bridge
from estimator_bridge.patches import idle_threads

estimator_bridge.install()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("config", [None, tf.ConfigProto(allow_soft_placement=True)])
def test_threads_that_start_operations_sleep_at_once(config):
    with tf.Session(config=config) as session:
        assert session._config.experimental.disable_thread_spinning
    assert not config or config == tf.ConfigProto(allow_soft_placement=True)


def test_threads_of_a_single_session_stay_as_they_are():
    with tf.Session(config=tf.ConfigProto(use_per_session_threads=True)) as session:
        assert not session._config.experimental.disable_thread_spinning


def test_the_first_session_starts_the_threads_within_operations(monkeypatch):
    monkeypatch.setattr(idle_threads, "_devices_started", False)
    made, configure = [], idle_threads._configure
    monkeypatch.setattr(
        idle_threads, "_configure", lambda config: made.append(config) or configure(config)
    )
    for _ in range(2):
        tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=3)).close()
    assert [one.experimental.disable_thread_spinning for one in made] == [False, True, True]
    assert made[0].intra_op_parallelism_threads == 3


def test_a_wrong_configuration_is_refused():
    with pytest.raises(TypeError, match="must be a tf.ConfigProto"):
        tf.Session(config=3)
