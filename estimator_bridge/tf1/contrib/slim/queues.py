"""`tf.contrib.slim.queues`."""

import contextlib
from typing import Any

import tensorflow.compat.v1 as tf

__all__ = ["NestedQueueRunnerError", "QueueRunners"]

_running: set[Any] = set()


class NestedQueueRunnerError(Exception):
    """Raised if the queue runners of a session already run."""


@contextlib.contextmanager
def QueueRunners(session):
    """Runs the queue runners of the graph within a `with` block.

    Args:
      session: tf.Session.

    Yields:
      None.

    Raises:
      NestedQueueRunnerError: the queue runners already run.
    """
    if session in _running:
        raise NestedQueueRunnerError("session: its queue runners already run")
    _running.add(session)
    coordinator = tf.train.Coordinator()
    try:
        threads = tf.train.start_queue_runners(session, coord=coordinator, daemon=True)
        yield
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
    except Exception as error:
        # Raises the error of a queue, if there is one, because it is the cause of this error.
        coordinator.request_stop(error)
        coordinator.join(threads, stop_grace_period_secs=120)
        raise
    finally:
        _running.discard(session)
