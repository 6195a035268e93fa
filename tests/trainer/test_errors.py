"""What an uncaught error shows of a secret."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.quick

READ = "from trainer.environment.variables import read_secret; s = read_secret('key', 'API_KEY'); "
THREAD = """
import threading
def fail():
    raise ValueError(s)
thread = threading.Thread(target=fail)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("program", ["{}['a' + s]", THREAD])
def test_an_uncaught_traceback_shows_the_name_of_a_secret(make, program):
    done = subprocess.run(
        [sys.executable, "-c", READ + "\n" + program],
        env={**os.environ, "API_KEY": "hunter2-hunter2", "PYTHONPATH": str(make.root)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" in done.stderr and "<secret.key>" in done.stderr
    assert "hunter2" not in done.stderr
