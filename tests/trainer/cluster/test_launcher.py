"""The command line of the launcher, and what it does with processes that end."""

import io
import json
import sys
import threading
import time

import pytest

from trainer.cluster import launcher as launcher_lib
from trainer.cluster import port_guard
from trainer.cluster.launch_command import parse_plan
from trainer.cluster.launcher import Launcher
from trainer.cluster.processes import Processes
from trainer.environment.variables import PARENT_PIPE
from trainer.errors import UserError

pytestmark = pytest.mark.newest


def test_flags_become_a_plan():
    plan = parse_plan(["--workers=2", "--ps=1", "--evaluator", "--", "--hparams=census", "--x"])
    assert plan.roles == [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("evaluator", 0)]
    assert plan.task_flags == ["--hparams=census", "--x"] and plan.max_restarts == 0


def test_help_returns_no_plan():
    assert parse_plan(["--help"]) is None


@pytest.mark.parametrize(
    "argv, said",
    [
        (["--wrkers=1", "--", "--x"], "wrkers"),
        (["--workers=two", "--", "--x"], "two"),
        (["--workers=-1", "--", "--x"], "-1"),
        (["--job_dir=x"], "job_dir"),
        (["census", "--", "--x"], "'census' is not a flag; flags of trainer.task go after --"),
        (["--workers=1"], "nothing after --"),
    ],
)
def test_a_wrong_flag_is_an_error_of_one_line(argv, said):
    with pytest.raises(UserError) as refused:
        parse_plan(argv)
    assert said in str(refused.value) and "\n" not in str(refused.value)


# Stands for a process of a cluster: notes its start, waits for what it is to wait for, which is
# another's start or with "end of " its end, and ends as its n-th start is to end.
PROCESS = """
import fcntl, json, os, pathlib, sys, time
folder, script = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
config = json.loads(os.environ["TF_CONFIG"])
name = config["task"]["type"]
starts = sorted(folder.glob(name + "-*"))
note = folder / f".{name}-{len(starts)}"
note.write_text(config["run"])
# Held until this process is gone.
held = note.open()
fcntl.flock(held, fcntl.LOCK_EX)
note.rename(folder / note.name[1:])
awaited, status = script[name][len(starts)]
start = awaited and folder / awaited.replace("end of ", "").replace("steps until ", "")
while awaited and not start.exists():
    if "steps" in awaited:
        print("step 1", file=sys.stderr, flush=True)
    time.sleep(0.05)
if awaited and awaited.startswith("end of "):
    fcntl.flock(start.open(), fcntl.LOCK_EX)
print(f"{name} ends", file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture
def run_script(monkeypatch, tmp_path):
    """Runs a launcher whose processes follow a script; returns (status, starts, said)."""
    start = Processes.start

    def run(script, max_restarts):
        def start_script(self, name, command, environment):
            assert command[1:3] == ["-m", "trainer.task"]
            command = [sys.executable, "-c", PROCESS, str(tmp_path), json.dumps(script)]
            start(self, name, command, environment)

        monkeypatch.setattr(Processes, "start", start_script)
        monkeypatch.setattr(launcher_lib, "RESTART_SECS", 0.1)
        monkeypatch.setattr(launcher_lib, "FOLLOW_SECS", 100.0)
        errors = io.StringIO()
        workers, servers = int("worker" in script), int("ps" in script)
        evaluators = int("evaluator" in script)
        plan = launcher_lib.Plan(workers, servers, evaluators, max_restarts, ["--x"])
        launcher = Launcher(plan, io.StringIO(), errors)
        try:
            status = launcher.run()
        finally:
            launcher.close()
        assert len({path.read_text() for path in tmp_path.iterdir()}) == 1, "one run"
        return status, sorted(path.name for path in tmp_path.iterdir()), errors.getvalue()

    return run


def test_a_follower_of_the_chief_is_restarted_with_it(run_script):
    script = {"chief": [["ps-0", 1], ["ps-1", 0]], "ps": [["chief-0", 75], ["chief-1", 0]]}
    status, starts, said = run_script(script, max_restarts=1)
    assert (status, starts) == (0, ["chief-0", "chief-1", "ps-0", "ps-1"])
    assert "ps-0 ended" not in said
    guarded = launcher_lib.GUARDED_PORTS if port_guard.is_supported() else launcher_lib.OPEN_PORTS
    assert guarded in said.splitlines()[0]


def test_a_signal_before_all_processes_are_there_ends_the_others(monkeypatch):
    start, started = Processes.start, []

    def sleep(self, name, command, environment):
        started.append(name)
        # The signal comes while the process is started, so it is not in the list yet.
        launcher.stop()
        start(self, name, [sys.executable, "-c", "import time; time.sleep(60)"], environment)

    monkeypatch.setattr(Processes, "start", sleep)
    launcher = Launcher(launcher_lib.Plan(0, 0, 1, 0, ["--x"]), io.StringIO(), io.StringIO())
    assert (launcher.run(), started) == (143, ["chief-0"])
    launcher.close()


IGNORES = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ignores SIGTERM", file=sys.stderr, flush=True)
time.sleep(600)
"""


