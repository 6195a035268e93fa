"""Fixtures of the checks, which run in a TensorFlow 1.x program (`run --tf1`)."""

import pytest
import tensorflow as tf

from estimator_bridge.process import batch_first


@pytest.fixture(autouse=True)
def graph():
    """A new graph for each check, and no announcement yet."""
    batch_first.announce.cache_clear()
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


@pytest.fixture
def run():
    """Runs tensors in a session with initialized variables and tables."""

    def run(fetches, feed_dict=None):
        with tf.Session() as session:
            session.run(
                [
                    tf.global_variables_initializer(),
                    tf.local_variables_initializer(),
                    tf.tables_initializer(),
                ]
            )
            return session.run(fetches, feed_dict)

    return run
