"""Runs transfers of several objects at the same time, with a bounded number of threads."""

import threading
from collections.abc import Callable, Sequence

# Not more than the connections that the client of Cloud Storage keeps open (10). With 1, all
# transfers run in the calling thread, in order.
THREADS = 8


def run_all(transfers: Sequence[Callable[[], object]]) -> None:
    """Runs transfers and returns when all have ended.

    After a transfer has failed, no further one is started.

    Args:
        transfers: the transfers; their order is that in which they start.

    Raises:
        BaseException: the error of a transfer; of several, that of the first in their order.
    """
    num_threads = min(THREADS, len(transfers))
    if num_threads <= 1:
        for transfer in transfers:
            transfer()
        return
    waiting = list(enumerate(transfers))[::-1]
    errors: dict[int, BaseException] = {}

    def work() -> None:
        while waiting:
            try:
                place, transfer = waiting.pop()
            except IndexError:
                # Another thread has taken the last one.
                return
            try:
                transfer()
            except BaseException as error:
                errors[place] = error
                waiting.clear()

    # The threads of concurrent.futures would keep a process alive that a second signal ends.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        waiting.clear()
    if errors:
        raise errors[min(errors)]
