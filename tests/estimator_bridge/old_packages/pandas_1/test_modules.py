"""Programs import from pandas what it had at their time, and set its options."""

import subprocess
import sys
from pathlib import Path


def test_imports_and_options():
    program = Path(__file__).parent / "modules_program.py"
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
