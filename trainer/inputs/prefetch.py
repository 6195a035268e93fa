"""Reading ahead in a thread, while what was read before is being used."""

import threading
from collections.abc import Iterator
from typing import Any, Callable, Optional


class _Ahead:
    """One item, made ahead of its use by a thread of its own."""

    def __init__(self, make_items: Callable[[], Iterator[Any]]):
        self._make_items = make_items
        self._changed = threading.Condition()
        self._wanted = True
        self._item: Optional[tuple[Any]] = None
        self._ended = False
        self._error: Optional[BaseException] = None
        # A daemon: a process that is told to end does not wait for a file to be read.
        self._thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            items = self._make_items()
            while self._await_wish():
                item = next(items, None)
                if item is None:
                    break
                with self._changed:
                    self._item = (item,)
                    self._wanted = False
                    self._changed.notify_all()
                # The next one is made only once this one has been taken: two are held at most.
                del item
        except BaseException as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _await_wish(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._ended)
            return not self._ended

    def take(self) -> Any:
        """The next item; None after the last.

        Raises:
            BaseException: what making it raised.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._ended)
            if self._item is None:
                if self._error is not None:
                    raise self._error
                return None
            (item,), self._item = self._item, None
            self._wanted = True
            self._changed.notify_all()
            return item

    def close(self) -> None:
        with self._changed:
            self._ended = True
            self._item = None
            self._changed.notify_all()


def prefetch(make_items: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yields items, none of them None, each made while the one before it is used."""
    ahead = _Ahead(make_items)
    try:
        while (item := ahead.take()) is not None:
            yield item
            del item
    finally:
        ahead.close()
