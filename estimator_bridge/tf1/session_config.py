"""The option of sessions under which programs of 1.x are faster.

Grappler's arithmetic optimizer joins the lookup of an embedding with the sum of its rows. The
joined operation reads the whole table, and after a sparse update this read is a copy: a step with a
table of a million rows takes nine times as long. docs/bridge.md has the figures.
"""

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import rewriter_config, session

__all__ = ["install"]


def install() -> None:
    """Configures the sessions from now on; an optimizer that a configuration names stays."""
    construct = session.BaseSession.__init__

    @functools.wraps(construct)
    def construct_configured(self: Any, target: Any = "", graph: Any = None, config: Any = None):
        if config is None:
            config = tf.ConfigProto()
        # Another type is refused by the session.
        if isinstance(config, tf.ConfigProto):
            config = _configure(config)
        construct(self, target, graph, config)

    session.BaseSession.__init__ = construct_configured


def _configure(config: Any) -> Any:
    modes = rewriter_config.RewriterConfig
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    rewriting = copy.graph_options.rewrite_options
    if rewriting.arithmetic_optimization == modes.DEFAULT:
        rewriting.arithmetic_optimization = modes.OFF
    return copy
