"""The iterators over the generator of one dataset, each with a number that the graph knows."""

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Optional

import numpy as np

from estimator_bridge.tf1.generators import effects
from estimator_bridge.tf1.generators.elements import Layout
from estimator_bridge.tf1.generators.reader import Reader

__all__ = ["MAX_BYTES", "Iterators"]

MAX_BYTES = 4 << 20


class _Pass:
    """One pass over the generator; `reader` or `iterator` is None, both before it has begun."""

    def __init__(self, args: tuple):
        self.args: Optional[tuple] = args
        self.reader: Optional[Reader] = None
        self.iterator: Optional[Iterator] = None


class Iterators:
    """The passes over a generator. The methods are called from the graph.

    Args:
      generator: the program's function, which returns an iterable.
      layout: the layout of its elements.
      max_elements: how many elements are read ahead at most.
    """

    def __init__(self, generator: Callable[..., Any], layout: Layout, max_elements: int):
        self._generator, self._layout, self._max_elements = generator, layout, max_elements
        self._numbers = itertools.count()
        self._passes: dict[int, _Pass] = {}
        self._lock = threading.Lock()

    def open(self, *args: Any) -> np.ndarray:
        """Returns the number of a new pass, int64 scalar.

        Args:
          *args: arrays, the generator's arguments.
        """
        with self._lock:
            number = next(self._numbers)
            self._passes[number] = _Pass(args)
        return np.array(number, np.int64)

    def take_many(self, number: Any) -> list[np.ndarray]:
        """Returns the joined arrays of the elements that have been read ahead.

        Args:
          number: the pass.

        Raises:
          StopIteration: there are no more, or the generator must not be read ahead.
        """
        one = self._passes[int(number)]
        if one.args is not None:
            self._begin(one)
        if one.reader is None:
            raise StopIteration
        return self._layout.join(one.reader.take())

    def take_one(self, number: Any) -> list[np.ndarray]:
        """Returns the arrays of the next element, which is computed now.

        Args:
          number: a pass of which `take_many` gave no elements, or all.

        Raises:
          StopIteration: there are no more.
        """
        one = self._passes.get(int(number))
        if one is None or one.iterator is None:
            raise StopIteration
        return self._layout.to_arrays(next(one.iterator))

    def _begin(self, one: _Pass) -> None:
        args = one.args or ()
        iterator, invisible = effects.begin(lambda: self._generator(*args))
        if invisible:
            one.reader = Reader(iterator, self._layout.to_element, self._max_elements, MAX_BYTES)
        else:
            one.iterator = iterator
        one.args = None

    def end_many(self, number: Any) -> np.ndarray:
        """Ends a pass that is read ahead.

        Args:
          number: the pass.

        Returns:
          0, because the graph needs a value.
        """
        one = self._passes[int(number)]
        if one.iterator is None:
            del self._passes[int(number)]
        if one.reader is not None:
            one.reader.close()
        return np.array(0, np.int64)

    def end_one(self, number: Any) -> np.ndarray:
        """Ends a pass that is not read ahead.

        Args:
          number: the pass.

        Returns:
          0, because the graph needs a value.
        """
        self._passes.pop(int(number), None)
        return np.array(0, np.int64)
