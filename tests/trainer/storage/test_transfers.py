"""Transfers at the same time: errors, order, and processes that end meanwhile."""

import functools
import subprocess
import sys
import threading

import pytest

from trainer.storage import transfers
from trainer.storage.transfers import run_all

pytestmark = [pytest.mark.newest, pytest.mark.quick]

# The main thread ends while a transfer hangs.
HANGS = """
import threading
from trainer.storage.transfers import run_all
hanging = threading.Event()
def hang():
    hanging.set()
    threading.Event().wait()
threading.Thread(target=run_all, args=([hang] * 20,), daemon=True).start()
hanging.wait()
"""


def test_all_transfers_run_in_at_most_so_many_threads():
    done, names, lock = [], set(), threading.Lock()

    def note(number):
        with lock:
            done.append(number)
            names.add(threading.current_thread().name)

    run_all([functools.partial(note, number) for number in range(100)])
    assert sorted(done) == list(range(100)) and len(names) <= transfers.THREADS
    run_all([])


def test_with_one_thread_transfers_run_in_order_in_the_calling_thread(monkeypatch):
    monkeypatch.setattr(transfers, "THREADS", 1)
    done = []
    run_all(
        [lambda n=n: done.append((n, threading.current_thread())) for n in range(5)]
    )  # fmt: skip
    assert done == [(number, threading.main_thread()) for number in range(5)]


def test_after_an_error_no_further_transfer_is_started(monkeypatch):
    monkeypatch.setattr(transfers, "THREADS", 2)
    both, done = threading.Barrier(2, timeout=20), []

    def fail(error):
        both.wait()
        raise error

    work = [functools.partial(fail, error) for error in (OSError("first"), ValueError("second"))]
    with pytest.raises(OSError, match="first"):
        run_all([*work, lambda: done.append(1)])
    assert not done


def test_a_process_ends_although_a_transfer_hangs():
    subprocess.run([sys.executable, "-c", HANGS], check=True, timeout=60)
