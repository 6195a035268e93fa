"""What SIGTERM does before a job runs."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

# Imports the package as process `pid`, and receives SIGTERM.
PROGRAM = """
import os, signal, sys
own, os.getpid = os.getpid(), lambda: int(sys.argv[1])
import trainer
os.kill(own, signal.SIGTERM)
sys.exit(5)
"""


@pytest.mark.parametrize("pid, code", [(1, 143), (2, -15)])
def test_sigterm_ends_a_process_that_still_imports(pid, code):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(pid)], check=False, timeout=60)
    assert done.returncode == code
