"""The option of sessions under which programs of 1.x are faster.

Grappler's arithmetic optimizer joins the lookup of an embedding with the sum of its rows. The
joined operation reads the whole table, and after a sparse update this read is a copy: a step with a
table of a million rows takes nine times as long. docs/bridge.md has the figures.
"""

from typing import Any

from estimator_bridge.patches import session_options
from estimator_bridge.private_tf import rewriter_config

__all__ = ["install"]


def install() -> None:
    """Configures the sessions from now on; an optimizer that a configuration names stays."""
    session_options.change(_configure)


def _configure(config: Any, target: Any) -> None:
    del target
    modes = rewriter_config.RewriterConfig
    rewriting = config.graph_options.rewrite_options
    if rewriting.arithmetic_optimization == modes.DEFAULT:
        rewriting.arithmetic_optimization = modes.OFF
