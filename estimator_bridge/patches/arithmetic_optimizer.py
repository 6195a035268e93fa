"""Turns off an optimizer of graphs that slows steps with large embeddings. Slow in all versions.

Grappler's arithmetic optimizer joins the lookup of an embedding with the sum of its rows. The
joined operation reads the whole table, and after a sparse update this read is a copy: a step with a
table of a million rows takes nine times as long. docs/bridge.md has the figures.
"""

from typing import Any

from ..private_tf import rewriter_config
from . import session_options

__all__ = ["apply"]


def apply() -> None:
    """Configures the sessions from now on; an optimizer that a configuration names stays."""
    session_options.change(_configure)


def _configure(config: Any, target: Any) -> None:
    del target
    modes = rewriter_config.RewriterConfig
    rewriting = config.graph_options.rewrite_options
    if rewriting.arithmetic_optimization == modes.DEFAULT:
        rewriting.arithmetic_optimization = modes.OFF
