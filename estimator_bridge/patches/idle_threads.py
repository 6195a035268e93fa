"""Lets the threads of TensorFlow that start operations sleep without work. Slow in all versions.

Such a thread spins before it sleeps, and each turn searches the queues of all threads. Small steps
use up to a sixth of their processor time for that. Those that share the work of one operation still
spin, because an operation waits for all of them, and a thread that has to be woken is late.

docs/speed_measured.md has the figures.
"""

from typing import Any

import tensorflow.compat.v1 as tf

from . import session_options

__all__ = ["apply"]


_devices_started = False


def apply() -> None:
    """Has the sessions from now on let these threads sleep, but for threads of a single session."""
    session_options.change(_prepare)


def _prepare(config: Any, target: Any) -> None:
    if not target:
        _start_devices(config)
    _configure(config)


def _start_devices(config: Any) -> None:
    """Starts the threads within operations, which spin as the first session of a process says.

    Args:
      config: that of the first session, whose number of threads they have.
    """
    global _devices_started
    if not _devices_started:
        _devices_started = True
        copy = tf.ConfigProto()
        copy.CopyFrom(config)
        # So it does not start the threads that other sessions share.
        copy.use_per_session_threads = True
        tf.Session(graph=tf.Graph(), config=copy).close()


def _configure(config: Any) -> None:
    if not config.use_per_session_threads:
        config.experimental.disable_thread_spinning = True
