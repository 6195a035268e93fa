"""These checks run inside a TensorFlow 1.x program: test_tf1.py starts them by `run --tf1`."""

import pytest
import tensorflow as tf


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each check."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


@pytest.fixture
def run():
    """Runs tensors in a session whose variables and tables have been initialised."""

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