def test_a_chief_that_hangs_after_a_signal_is_killed(monkeypatch):
    start = Processes.start

    def ignore(self, name, command, environment):
        start(self, name, [sys.executable, "-c", IGNORES], environment)

    monkeypatch.setattr(Processes, "start", ignore)
    monkeypatch.setattr(launcher_lib, "HANG_SECS", 1.0)
    errors, statuses = io.StringIO(), []
    launcher = Launcher(launcher_lib.Plan(0, 0, 1, 0, ["--x"]), io.StringIO(), errors)
    thread = threading.Thread(target=lambda: statuses.append(launcher.run()))
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while errors.getvalue().count("ignores") < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        launcher.stop()
        thread.join(20)
        assert statuses == [137]
    finally:
        launcher.kill()
        thread.join()
        launcher.close()
    line = "chief-0, evaluator-0 did not end within 1 s of SIGTERM; killing them"
    assert errors.getvalue().count(line) == 1


def test_processes_without_servers_open_no_ports(run_script):
    script = {"chief": [["evaluator-0", 0]], "evaluator": [["chief-0", 0]]}
    status, _, said = run_script(script, max_restarts=0)
    assert status == 0 and "password" not in said


def test_a_late_follower_is_restarted_at_once(run_script):
    script = {"chief": [["ps-0", 1], ["ps-1", 0]], "ps": [["chief-1", 75], ["chief-1", 0]]}
    status, starts, _ = run_script(script, max_restarts=1)
    assert (status, starts) == (0, ["chief-0", "chief-1", "ps-0", "ps-1"])


def test_without_restarts_the_followers_of_the_chief_stay_down(run_script):
    script = {"chief": [["ps-0", 1]], "ps": [["chief-0", 75]]}
    status, starts, said = run_script(script, max_restarts=0)
    assert (status, starts) == (1, ["chief-0", "ps-0"])
    assert said.endswith("first to fail: chief-0, exit status 1: chief ends\n")


def test_without_restarts_an_error_of_a_worker_ends_all(run_script):
    script = {"chief": [["never", 0]], "worker": [["chief-0", 1]]}
    status, starts, said = run_script(script, max_restarts=0)
    assert (status, starts) == (1, ["chief-0", "worker-0"])
    assert said.endswith("first to fail: worker-0, exit status 1: worker ends\n")


def test_a_hanging_server_is_restarted_with_its_followers(run_script):
    script = {"chief": [["ps-0", 75], ["ps-1", 0]], "ps": [["never", 0], ["chief-1", 0]]}
    status, starts, said = run_script(script, max_restarts=1)
    assert (status, starts) == (0, ["chief-0", "chief-1", "ps-0", "ps-1"])
    assert said.count("starting") == 1


