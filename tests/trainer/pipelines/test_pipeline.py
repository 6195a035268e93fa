"""Steps run when their inputs have changed, and a negative verdict ends the run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from waiting import wait_for_file

from trainer.pipelines import command
from trainer.pipelines.definition import Step, read_pipeline
from trainer.pipelines.history import History
from trainer.pipelines.identity import compute_key
from trainer.release import push_command

pytestmark = [pytest.mark.quick, pytest.mark.newest]
ROOT = Path(__file__).parents[3]

SCHEMA = {
    "columns": {"age": {"type": "float"}, "bought": {"type": "int"}},
    "label": {"column": "bought", "num_classes": 2},
}
CHECK = {"command": "schema check", "flags": {"schema": "schema.yaml", "data": "*.csv"}}
PUSH = {"command": "push", "flags": {"export": "jobs/a/export/best/1", "to": "served"}}
FORCED = {**PUSH, "flags": {**PUSH["flags"], "force": True, "reason": "first"}}


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with data, an export and a way to run a pipeline."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Path("schema.yaml").write_text(yaml.safe_dump(SCHEMA))
    Path("data.csv").write_text("age,bought\n" + "41.5,1\n18.5,0\n" * 10)
    export = Path("jobs/a/export/best/1")
    export.mkdir(parents=True)
    # A graph without nodes.
    (export / "saved_model.pb").write_bytes(b"\x12\0")

    def run(*steps, flags=()):
        Path("p.yaml").write_text(yaml.safe_dump({"folder": "runs", "steps": list(steps)}))
        before = len(read_events())
        status = command.main(["run", "p.yaml", *flags])
        return status, [event for event in read_events()[before:] if event["event"] == "step"]

    return run


def read_events():
    return History(Path("runs")).read()


def list_ran(events):
    return [event["step"] for event in events if not event.get("skipped")]


@pytest.mark.long
def test_a_step_runs_again_when_an_input_changed(work, capfd):
    status, events = work(CHECK, FORCED)
    assert status == 0 and list_ran(events) == ["schema_check", "push"]
    status, events = work(CHECK, FORCED)
    assert status == 0 and list_ran(events) == [] and len(events) == 2
    assert os.listdir("served").count("1") == 1
    # A row more, another file, another flag, another export: exactly what reads it runs again.
    with open("data.csv", "a") as stream:
        stream.write("50.0,1\n")
    assert list_ran(work(CHECK, FORCED)[1]) == ["schema_check"]
    assert "schema_check: changed: *.csv" in capfd.readouterr().err
    Path("more.csv").write_text("age,bought\n1.0,1\n")
    assert list_ran(work(CHECK, FORCED)[1]) == ["schema_check"]
    os.utime("data.csv")
    assert list_ran(work(CHECK, FORCED)[1]) == []
    Path("jobs/a/export/best/1/saved_model.pb").write_bytes(b"\x12\0\x12\0")
    assert list_ran(work(CHECK, FORCED)[1]) == ["push"]
    assert {"1", "2"} <= set(os.listdir("served"))
    assert list_ran(work(CHECK, FORCED, flags=["--force=push"])[1]) == ["push"]


RUN = [sys.executable, "-m", "trainer.pipeline", "run"]

# Counts what a step is sent in the half second after the first signal.
COUNT_SIGNALS = """
import os, signal, sys, time
if "trainer.schema" in sys.orig_argv:
    signals = []
    signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    open("started", "w").close()
    end = time.monotonic() + 60
    while not signals and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.5)
    with open("signals", "w") as stream:
        stream.write(str(len(signals)))
    os._exit(1)
"""


@pytest.mark.long
def test_ctrl_c_in_a_terminal_reaches_a_step_once(work, tmp_path, press_ctrl_c):
    Path("p.yaml").write_text(yaml.safe_dump({"folder": "runs", "steps": [CHECK]}))
    Path("sitecustomize.py").write_text(COUNT_SIGNALS)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    status, errors = press_ctrl_c([*RUN, "p.yaml"], Path("started"), env)
    assert status == 128 + signal.SIGINT, errors
    assert Path("signals").read_text() == "1"


# Sends Ctrl-C to a run while the process of its step is being started.
STARTING = """
import os, signal, subprocess, sys
if "trainer.pipeline" in sys.orig_argv:
    class Popen(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            os.kill(os.getpid(), signal.SIGINT)
    subprocess.Popen = Popen
elif "trainer.schema" in sys.orig_argv:
    import time
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(1))
    time.sleep(0.5)
    open("goes_on", "w").close()
