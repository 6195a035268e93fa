"""What SIGTERM does before a job runs, and how commands other than trainer.task end."""

import os
import signal
import subprocess
import sys

import forked
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


# The audit reads only regular files, so one of its functions takes the file of the test.
AUDIT = """
import sys
from estimator_bridge import cli
from estimator_bridge.audit import command
command.main = lambda argv: open(argv[0]).read()
sys.exit(cli.main(["audit", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("of_bridge", [False, True])
def test_a_command_ends_with_one_line(tmp_path, of_bridge, number):
    data, pipe = tmp_path / "data.csv", tmp_path / "schema.yaml"
    data.write_text("age\n1\n")
    os.mkfifo(pipe)
    words = ["-m", "trainer.schema", "check", f"--schema={pipe}", f"--data={data}"]
    command = [sys.executable, *(["-c", AUDIT, str(pipe)] if of_bridge else words)]
    process = forked.Popen(command, stderr=subprocess.PIPE, text=True)
    # Is open once the command has opened the file, from which it then reads.
    with process, pipe.open("w"):
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert errors == (
        f"stopped by {number.name}; no unfinished file is left; the same command begins again\n"
    )
    assert process.returncode == 128 + number
    assert sorted(tmp_path.iterdir()) == [data, pipe]
