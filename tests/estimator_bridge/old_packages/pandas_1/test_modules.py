"""Programs import from pandas what it had at their time, and set its options."""

import subprocess
from pathlib import Path

import measured


def test_imports_and_options():
    program = Path(__file__).parent / "modules_program.py"
    done = subprocess.run(
        measured.python(program), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
