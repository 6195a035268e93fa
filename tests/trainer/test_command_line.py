"""The program estimator-trainer: its commands need TensorFlow for their work only."""

import subprocess
import sys

import pytest

from trainer.command_line import COMMANDS

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--nonsense=1", 2)])
def test_help_and_a_wrong_flag_need_no_tensorflow(command, argument, status):
    program = (
        "import sys; sys.modules['tensorflow'] = None; from trainer.command_line import main;"
        f"sys.exit(main([{command!r}, {argument!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    if status:
        assert len(done.stderr.splitlines()) == 1
