"""Prefetches items: a thread makes the next item while the caller uses the current one."""

import threading
from collections.abc import Iterator
from typing import Any, Callable, Optional


class _Prefetcher:
    """Makes items in a thread, one item ahead of the caller."""

    def __init__(self, make_items: Callable[[], Iterator[Any]]):
        self._make_items = make_items
        self._changed = threading.Condition()
        self._is_wanted = True
        self._item: Optional[tuple[Any]] = None
        self._has_ended = False
        self._error: Optional[BaseException] = None
        # A daemon thread, so that the process can end without waiting for a file to be read.
        self._thread = threading.Thread(target=self._run, name="prefetch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            items = self._make_items()
            while self._wait_until_wanted():
                item = next(items, None)
                if item is None:
                    break
                with self._changed:
                    self._item = (item,)
                    self._is_wanted = False
                    self._changed.notify_all()
                # The next item is made only after the caller has taken this one. So at most two
                # items are in memory.
                del item
        except BaseException as error:
            self._error = error
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _wait_until_wanted(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._is_wanted or self._has_ended)
            return not self._has_ended

    def take(self) -> Any:
        """Returns the next item, or None after the last; raises the thread's exception if any."""
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._has_ended)
            if self._item is None:
                if self._error is not None:
                    raise self._error
                return None
            (item,), self._item = self._item, None
            self._is_wanted = True
            self._changed.notify_all()
            return item

    def close(self) -> None:
        with self._changed:
            self._has_ended = True
            self._item = None
            self._changed.notify_all()


def prefetch(make_items: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yields items; a thread makes the next item while the caller uses the current one.

    Args:
        make_items: returns the iterator of the items; called in the thread. No item may be None.
    """
    prefetcher = _Prefetcher(make_items)
    try:
        while (item := prefetcher.take()) is not None:
            yield item
            del item
    finally:
        prefetcher.close()