def test_a_user_error_is_not_restarted(run_script):
    status, starts, _ = run_script({"chief": [[None, 2]]}, max_restarts=3)
    assert (status, starts) == (2, ["chief-0"])


def test_every_restart_is_counted(run_script):
    script = {"chief": [[None, 3], [None, 3], [None, 0]]}
    status, starts, said = run_script(script, max_restarts=1)
    assert (status, starts) == (3, ["chief-0", "chief-1"])
    assert said.count("starting it again") == 1


def test_a_chief_that_follows_a_process_without_restarts_ends_all(run_script):
    script = {"chief": [["end of ps-0", 75]], "ps": [["chief-0", 3]]}
    status, starts, said = run_script(script, max_restarts=0)
    assert (status, starts) == (3, ["chief-0", "ps-0"])
    assert "first to fail: ps-0, exit status 3" in said


def test_a_hanging_process_with_followers_is_restarted(run_script, monkeypatch):
    monkeypatch.setattr(launcher_lib, "HANG_SECS", 1.0)
    script = {"chief": [["worker-0", 75], ["worker-1", 0]], "worker": [["never", 0], [None, 0]]}
    status, starts, said = run_script(script, max_restarts=1)
    assert (status, starts) == (0, ["chief-0", "chief-1", "worker-0", "worker-1"])
    assert "worker-0 hangs, and others wait for its end; killing it" in said
    assert "worker-0 ended with status -9; starting it again" in said


def test_chief_and_workers_restart_together_while_the_evaluator_stays(run_script):
    script = {
        "chief": [["evaluator-0", 75], ["worker-1", 0]],
        "worker": [["evaluator-0", 75], [None, 0]],
        "evaluator": [["chief-1", 0]],
    }
    status, starts, said = run_script(script, max_restarts=1)
    assert status == 0
    assert starts == ["chief-0", "chief-1", "evaluator-0", "worker-0", "worker-1"]
    assert "chief and workers have ended because of each other; starting all again" in said


def test_chief_and_workers_that_follow_each_other_without_restarts_end_all(run_script):
    script = {
        "chief": [["evaluator-0", 75]],
        "worker": [["evaluator-0", 75]],
        "evaluator": [["never", 0]],
    }
    status, starts, said = run_script(script, max_restarts=0)
    assert (status, starts) == (75, ["chief-0", "evaluator-0", "worker-0"])
    assert "first to fail: " in said.splitlines()[-1] and "exit status 75: " in said


def test_a_temporary_error_restarts_one_process_while_the_chief_goes_on(run_script, monkeypatch):
    monkeypatch.setattr(launcher_lib, "OWN_SECS", 0.2)
    monkeypatch.setattr(launcher_lib, "HANG_SECS", 0.5)
    script = {
        "chief": [["steps until evaluator-1", 0]],
        "evaluator": [[None, 75], [None, 0]],
    }
    status, starts, said = run_script(script, max_restarts=1)
    assert (status, starts) == (0, ["chief-0", "evaluator-0", "evaluator-1"])
    assert "evaluator-0 ended with status 75; starting again" in said


# Leaves a child behind that has the process's output until the launcher closes the pipe.
LEAVES_A_CHILD = f"""
import os, subprocess, sys
pipe = int(os.environ["{PARENT_PIPE}"])
subprocess.Popen([sys.executable, "-c", f"import os; os.read({{pipe}}, 1)"], pass_fds=(pipe,))
"""


def test_the_launcher_ends_though_a_child_keeps_the_output_open(run_script, monkeypatch):
    monkeypatch.setitem(globals(), "PROCESS", LEAVES_A_CHILD + PROCESS)
    waited = Processes.wait_for_output
    monkeypatch.setattr(Processes, "wait_for_output", lambda self: waited(self, secs=0.5))
    status, _, said = run_script({"chief": [[None, 0]]}, max_restarts=0)
    assert status == 0
    assert "chief-0 has ended, but a process that it started keeps its output open" in said
