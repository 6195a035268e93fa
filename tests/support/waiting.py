"""Waits for what other processes do."""

import time


def wait_for_file(path, secs=60):
    """Waits until a file exists, for so many seconds at most; what follows fails without it."""
    deadline = time.monotonic() + secs
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
