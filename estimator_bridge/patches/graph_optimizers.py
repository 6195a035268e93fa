"""Turns off three optimizers of graphs that slow sessions or compute wrong values. In all versions.

Grappler's arithmetic optimizer joins the lookup of an embedding with the sum of its rows. The
joined operation reads the whole table, and after a sparse update this read is a copy: a step with a
table of a million rows takes nine times as long.

On a CPU, its remapper replaces several operations by one of oneDNN. A layer normalization whose
scale and offset are constants, as in a frozen graph, is then computed with an epsilon of 0.001,
whatever the graph says; and tanh of a normalized convolution is joined to an operation that has no
kernel.

Its optimizer of functional control flow moves operations into the branch of a `tf.cond` that needs
them. Each session spends time on it, but few programs have such operations: TensorFlow's documents
say that what is computed outside of a branch is always computed.
docs/speed_measured.md has the figures.
"""

import functools
from typing import Any

import tensorflow as tf

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
    if rewriting.remapping == modes.DEFAULT and not _has_gpu():
        rewriting.remapping = modes.OFF
    rewriting.disable_tfg_optimizer = True


@functools.cache
def _has_gpu() -> bool:
    """Returns whether there is a GPU, whose joined operations are right and faster."""
    return bool(tf.config.list_physical_devices("GPU"))
