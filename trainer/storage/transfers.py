"""Runs transfers of several objects at the same time, with a bounded number of threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

# Not more than the connections that the client of Cloud Storage keeps open (10). With 1, all
# transfers run in the calling thread, in order.
THREADS = 8


def run_all(transfers: Sequence[Callable[[], object]]) -> None:
    """Runs transfers and returns when all have ended.

    After a transfer has failed, no further one is started.

    Args:
        transfers: the transfers; their order is that in which they start.

    Raises:
        Exception: the error of the first transfer that failed, in their order.
    """
    threads = min(THREADS, len(transfers))
    if threads <= 1:
        for transfer in transfers:
            transfer()
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="transfer") as pool:
        futures = [pool.submit(transfer) for transfer in transfers]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            for future in futures:
                future.cancel()
    for future in futures:
        if not future.cancelled():
            future.result()
