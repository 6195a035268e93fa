"""A process waits for the threads of its notebook, on every Python; IPython is not needed."""

import subprocess
import sys

import pytest

# Forked programs end by os._exit: how Python ends is different in each version.
pytestmark = pytest.mark.smoke

PROGRAM = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from estimator_bridge.process import notebooks

notebooks._THREAD_SECS = {secs}
with notebooks._limited_threads("a.ipynb"):
    idle = ThreadPoolExecutor(1)
    idle.submit(print, "idle").result()
    threading.Thread(target={target}, name="left").start()
raise SystemExit(3)
"""


@pytest.mark.parametrize(
    ("target", "secs", "output", "errors"),
    [
        ("lambda: (time.sleep(1), print('late'))", 30, "idle\nlate\n", ""),
        (
            "threading.Event().wait",
            1,
            "idle\n",
            "estimator_bridge: a.ipynb has ended; ended threads that it left: left\n",
        ),
    ],
)
def test_the_process_waits_for_threads_of_a_notebook(target, secs, output, errors):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(target=target, secs=secs)],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, output, errors)
