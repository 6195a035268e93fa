"""Reads an iterator ahead, in a thread of its own."""

import collections
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

__all__ = ["Element", "Reader"]

# How long an element waits for others that arrive together with it, seconds.
_GATHER_SECS = 0.001
# The first elements are read only when they are wanted: many programs take only a few.
_READ_ONE_BY_ONE = 2


class Element(NamedTuple):
    """A converted element.

    Attributes:
      arrays: one array for each component.
      form: elements of one form can be passed on together.
      size: bytes of the arrays.
    """

    arrays: list
    form: Any
    size: int


class _Failure(NamedTuple):
    error: BaseException


class Reader:
    """The elements of an iterator, in order, read before they are wanted.

    Args:
      iterator: the iterator; it runs in one thread only.
      convert: returns the Element of a value; runs in the same thread.
      max_elements: how many elements are read ahead at most.
      max_bytes: how many bytes they have at most; one element may exceed them.
    """

    def __init__(
        self,
        iterator: Iterator,
        convert: Callable[[Any], Element],
        max_elements: int,
        max_bytes: int,
    ):
        self._iterator: Optional[Iterator] = iterator
        self._convert = convert
        self._max_elements, self._max_bytes = max_elements, max_bytes
        self._changed = threading.Condition(threading.Lock())
        self._read: collections.deque = collections.deque()
        self._size = 0
        self._taken = 0
        self._ahead = 0
        self._wanted = self._closed = self._computing = self._slow = False
        self._thread = threading.Thread(target=self._run, name="from_generator", daemon=True)
        self._thread.start()

    def take(self) -> list[Element]:
        """Returns the elements that have been read, at least one, of one form.

        Raises:
          StopIteration: there are no more.
          BaseException: what the iterator or the conversion raised for the next element.
        """
        with self._changed:
            if not self._read:
                self._wait()
            if isinstance(self._read[0], _Failure):
                error = self._read[0].error
                if not isinstance(error, StopIteration):
                    self._read.popleft()
                    self._changed.notify_all()
                raise error
            taken = [self._pop()]
            while self._read and getattr(self._read[0], "form", None) == taken[0].form:
                taken.append(self._pop())
            self._taken += 1
            if self._taken >= _READ_ONE_BY_ONE:
                self._ahead = min(max(2 * self._ahead, 2), self._max_elements)
            self._changed.notify_all()
            return taken

    def _pop(self) -> Element:
        element = self._read.popleft()
        self._size -= element.size
        return element

    def _wait(self) -> None:
        """Waits for an element, and for a millisecond for those that arrive with it."""
        self._wanted = True
        self._changed.notify_all()
        while not self._read:
            self._changed.wait()
        self._wanted = False
        end = time.monotonic() + _GATHER_SECS
        while not self._slow and self._may_read():
            left = end - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                break

    def _may_read(self) -> bool:
        if self._read and isinstance(self._read[-1], _Failure):
            return False
        if not self._read:
            return self._wanted or self._ahead > 0
        return len(self._read) < self._ahead and self._size < self._max_bytes

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closed and not self._may_read():
                    self._changed.wait()
                if self._closed:
                    break
                self._computing = True
            started = time.monotonic()
            one: Any = self._read_one()
            with self._changed:
                self._computing = False
                self._slow = time.monotonic() - started > _GATHER_SECS
                self._read.append(one)
                self._size += getattr(one, "size", 0)
                if len(self._read) == 1 or not self._may_read():
                    self._changed.notify_all()
                if self._closed or isinstance(getattr(one, "error", None), StopIteration):
                    break
        # Ends the generator: its `finally` runs now, in its own thread.
        self._iterator = None

    def _read_one(self) -> Any:
        assert self._iterator is not None
        try:
            return self._convert(next(self._iterator))
        except BaseException as error:  # raised again where the element is wanted
            return _Failure(error)

    def close(self) -> None:
        """Ends the thread and the iterator; does not wait for an element that is being computed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            computing = self._computing
        if not computing:
            self._thread.join()
