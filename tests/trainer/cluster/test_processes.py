"""Processes that are started, listened to, and end with the one that started them."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainer.cluster.processes import Processes, find_addresses, to_exit_status
from trainer.environment.variables import PARENT_PIPE

ROOT = Path(__file__).parents[3]
LIMIT_SECS = 120


def _await(condition):
    deadline = time.monotonic() + LIMIT_SECS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _run(program, stream=None):
    """Runs a program to its end; returns (code, what it said)."""
    stream = io.StringIO() if stream is None else stream
    processes = Processes(stream)
    try:
        processes.start("worker-0", [sys.executable, "-c", program], os.environ)
        ended = []
        _await(lambda: ended.extend(processes.take_ended()) or ended)
        processes.wait_for_output()
    finally:
        processes.close()
    ((name, code),) = ended
    assert name == "worker-0" and not processes.running
    return code, stream


def test_addresses_are_reserved_for_servers_that_share_ports():
    addresses = find_addresses(5)
    assert len({*addresses, *find_addresses(5)}) == 10
    port = int(addresses[0].partition(":")[2])
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", port))
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(("0.0.0.0", port))
        server.listen()
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECS).close()


def test_each_line_is_written_behind_the_name():
    program = "import sys; print('one'); sys.stdout.buffer.write(b'\\xff\\n'); sys.exit(3)"
    code, stream = _run(program)
    assert code == 3
    assert stream.getvalue() == "worker-0    one\nworker-0    \ufffd\n"


def test_a_signal_has_the_exit_status_of_a_shell():
    code, _ = _run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert code == -9 and to_exit_status(code) == 137 and to_exit_status(3) == 3


class _Gone(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_output_without_a_reader_does_not_block():
    code, _ = _run("print('line\\n' * 100_000)", _Gone())
    assert code == 0


# Starts one process that is asked to end and one that is not, and waits.
STARTER = """
import os, sys, time
from trainer.cluster.processes import Processes
processes = Processes()
for name in ("chief-0", "worker-0"):
    command = [sys.executable, "-c", sys.argv[1], name, sys.argv[2]]
    processes.start(name, command, os.environ)
time.sleep(600)
"""
STARTED = """
import json, os, pathlib, signal, sys, time
from trainer.cluster import processes
from trainer.environment import variables
name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
def note(number, frame):
    print("nobody reads this")
    (folder / "saved").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, note)
saves = name == "chief-0"
# The one that saves ends by itself, however long it takes here.
secs = 60.0 if saves else 1.0
processes.end_with_parent(variables.take_parent_pipe(), saves, secs)
(folder / "new").joinpath(name).write_text(json.dumps(os.getpid()))
(folder / "new" / name).rename(folder / name)
while True:
    time.sleep(0.1)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_a_killed_parent(make, tmp_path, number):
    (tmp_path / "new").mkdir()
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, STARTED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    names = ("chief-0", "worker-0")
    pids = []
    try:
        _await(lambda: all((tmp_path / name).exists() for name in names))
        pids = [json.loads((tmp_path / name).read_text()) for name in names]
        starter.send_signal(number)
        starter.wait(LIMIT_SECS)
        _await(lambda: not any(map(make.is_running, pids)))
    finally:
        starter.kill()
        starter.wait()
        for pid in filter(make.is_running, pids):
            os.kill(pid, signal.SIGKILL)
    assert (tmp_path / "saved").exists()


# Ends at once, and leaves a child behind that has its output until `close` closes the pipe.
LEAVES_A_CHILD = """
import os, subprocess, sys
pipe = int(os.environ["PARENT"])
program = f"import os; print('left', flush=True); os.read({pipe}, 1)"
subprocess.Popen([sys.executable, "-c", program], pass_fds=(pipe,))
"""


def test_a_child_that_keeps_the_output_open_is_not_waited_for():
    stream = io.StringIO()
    processes = Processes(stream)
    try:
        program = LEAVES_A_CHILD.replace("PARENT", PARENT_PIPE)
        processes.start("worker-0", [sys.executable, "-c", program], os.environ)
        _await(processes.take_ended)
        _await(lambda: "left" in stream.getvalue())
        assert processes.wait_for_output(secs=0.1) == ["worker-0"]
    finally:
        processes.close()
    assert processes.wait_for_output() == []
