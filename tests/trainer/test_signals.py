"""What signals do while modules are imported, and how commands other than trainer.task end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

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


ROOT = Path(__file__).resolve().parents[2]
# A module that both packages import: whoever imports it is interrupted there, as by Ctrl-C.
INTERRUPTING = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
raise SystemExit(7)
"""


@pytest.fixture
def interrupted(tmp_path):
    """Runs Python, which receives SIGINT while it imports; returns the finished process."""
    (tmp_path / "difflib.py").write_text(INTERRUPTING)

    def run(*words, **options):
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    return run


@pytest.mark.parametrize(
    "words",
    [
        "-m trainer",
        "-m trainer.task --help",
        "-m trainer.launch",
        "-mtrainer.runs",
        "-m trainer.schema infer",
        "-m trainer.demo.flights",
        "-m estimator_bridge audit .",
        "estimator-trainer task",
        "estimator-bridge audit .",
    ],
)
def test_ctrl_c_ends_a_command_that_still_imports(interrupted, tmp_path, words):
    (tmp_path / "estimator-trainer").write_text("from trainer.command_line import main")
    (tmp_path / "estimator-bridge").write_text("from estimator_bridge.cli import main")
    done = interrupted(*words.split())
    assert (done.stderr, done.returncode) == ("", -signal.SIGINT)


def ignore_sigint():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_an_ignored_ctrl_c_stays_ignored(interrupted):
    assert interrupted("-m", "trainer.task", preexec_fn=ignore_sigint).returncode == 7


@pytest.mark.parametrize(
    "words",
    [
        "-m estimator_bridge run program.py",
        "estimator-bridge run program.py",
        "program.py",
        "-m program",
        "-m mine",
        # It forks the trials of a search.
        "-m trainer.cluster.forking",
    ],
)
def test_other_programs_keep_the_interrupt_of_python(interrupted, tmp_path, words):
    (tmp_path / "program.py").write_text("import trainer.errors")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import trainer.errors")
    (tmp_path / "estimator-bridge").write_text("from estimator_bridge.cli import main")
    done = interrupted(*words.split())
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


# Is the script of the installed package, and starts a process.
SPAWNING = """
import multiprocessing, signal
import estimator_bridge

def show():
    print(signal.getsignal(signal.SIGINT).__name__, flush=True)

if __name__ == "__main__":
    print(signal.getsignal(signal.SIGINT).name, flush=True)
    process = multiprocessing.get_context("spawn").Process(target=show)
    process.start()
    process.join()
"""


def test_a_spawned_process_keeps_the_interrupt_of_python(tmp_path):
    script = tmp_path / "estimator-bridge"
    script.write_text(SPAWNING)
    command = [sys.executable, script]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.stdout.splitlines() == ["SIG_DFL", "default_int_handler"]


# The audit reads only regular files, so one of its functions takes the file of the test.
AUDIT = """
import sys
from estimator_bridge import cli
from estimator_bridge.audit import command
command.main = lambda argv: open(argv[0]).read()
sys.exit(cli.main(["audit", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
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


# Sends SIGHUP to itself, as the end of a terminal does.
HANGING_UP = """
import os, signal
from trainer.signals import SignalWatch
with SignalWatch():
    os.kill(os.getpid(), signal.SIGHUP)
    print("goes on")
"""


def test_a_command_under_nohup_outlives_its_terminal():
    done = subprocess.run(
        [sys.executable, "-c", HANGING_UP],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert (done.stdout, done.returncode) == ("goes on\n", 0)
