"""`tf.contrib.slim.queues`."""

import contextlib
from typing import Any

import tensorflow.compat.v1 as tf

__all__ = ["NestedQueueRunnerError", "QueueRunners"]

_running: set[Any] = set()


class NestedQueueRunnerError(Exception):
    """A session's queue runners run already."""


@contextlib.contextmanager
def QueueRunners(session):
    """Runs the graph's queue runners while the body of the `with` runs, and ends them after it.

    Raises:
      NestedQueueRunnerError: they run already.
    """
    if session in _running:
        raise NestedQueueRunnerError("Queue runners already run in this session")
    _running.add(session)
    coordinator = tf.train.Coordinator()
    try:
        threads = tf.train.start_queue_runners(session, coord=coordinator, daemon=True)
        yield
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
    except Exception as error:
        # A failure of a queue is the cause, and is raised; else the body's own error.
        coordinator.request_stop(error)
        coordinator.join(threads, stop_grace_period_secs=120)
        raise
    finally:
        _running.discard(session)
