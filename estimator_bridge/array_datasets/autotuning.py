"""Turns tf.data's autotuning off where there is nothing to tune.

Its thread may miss that its iterator has gone, and the session then waits for it at its end: as
long as it has trained, up to a minute. A step costs less without it, too.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

__all__ = ["is_chosen", "prefetch_instead", "turn_off"]

# How many batches are made ahead.
_PREFETCHED = 2


def is_chosen(dataset: Any) -> bool:
    """Returns whether a program has turned autotuning on or off.

    Args:
      dataset: a tf.data.Dataset of a graph.
    """
    with warnings.catch_warnings():
        # In a graph, options are those that were given in Python, and TensorFlow says so.
        warnings.simplefilter("ignore", UserWarning)
        return dataset.options().autotune.enabled is not None


def prefetch_instead(dataset: Any, after: Sequence[Any]) -> Any:
    """Returns a dataset without autotuning, and with a prefetch, as autotuning would add one.

    Args:
      dataset: a tf.data.Dataset.
      after: the operations of the program that follow its batches; if one is a prefetch, none is
        added.
    """
    if not any(one.type == "PrefetchDataset" for one in after):
        dataset = dataset.prefetch(_PREFETCHED)
    return turn_off(dataset)


def turn_off(dataset: Any) -> Any:
    """Returns a dataset without autotuning.

    Args:
      dataset: a tf.data.Dataset.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
