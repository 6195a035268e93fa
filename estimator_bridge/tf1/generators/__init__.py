"""`Dataset.from_generator` that calls Python once for many elements.

TensorFlow calls Python for each element, and its checks of structure and type take longer than
many generators. Here a thread reads the generator ahead, one call of Python passes on what has been
read, and the graph splits it again. Elements, order, end and errors stay the same. A generator is
read ahead only if nothing outside of it can tell (effects.py); the elements of any other are
computed one by one when they are wanted, as in TensorFlow.

  effects.py    decides whether a generator may be read ahead
  reader.py     the thread
  iterators.py  the iterators of one dataset
  elements.py   elements as arrays, joined and split
  dataset.py    the dataset in the graph
"""

import functools
import os
from collections.abc import Callable
from typing import Any, Optional

from estimator_bridge.errors import BridgeError

__all__ = ["MAX_ELEMENTS", "VARIABLE", "install", "limit"]

# How many elements are read ahead; 0 leaves from_generator to TensorFlow.
VARIABLE = "ESTIMATOR_BRIDGE_READ_AHEAD"
MAX_ELEMENTS = 64


def limit(text: Optional[str]) -> int:
    """Returns how many elements are read ahead.

    Args:
      text: a number, or None or "" for the default.

    Raises:
      BridgeError: it is no whole number from 0 to 100,000.
    """
    if not text:
        return MAX_ELEMENTS
    if not text.isascii() or not text.isdigit() or int(text) > 100_000:
        raise BridgeError(
            f"{text!r} is no number of elements to read ahead: give a whole number from 0 (off) to "
            "100000"
        )
    return int(text)


def install(in_graphs_only: bool = False) -> None:
    """Replaces TensorFlow's `from_generator`, unless the environment turns this off.

    Args:
      in_graphs_only: whether datasets that are made eagerly stay as they are.
    """
    count = limit(os.environ.get(VARIABLE))
    if not count:
        return
    from estimator_bridge.private_tf import from_generator_op

    original = from_generator_op._from_generator
    from_generator_op._from_generator = functools.partial(
        _from_generator, original, count, in_graphs_only
    )


def _from_generator(
    original: Callable[..., Any], count: int, in_graphs_only: bool, *arguments: Any
) -> Any:
    import tensorflow.compat.v1 as tf

    from estimator_bridge.tf1.generators import dataset

    if in_graphs_only and tf.executing_eagerly_outside_functions():
        return original(*arguments)
    built = dataset.build(count, arguments)
    return original(*arguments) if built is None else built
