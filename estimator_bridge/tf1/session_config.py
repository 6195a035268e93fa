"""Options of sessions under which programs of 1.x are faster.

Grappler's arithmetic optimizer joins the lookup of an embedding with the sum of its rows. The
joined operation reads the whole table, and after a sparse update this read is a copy: a step with a
table of a million rows takes nine times as long.

A thread of TensorFlow that has no work spins before it sleeps, and each turn searches the queues of
all threads. Small steps use up to a sixth of their processor time for that. Here the threads that
start operations sleep at once. Those that share the work of one operation still spin, because an
operation waits for all of them, and a thread that has to be woken is late.

docs/bridge.md has the figures of both.
"""

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import rewriter_config, session

__all__ = ["install"]


_devices_started = False


def install() -> None:
    """Configures the sessions from now on; an optimizer that a configuration names stays."""
    construct = session.BaseSession.__init__

    @functools.wraps(construct)
    def construct_configured(self: Any, target: Any = "", graph: Any = None, config: Any = None):
        if config is None:
            config = tf.ConfigProto()
        # Another type is refused by the session.
        if isinstance(config, tf.ConfigProto):
            if not target:
                _start_devices(config)
            config = _configure(config)
        construct(self, target, graph, config)

    session.BaseSession.__init__ = construct_configured


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


def _configure(config: Any) -> Any:
    modes = rewriter_config.RewriterConfig
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    if not config.use_per_session_threads:
        copy.experimental.disable_thread_spinning = True
    rewriting = copy.graph_options.rewrite_options
    if rewriting.arithmetic_optimization == modes.DEFAULT:
        rewriting.arithmetic_optimization = modes.OFF
    return copy
