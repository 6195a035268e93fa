"""The end of programs."""

import os
import pstats
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

PROGRAM = """
import atexit, sys, threading, time
from estimator_bridge.command_line.end import leave

class Noticed:
    def __del__(self):
        print("taken apart", flush=True)

noticed = Noticed()
atexit.register(print, "exit handler")
thread = threading.Thread(target=lambda: (time.sleep(0.2), print("thread")))
thread.start()
sys.stdout.write("not flushed\\n")
leave(3)
"""
IN_ORDER = ["not flushed", "thread", "exit handler"]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*options, output=subprocess.PIPE):
        command = [sys.executable, *options, str(tmp_path / "program.py")]
        buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
        return subprocess.run(command, stdout=output, text=True, timeout=60, env=buffered)

    return run


def test_what_python_does_at_the_end_is_done_but_modules_stay(run):
    done = run()
    assert (done.returncode, done.stdout.splitlines()) == (3, IN_ORDER)


def test_a_profiler_goes_on_after_the_program(run, tmp_path):
    profile = tmp_path / "profile"
    done = run("-m", "cProfile", "-o", str(profile))
    assert {*IN_ORDER, "taken apart"} == {*done.stdout.splitlines()}
    assert "program.py" in str(list(pstats.Stats(str(profile)).stats))


def test_a_program_that_runs_it_goes_on_after_it(run):
    around = "import runpy, sys\ntry: runpy.run_path(sys.argv[1], run_name='__main__')\n"
    done = run("-c", around + "except SystemExit as end: print('goes on after', end)")
    assert "goes on after 3" in done.stdout.splitlines()


def test_output_that_is_lost_is_told_by_the_status(run):
    with open("/dev/full", "w") as full:
        assert run(output=full).returncode == 120
