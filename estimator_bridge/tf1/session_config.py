"""Options of sessions under which programs of 1.x are faster.

Grappler's arithmetic optimizer joins the lookup of an embedding with the sum of its rows. The
joined operation reads the whole table, and after a sparse update this read is a copy: a step with a
table of a million rows takes nine times as long. docs/bridge.md has the figures of other programs.
"""

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import rewriter_config, session

__all__ = ["install"]


def install() -> None:
    """Turns the arithmetic optimizer off in sessions whose configuration does not name it."""
    construct = session.BaseSession.__init__

    @functools.wraps(construct)
    def construct_configured(self: Any, target: Any = "", graph: Any = None, config: Any = None):
        construct(self, target, graph, _configure(config))

    session.BaseSession.__init__ = construct_configured


def _configure(config: Any) -> Any:
    modes = rewriter_config.RewriterConfig
    if config is None:
        config = tf.ConfigProto()
    if not isinstance(config, tf.ConfigProto):
        return config  # the session refuses it
    if config.graph_options.rewrite_options.arithmetic_optimization == modes.DEFAULT:
        copy = tf.ConfigProto()
        copy.CopyFrom(config)
        copy.graph_options.rewrite_options.arithmetic_optimization = modes.OFF
        return copy
    return config