"""


@pytest.mark.long
def test_ctrl_c_while_a_step_is_started_ends_the_step(work, tmp_path):
    Path("p.yaml").write_text(yaml.safe_dump({"folder": "runs", "steps": [CHECK]}))
    Path("sitecustomize.py").write_text(STARTING)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([*RUN, "p.yaml"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 128 + signal.SIGINT and "Traceback" not in done.stderr, done.stderr
    time.sleep(1)
    assert not Path("goes_on").exists()
    assert [event["status"] for event in read_events() if event["event"] == "end"] == [130]


# Keeps a step from going on before the file `go` exists.
WAIT = """
import os, sys, time
if "trainer.schema" in sys.orig_argv:
    open("started", "w").close()
    end = time.monotonic() + 60
    while not os.path.exists("go") and time.monotonic() < end:
        time.sleep(0.01)
"""


@pytest.mark.long
def test_a_run_under_nohup_goes_on_after_the_terminal_is_closed(work, tmp_path):
    steps = [CHECK, {**CHECK, "name": "again"}]
    Path("p.yaml").write_text(yaml.safe_dump({"folder": "runs", "steps": steps}))
    Path("sitecustomize.py").write_text(WAIT)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    with subprocess.Popen(["nohup", *RUN, "p.yaml"], env=env, stdout=subprocess.DEVNULL) as run:
        try:
            wait_for_file(Path("started"))
            run.send_signal(signal.SIGHUP)
            Path("go").touch()
            assert run.wait(60) == 0
        finally:
            run.kill()


@pytest.mark.long
def test_a_negative_verdict_ends_the_run_and_the_next_one_continues_there(work, capfd):
    last = {**CHECK, "name": "last"}
    status, events = work(CHECK, PUSH, last)
    # The export is not blessed.
    assert status == 3 and list_ran(events) == ["schema_check", "push"]
    assert "push: the pipeline ends with status 3" in capfd.readouterr().err
    status, events = work(CHECK, PUSH, last)
    assert status == 3 and list_ran(events) == ["push"]
    status, events = work(CHECK, FORCED, last)
    assert status == 0 and list_ran(events) == ["push", "last"]
    # Data that do not fit end the run, too, with the status of trainer.schema.
    Path("data.csv").write_text("age,bought\nx,1\n")
    assert work(CHECK, FORCED, last)[0] == 3
    assert command.main(["list", "p.yaml"]) == 0
    first, second = capfd.readouterr().out.splitlines()[-2:]
    assert "2 runs, none succeeded, 100% failed" in first
    assert "2 runs, mean " in second and "50% failed" in second
    assert second.endswith("step schema_check ended with 3")


@pytest.mark.long
def test_a_verdict_that_changes_is_an_input_of_the_push(work):
    from trainer.export.fingerprint import fingerprint_export

    assert work(PUSH)[0] == 3
    export = Path("jobs/a/export/best/1")
    verdict = {"verdict": "blessed", "fingerprint": fingerprint_export(str(export))}
    (export / "assets.extra").mkdir()
    (export / "assets.extra/gate.json").write_text(json.dumps(verdict))
    assert work(PUSH)[0] == 0
    assert list_ran(work(PUSH)[1]) == []
    # The served version is removed by mistake.
    shutil.rmtree("served/1")
    assert work(PUSH)[0] == 0 and Path("served/2/saved_model.pb").is_file()
    (export / "saved_model.pb").write_bytes(b"\x12\0\x12\0")
    assert list_ran(work(FORCED)[1]) == ["push"]
    assert push_command.main(["--to=served", "--rollback"]) == 0
    shutil.rmtree("served/2")
    # The version that was taken back does not return by itself.
    assert list_ran(work(FORCED)[1]) == []


@pytest.mark.long
def test_values_of_earlier_steps_and_the_key_are_inserted(work):
    infer = {
        "command": "schema infer",
        "name": "infer",
        "flags": {"data": "data.csv", "label": "bought", "output": "inferred-{key}.yaml"},
    }
    check = {**CHECK, "flags": {"schema": "{infer.output}", "data": "data.csv"}}
    status, events = work(infer, check)
    assert status == 0
    (made,) = Path().glob("inferred-*.yaml")
    assert made.name == f"inferred-{events[0]['key']}.yaml"
    assert f"--schema={made.name}" in events[1]["command"]
    # An output that was removed is made again.
    made.unlink()
    assert list_ran(work(infer, check)[1]) == ["infer"]
    # So is one whose step was not recorded, as after a kill.
    assert work(infer, check, flags=["--force=infer"])[0] == 0


def test_each_way_to_name_several_files_names_inputs(work, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    text = Path("data.csv").read_text()
    for data, path in (
        ("data.csv, more-*.csv", "more-1.csv"),
        ("~/home.csv", "home.csv"),
        ("all/**/*.csv", "all/a/b/1.csv"),
        ("days/dt=2024-01-*", "days/dt=2024-01-01/1.csv"),
    ):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        keys = []
        for content in (text, text * 2):
            Path(path).write_text(content)
            step = Step(command="schema check", flags={"schema": "schema.yaml", "data": data})
            keys.append(compute_key(step, ()))
        (first, inputs), (second, _) = keys
        assert first != second and {data, *data.split(", ")} & inputs.keys(), data


@pytest.mark.parametrize("command", ["task", "tune"])
def test_what_hparams_name_are_inputs(work, command):
    Path("hp").mkdir()
    Path("hp/h.yaml").write_text("data: {schema_file: own.yaml, train: data.csv}")
    Path("hp/own.yaml").write_text("a")
    flags = {"hparams": "hp/h.yaml", "job_dir": "jobs/{key}"}
    step = Step(command="task", flags=flags)
    if command == "tune":
        step = Step(command="tune", flags={"study_dir": "study"}, task=flags)
    keys = [compute_key(step, ())[0]]
    for path in ("hp/own.yaml", "data.csv"):
        Path(path).write_text("b")
        keys.append(compute_key(step, ())[0])
    assert len({*keys}) == 3


def test_what_is_wrong_in_the_file_is_named(work, capfd):
    for steps, reason in (
        ([], "steps: the list is empty"),
        ([{"command": "trian"}], "no such command"),
        ([{"command": "push", "flag": {}}], "steps.0.flag"),
        ([CHECK, CHECK], "two steps have the name 'schema_check'"),
        (
            [{"command": "push", "flags": {"to": "{train.job_dir}"}}],
            "{train.job_dir}: no flag of an earlier step",
        ),
    ):
        assert work(*steps)[0] == 2
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == 1 and reason in lines[0]
    for argv in ([], ["run"], ["rnu", "p.yaml"], ["run", "no-such-file.yaml"]):
        assert command.main(argv) == 2
    assert work(CHECK, flags=["--force=x"])[0] == 2


TASK = {"command": "task", "flags": {"data.schema_file": "schema.yaml", "job_dir": "jobs/{key}"}}
GATE = {"command": "gate", "flags": {"candidate": "jobs/a", "data": "data.csv"}}


@pytest.mark.parametrize(
    ("step", "flags", "words"),
    [
        (PUSH, {"keepp": 2}, "--keepp: no such flag; did you mean --keep?"),
        (PUSH, {"keep": 0}, "--keep=0: write a positive integer"),
        (PUSH, {"keep": None}, "keep: got None: write a text"),
        (PUSH, {"keep": [True]}, "keep: got True: write a text"),
        (PUSH, {"force": True}, "--force: give the reason"),
        (PUSH, {"help": True}, "would only print its help"),
        (PUSH, {"storage.timeout_secs": "x"}, "--storage.timeout_secs: got 'x'"),
        (GATE, {"candidat": "x"}, "--candidat: no such flag; did you mean --candidate?"),
        (GATE, {"threshold": float("nan")}, "--threshold=nan: write a finite number"),
        (GATE, {"rules": "not/there.yaml"}, "--rules=not/there.yaml: No such file"),
        (GATE, {"rules": "rules.yaml"}, "no metric 'auk'; did you mean auc?"),
        (GATE, {"data": ["a.csv", "b.csv"]}, "--data is given with 2 values; the last one counts"),
        (TASK, {"max_stepz": 3}, "--max_stepz: no such flag; did you mean --max_steps?"),
        (TASK, {"max_steps": -1}, "--train.max_steps: got '-1'"),
        (TASK, {"hparams": "not/there.yaml"}, "hparams: no file 'not/there.yaml'"),
        (TASK, {"data.schema_file": "rules.yaml"}, "schema "),
        (TASK, {"print_config": True}, "--print_config: the step would only print"),
        (
            {"command": "sandbox", "flags": {"job_dir": "jobs/a", "warm_up": False}},
            {"server": "x"},
            "--server=x",
        ),
        ({"command": "report", "flags": {}}, {"importance_rows": -1}, "--importance_rows=-1"),
        ({"command": "predict", "flags": {"job_dir": "j"}}, {}, "--row=JSON or --data=FILES"),
        ({"command": "evaluate", "flags": {}}, {"data": "x.csv"}, "--job_dir: not given"),
        ({"command": "join_labels", "flags": {"job_dir": "j"}}, {}, "--requests: not given"),
        ({"command": "schema infer", "flags": {}}, {"data": "x.csv"}, "--label: not given"),
    ],
)
def test_a_wrong_flag_of_the_last_step_is_found_before_the_first(work, capfd, step, flags, words):
    Path("rules.yaml").write_text("- {metric: auk, lower_bound: 0.5}\n")
    status, events = work(CHECK, {**step, "flags": {**step["flags"], **flags}})
    (line,) = capfd.readouterr().err.splitlines()
    assert status == 2 and words in line and line.startswith("error: ")
    assert not events and not Path("runs/runs.jsonl").exists()


def test_a_wrong_search_is_found_before_the_first_step(work, capfd):
    tune = {
        "command": "tune",
        "flags": {"study_dir": "studies/a", "search": ["dropout=0..2"]},
        "task": {"data.schema_file": "schema.yaml", "train_data": "data.csv"},
    }
    assert work(CHECK, tune) == (2, [])
    assert (
        "step tune: --search=dropout=0..2: a trial with '2.0' would fail" in capfd.readouterr().err
    )
    assert not Path("studies").exists()


@pytest.mark.long
def test_a_file_that_an_earlier_step_writes_is_not_read_before(work, capfd):
    infer = {
        "command": "schema infer",
        "flags": {"data": "data.csv", "label": "bought", "output": "made/schema.yaml"},
    }
    task = {
        "command": "task",
        "flags": {
            "data.schema_file": "{schema_infer.output}",
            "hparams": "made/schema.yaml/hparams.yaml",
        },
    }
    _, events = work({**infer, "flags": {**infer["flags"], "label": "nothing"}}, task)
    # The first step is the one that fails.
    assert list_ran(events) == ["schema_infer"]


# Writes down what a training would read; new data arrive while the check runs.
ARRIVING = """
import atexit, glob, os, sys
def arrive():
    number = len(glob.glob("new*.csv"))
    if number < int(os.environ["ARRIVALS"]):
        with open(f"new{number}.csv", "w") as stream:
            stream.write("age,bought\\n" + os.environ["ROW"])
