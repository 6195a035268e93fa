"""AutoGraph leaves no byte code in the folder for temporary files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.smoke

PROGRAM = """
import sys
from estimator_bridge import tf

@tf.function
def f(x):
    if x > 0:
        x = x + 1
    return x

print(int(f(tf.constant(1))), sys.dont_write_bytecode)
"""


def test_no_file_is_left(tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    command = [sys.executable, program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2 False\n", done.stderr
    assert list(temporary.iterdir()) == []
