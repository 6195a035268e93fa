"""Processes that a server forks: their output, ends, signals, and what they inherit."""

import os
import signal
import subprocess
import sys
import time

import pytest

from trainer.cluster.forking import CAN_FORK, ForkServer
from trainer.cluster.processes import Processes
from trainer.environment.variables import copy_environment

pytestmark = [
    pytest.mark.quick,
    pytest.mark.skipif(not CAN_FORK, reason="processes are forked on Linux only"),
]
PROGRAM = """
import atexit, os, sys, threading, time

START = os.getpid()
PREPARED = []

def prepare_forks():
    PREPARED.append(os.getpid())

def finish_late():
    time.sleep(0.2)
    print("from a thread")

def run_as_program(arguments):
    what = arguments[0]
    if what == "describe":
        forked = START not in (0, os.getpid())
        print(forked, os.getppid(), os.getpgid(0) == os.getpid(), sys.argv[1:], os.environ["MINE"])
        print("to standard error", file=sys.stderr)
    if what == "sleep":
        print("sleeps", flush=True)
        time.sleep(100)
    if what == "lines":
        print("\\u00e9" * 100_000)
    if what == "prepared":
        print(PREPARED == [START])
    if what == "leave":
        atexit.register(print, "at the end")
        threading.Thread(target=finish_late).start()
        sys.exit(arguments[1])
    if what == "mark":
        with open(arguments[2], "a") as stream:
            stream.write(str(START != 0)[0])
    if what == "fail":
        raise ValueError("broken")
    if what == "write":
        from trainer.environment.variables import take_parent_pipe
        print(take_parent_pipe() is not None)
    sys.exit(int(arguments[1]))

if __name__ == "__main__":
    START = 0
    run_as_program(sys.argv[1:])
"""


class Runner:
    """Runs the program, and collects its lines."""

    def __init__(self, server):
        self.lines = []
        self.server = server
        self.processes = Processes(
            on_line=lambda name, line, is_output: self.lines.append((is_output, line)),
            server=server,
        )

    def start(self, *arguments):
        command = [sys.executable, "-m", "forked_program", *arguments]
        self.processes.start("trial-1", command, copy_environment({}))
        return self.processes.running["trial-1"]

    def wait(self):
        deadline = time.monotonic() + 60
        ended = []
        while not ended:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            ended = self.processes.take_ended()
        self.processes.wait_for_output()
        return ended[0][1]

    def wait_for_line(self):
        deadline = time.monotonic() + 60
        while not self.lines:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.fixture
def runner(tmp_path, monkeypatch):
    (tmp_path / "forked_program.py").write_text(PROGRAM)
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("MINE", "yes")
    server = ForkServer(["forked_program"], ["numpy"])
    runner = Runner(server)
    yield runner
    runner.processes.close()
    server.close()


def test_a_forked_process_is_a_child_with_its_own_session_output_and_status(runner):
    process = runner.start("describe", "3")
    with open(f"/proc/{process.pid}/comm") as stream:
        assert stream.read().strip() in ("trial-1", "python", os.path.basename(sys.executable))
    assert runner.wait() == 3
    expected = f"True {os.getpid()} True ['describe', '3'] yes"
    assert sorted(runner.lines) == [(False, "to standard error"), (True, expected)]
    runner.lines.clear()
    runner.start("write", "0")
    assert runner.wait() == 0 and runner.lines == [(True, "True")]
    runner.lines.clear()
    runner.start("lines", "0")
    assert runner.wait() == 0 and runner.lines == [(True, "\u00e9" * 100_000)]


def test_a_server_that_is_killed_while_it_forks_starts_nothing_twice(runner, tmp_path, monkeypatch):
    code = (
        "import os, signal, sys; from trainer.cluster import forking;"
        "forking.os.waitpid = lambda *given: os.kill(os.getpid(), signal.SIGKILL);"
        "forking.serve(int(sys.argv[1]), sys.argv[2:])"
    )
    start = subprocess.Popen

    def start_server(command, **options):
        if command[2] == "trainer.cluster.forking":
            command = [command[0], "-c", code, *command[3:]]
        return start(command, **options)

    monkeypatch.setattr(subprocess, "Popen", start_server)
    runner.start("mark", "0", str(tmp_path / "marks"))
    assert runner.wait() == 0
    time.sleep(0.3)
    assert (tmp_path / "marks").read_text() == "F"


def test_a_forked_process_ends_as_any_other(runner):
    runner.start("leave", "a reason")
    assert runner.wait() == 1
    assert sorted(runner.lines) == [
        (False, "a reason"),
        (True, "at the end"),
        (True, "from a thread"),
    ]
    runner.lines.clear()
    runner.start("fail", "0")
    assert runner.wait() == 1 and runner.lines[-1] == (False, "ValueError: broken")
    # What Python writes when it ends is not lost either.
    runner.lines.clear()
    runner.start("lines", "7")
    assert runner.wait() == 7 and len(runner.lines) == 1


def test_a_server_prepares_its_modules_once(runner):
    for _ in range(2):
        runner.lines.clear()
        runner.start("prepared", "0")
        assert runner.wait() == 0 and runner.lines == [(True, "True")]


def test_a_signal_reaches_the_forked_process_alone(runner):
    runner.start("sleep", "0")
    runner.wait_for_line()
    runner.processes.send(signal.SIGTERM)
    assert runner.wait() == -signal.SIGTERM
    runner.start("describe", "0")
    assert runner.wait() == 0


def test_a_killed_server_takes_no_process_with_it_and_is_replaced(runner):
    runner.start("sleep", "0")
    runner.wait_for_line()
    server = runner.server._process.pid
    os.kill(server, signal.SIGKILL)
    os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
    assert runner.processes.take_ended() == []
    runner.processes.send(signal.SIGKILL)
    assert runner.wait() == -signal.SIGKILL
    # Without a server a process is started in the usual way, and then there is another server.
    for is_forked in ("False", "True"):
        runner.lines.clear()
        runner.start("describe", "4")
        assert runner.wait() == 4
        assert next(line for is_output, line in runner.lines if is_output).startswith(is_forked)