if "trainer.schema" in sys.orig_argv:
    atexit.register(arrive)
elif "trainer.task" in sys.orig_argv:
    os.mkdir("job")
    with open("trained", "w") as stream:
        stream.write(" ".join(sorted(glob.glob("*.csv"))))
    os._exit(0)
"""
TRAIN = {
    "command": "task",
    "flags": {"job_dir": "job", "train_data": "*.csv", "data.schema_file": "schema.yaml"},
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("arrivals", "row", "status", "ran"),
    [
        (1, "30.0,1\n", 0, ["schema_check", "schema_check", "task"]),
        (1, "thirty,1\n", 3, ["schema_check", "schema_check"]),
        (99, "30.0,1\n", 75, ["schema_check"] * 4),
    ],
)
def test_data_that_arrive_after_their_check_are_checked(
    work, monkeypatch, tmp_path, capfd, arrivals, row, status, ran
):
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.setenv("ARRIVALS", str(arrivals))
    monkeypatch.setenv("ROW", row)
    Path("sitecustomize.py").write_text(ARRIVING)
    found, events = work(CHECK, TRAIN)
    err = capfd.readouterr().err
    assert found == status and list_ran(events) == ran, err
    assert "task: *.csv has changed since schema_check read it; schema_check runs again" in err
    if status == 0:
        assert Path("trained").read_text() == "data.csv new0.csv"
    assert Path("job").exists() == (status == 0)
    assert ("task: *.csv changes again and again; repeat the command" in err) == (status == 75)


@pytest.mark.long
def test_a_step_of_a_killed_run_holds_the_lock_and_the_next_run_resumes(work, capfd):
    Path("p.yaml").write_text(yaml.safe_dump({"folder": "runs", "steps": [CHECK]}))
    assert command.main(["run", "p.yaml"]) == 0
    with History(Path("runs")).lock() as lock:
        # A process that inherits the lock, as a step does.
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.fileno()]
        )
    assert command.main(["run", "p.yaml"]) == 75
    assert "is still running; wait until it ends" in capfd.readouterr().err
    child.communicate(b"\n")
    assert command.main(["run", "p.yaml"]) == 0


@pytest.mark.long
def test_a_data_path_without_files_is_told_before_the_first_step(work, capfd):
    late = {"command": "gate", "flags": {"candidate": "jobs/a", "data": "data.csv,late-*.csv"}}
    rows = {"export": "jobs/a", "requests": "data.csv", "labels": "data.csv", "output": "o"}
    join = {"command": "join_labels", "flags": rows}
    made = {**CHECK, "name": "rows", "flags": {"schema": "schema.yaml", "data": "o/*.parquet"}}
    assert work(join, made, late)[0] == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "no file matches" in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("warning: step gate: data: no file matches 'late-*.csv' (looked")


def test_the_pipelines_of_the_package_are_valid():
    for path in sorted((ROOT / "hparams/pipelines").glob("*.yaml")):
        assert read_pipeline(str(path)).steps


@pytest.mark.long
def test_the_first_push_comes_after_a_gate_without_a_baseline(work, capfd):
    gate = {"command": "gate", "flags": {"candidate": "jobs/a", "baseline": "served", "data": "x"}}
    # The export cannot be judged here: what counts is how the gate is asked.
    _, (event,) = work(gate, FORCED)
    assert {"--baseline=served", "--may_be_first"} <= {*event["command"]}
    # Nothing is pushed there by this pipeline: a folder without versions is a mistake.
    _, (event,) = work(gate)
    assert "--may_be_first" not in event["command"]


def test_a_command_is_printed_as_a_shell_takes_it(work, capfd):
    work({**FORCED, "flags": {**FORCED["flags"], "reason": "$(id)\x1b[2J"}})
    shown = [line for line in capfd.readouterr().err.splitlines() if "trainer.push" in line]
    assert "'--reason=$(id)\\x1b[2J'" in shown[0]


def test_a_history_that_cannot_be_written_is_named(work, capfd):
    Path("runs").mkdir()
    # As a file on a full disk.
    Path("runs/runs.jsonl").symlink_to("/dev/full")
    assert work(CHECK) == (2, [])
    err = capfd.readouterr().err
    assert "runs/runs.jsonl: No space left on device; make room" in err, err


def test_a_damaged_history_is_read(tmp_path):
    history = History(tmp_path)
    history.add("start", file="a" * 64)
    history.add("end", status=0, step="x", secs=1.0)
    whole = history.read(), history.describe()
    for event in (
        {"event": "start"},
        {"event": "step", "step": "x", "key": 3, "status": 0},
        {"event": "step", "step": "x", "key": "k", "status": 0, "inputs": 5},
        {"event": "end", "status": "0", "step": "x", "time": "now", "secs": 1},
        {"event": ["step"]},
    ):
        with (tmp_path / "runs.jsonl").open("a") as stream:
            stream.write(json.dumps(event) + "\n")
    with (tmp_path / "runs.jsonl").open("a") as stream:
        stream.write("[" * 100_000 + "\n")
    assert (history.read(), history.describe()) == whole
    assert history.find_last("x") is None
