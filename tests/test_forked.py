"""Servers that fork the programs under test end with the tests."""

import os
import signal
import subprocess
import sys
import time

import forked
import pytest

pytestmark = pytest.mark.skipif(not forked.CAN_FORK, reason="programs are forked on Linux only")


def test_a_server_ends_where_a_process_that_was_left_holds_its_socket(monkeypatch):
    monkeypatch.setattr(forked, "_END_SECS", 1)
    server = forked._start_server("tensorflow", dict(os.environ))
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command, pass_fds=[server._end.fileno()]) as left:
        try:
            started = time.monotonic()
            server.close()
            assert server._process.returncode == -signal.SIGKILL
            assert time.monotonic() - started < 30
        finally:
            left.kill()


def test_a_program_is_a_process_of_its_own():
    command = [sys.executable, "-c", "import os; print(os.getpid(), os.getppid())"]
    with forked.Popen(command, stdout=-1, text=True, preload="tensorflow") as process:
        own, parent = map(int, process.communicate(timeout=120)[0].split())
    assert (own, parent) == (process.pid, os.getpid())


ENDS_LATER = """
import atexit, sys, threading, time
atexit.register(print, "exit handler")
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
sys.exit({status!r})
"""


@pytest.mark.parametrize(
    "code",
    ["print('done')", *(ENDS_LATER.format(status=one) for one in (None, 3, 259, "a reason"))],
)
def test_a_program_ends_as_in_python(code):
    found = []
    for run, more in ((subprocess.run, {}), (forked.run, {"preload": "tensorflow"})):
        done = run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **more
        )
        found.append((done.returncode, done.stdout, done.stderr))
    assert found[0] == found[1]


def test_output_that_nobody_reads_is_an_error_at_the_end():
    command = [sys.executable, "-c", "input(); print('lost')"]
    with forked.Popen(command, stdin=-1, stdout=-1, preload="tensorflow") as process:
        process.stdout.close()
        process.stdin.write(b"\n")
        process.stdin.close()
        # The status of Python.
        assert process.wait(120) == 120
