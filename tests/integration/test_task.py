"""python -m trainer.task as a command: whole jobs, kills, resumed jobs and wrong options."""

import hashlib
import importlib.metadata
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest
from repeated_flags import keep_last

from trainer import task
from trainer.job_dir.metrics_log import MetricsLog

# Of the C++ core before it opens its log, and of the protobuf that TensorFlow 2.20 calls.
UNAVOIDABLE = (
    ("before absl::InitializeLog()", "float_format is deprecated")
    if importlib.metadata.version("tensorflow").startswith(("2.17", "2.18", "2.19", "2.20"))
    else ()
)


def _small(shop, job_dir, *more, label="bought"):
    """The arguments of a job of a few seconds."""
    return [
        f"--job_dir={job_dir}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        f"--data.schema_file={shop / f'{label}.yaml'}",
        "--batch_size=50",
        "--hidden_units=8",
        "--noexport.verify",
        "--norun.report",
        *more,
    ]


def _size_of_png(path):
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return struct.unpack(">II", head[16:24])


@pytest.fixture(scope="module")
def whole(shop, run_module, tmp_path_factory):
    """A finished job: (folder, process)."""
    folder = tmp_path_factory.mktemp("whole") / "job"
    whole = ("--train_steps=40", "--export.verify", "--run.report")
    done = run_module("trainer.task", *_small(shop, folder, *whole))
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.mark.smoke
def test_a_whole_job(whole):
    folder, done = whole
    # Everything a person needs to go on is in the summary.
    for words in (
        f"Summary of {folder}",
        "600 rows in 1 file(s)",
        "200 rows in 1 file(s)",
        "0 to 40 (40 trained",
        "auc",
        f"tensorboard --logdir {folder}",
        "python -m trainer.predict --export=",
        f"{folder}/model.ckpt-40",
    ):
        assert words in done.stdout
    for words in (
        "length: 40 steps of 50 rows = 3.33 epochs",
        "plan: starting at step 0, stopping at step 40; a checkpoint every 5 min 0 s",
        "evaluation at step 40: loss",
        "each answered",
    ):
        assert words in done.stderr
    # Nothing of TensorFlow's own, but for what 2.17 to 2.20 cannot be kept from saying.
    said = [line for line in done.errors if not any(words in line for words in UNAVOIDABLE)]
    assert not [line for line in said if "deprecat" in line.lower() or "WARNING" in line]
    assert len(done.errors) < 15
    assert _size_of_png(folder / "curves.png") == (1200, 450)
    for name in ("config.yaml", "schema.json", "statistics.json", "metrics.jsonl", "summary.txt"):
        assert (folder / name).stat().st_size > 0
    assert (folder / "summary.txt").read_text(encoding="utf-8").strip() in done.stdout
    assert list(folder.glob("events.out.tfevents.*"))
    assert list((folder / "eval").glob("events.out.tfevents.*"))


@pytest.mark.smoke
def test_a_job_stores_no_values_of_hashed_columns_and_no_row(whole):
    folder, done = whole
    for path in folder.rglob("statistics.json"):
        stored = json.loads(path.read_text(encoding="utf-8"))["categories"]
        assert stored["job"]["counts"] == {} and stored["job"]["count"] > 500
        assert set(stored["city"]["counts"]) == {"Ulm", "Bonn", "Köln"}
        assert set(stored["bought"]["counts"]) == {"no", "yes"}
    assert len(list(folder.rglob("statistics.json"))) > 1
    for path in (folder / "summary.txt", folder / "metrics.json"):
        text = path.read_text(encoding="utf-8")
        assert "baker" not in text and "nurse" not in text and "r00" not in text
    assert '"job": "example"' in done.stdout


@pytest.mark.newest
def test_a_job_with_private_columns_stores_no_value_of_them(shop, make, run_module, tmp_path):
    values = make.schema_values("bought")
    for name in ("id", "age", "hours", "job", "level"):
        values["columns"][name]["private"] = True
    make.yaml(tmp_path / "private.yaml", values)
    folder = tmp_path / "job"
    arguments = [
        *_small(shop, folder, "--train_steps=20", "--export.verify", "--run.report"),
        "--export.statistics=none",
        f"--data.schema_file={tmp_path / 'private.yaml'}",
    ]
    done = run_module("trainer.task", *arguments)
    assert done.returncode == 0, done.stderr
    texts = [done.stdout, done.stderr]
    for path in folder.rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
    text = "\n".join(texts)
    assert "nurse" not in text and "baker" not in text and "r0000" not in text
    stored = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
    assert stored["columns"]["age"]["max"] is None and stored["categories"]["job"]["counts"] == {}
    assert [path.parent for path in folder.rglob("statistics.json")] == [folder]
    # The export alone, without its job_dir, still predicts rows without an age.
    export = shutil.copytree(next(folder.glob("export/final/*")), tmp_path / "export" / "1")
    answer = run_module(
        "trainer.predict",
        f"--export={export}",
        f"--data={shop / 'eval.csv'}",
        f"--output={tmp_path / 'predictions.csv'}",
    )
    assert answer.returncode == 0, answer.stderr
    assert len((tmp_path / "predictions.csv").read_text(encoding="utf-8").splitlines()) == 201
    # A job can go on after a column has become public.
    again = run_module("trainer.task", *arguments[:-1], "--train_steps=21", "--noexport.verify")
    assert again.returncode == 0, again.stderr


@pytest.mark.smoke
def test_metrics_json(whole):
    folder, _ = whole
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["last"]["step"] == 40
    assert metrics["last"]["auc"] > 0.8
    assert (metrics["start_step"], metrics["end_step"]) == (0, 40)
    assert set(metrics["exports"]) == {"best", "final"}


@pytest.mark.smoke
def test_the_query_of_the_summary_runs(whole, run_module):
    _, done = whole
    command = done.stdout.split("python -m trainer.predict ")[1].strip()
    answer = subprocess.run(
        f"{sys.executable} -m trainer.predict {command}",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    )
    assert answer.returncode == 0, answer.stderr
    (line,) = answer.stdout.splitlines()
    assert sum(json.loads(line)["probabilities"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.smoke
def test_the_same_command_resumes(whole, shop, run_module):
    folder, _ = whole
    # The copy of the configuration in job_dir is an hparams file like any other.
    done = run_module(
        "trainer.task",
        f"--hparams={folder / 'config.yaml'}",
        "--train_steps=60",
        "--noexport.verify",
    )
    assert done.returncode == 0, done.stderr
    assert f"resuming at step 40 from {folder}/model.ckpt-40, stopping at step 60" in done.stderr
    assert "40 to 60 (20 trained" in done.stdout
    assert "evaluation at step 60" in done.stderr
    again = run_module("trainer.task", f"--hparams={folder / 'config.yaml'}", "--noexport.verify")
    assert again.returncode == 0, again.stderr
    assert "nothing to train" in again.stderr and "is at step 60" in again.stderr
    assert "60 to 60 (0 trained" in again.stdout


@pytest.mark.slow
def test_a_killed_job_resumes(shop, start_module, run_module, tmp_path):
    folder = tmp_path / "job"
    often = (
        "--run.save_checkpoints_steps=100",
        "--export.exporters=",
        "--run.log_step_count_steps=20",
    )
    process = start_module("trainer.task", *_small(shop, folder, "--train_steps=1000000", *often))
    for line in process.stderr:
        if line.startswith("evaluation at step 100:"):
            break
    else:
        pytest.fail("it ended by itself")
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = run_module("trainer.task", *_small(shop, folder, "--train_steps=700", *often))
    assert done.returncode == 0, done.stderr
    (plan,) = [line for line in done.errors if line.startswith("plan: ")]
    step = int(plan.split("resuming at step ")[1].split()[0].replace(",", ""))
    assert 100 <= step < 700 and step % 100 == 0
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["end_step"] == 700
    # The metrics log tells of both runs.
    steps = [record["step"] for record in metrics["evaluations"]]
    assert steps == sorted(set(steps)) and {100, 700} <= set(steps)


@pytest.mark.newest
@pytest.mark.slow
def test_census(shared_data, run_module, tmp_path):
    done = run_module(
        "trainer.task",
        "--hparams=census",
        f"--job_dir={tmp_path / 'job'}",
        f"--train_data={shared_data / 'census' / 'train.csv'}",
        f"--eval_data={shared_data / 'census' / 'eval.csv'}",
        "--epochs=3",
    )
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "job" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["best"]["auc"] >= 0.90
    assert metrics["last"]["calibration_error"] < 0.05


@pytest.mark.newest
@pytest.mark.slow
def test_natality(shared_data, run_module, tmp_path):
    done = run_module(
        "trainer.task",
        "--hparams=natality",
        f"--job_dir={tmp_path / 'job'}",
        f"--train_data={shared_data / 'natality' / 'train.csv'}",
        f"--eval_data={shared_data / 'natality' / 'eval.csv'}",
        "--epochs=2",
    )
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "job" / "metrics.json").read_text(encoding="utf-8"))
    mean = metrics["baselines"]["mean"]["rmse"]
    # Predicting the mean is off by 1.30 pounds; the model by 1.06.
    assert metrics["best"]["rmse"] < mean - 0.2


# Wrong commands; test_bad_input has the table of them.


def _check_error(status, errors, words):
    assert status == 2, errors
    (line,) = errors
    assert line.startswith("error: ")
    for word in words:
        assert word in line


@pytest.fixture
def place(tmp_path, make):
    """A folder with good files, and one with an invalid value."""
    rows = make.rows(30, missing=False)
    make.csv(tmp_path / "good.csv", rows)
    make.csv(tmp_path / "old.csv", [rows[0], {**rows[1], "age": "old"}])
    make.yaml(tmp_path / "schema.yaml", make.schema_values("bought"))
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "precious.txt").write_text("do not touch")
    return tmp_path


def _fingerprint(folder):
    """Path → content of every file under a folder, and the folders."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


GOOD = {
    "job_dir": "job",
    "data.schema_file": "schema.yaml",
    "train_data": "good.csv",
    "eval_data": "good.csv",
    "train_steps": "2",
}


def _arguments(change):
    return [f"--{name}={value}" for name, value in {**GOOD, **change}.items()]


def test_a_wrong_flag_is_refused_before_tensorflow_is_imported(place):
    program = (
        "import sys\nfrom trainer import task\nstatus = task.main(sys.argv[1:])\n"
        "loaded = [n for n in ('tensorflow', 'numpy', 'pyarrow') if n in sys.modules]\n"
        "print(status, loaded)"
    )
    for change in (
        {"lerning_rate": "1"},
        {"batch_size": "many"},
        {"data.schema_file": "none.yaml"},
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *_arguments(change)],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "2 []\n"
        assert len(done.stderr.splitlines()) == 1


def test_what_files_show_is_refused_before_tensorflow_is_imported(place):
    program = (
        "import sys\nfrom trainer import task\nstatus = task.main(sys.argv[1:])\n"
        "print(status, 'tensorflow' in sys.modules)"
    )
    (place / "a-file").write_text("")
    for change, words in (
        ({"job_dir": "a-file"}, "job_dir a-file: cannot be written: Not a directory"),
        ({"train_data": "absent.csv"}, "data.train: no file matches 'absent.csv'"),
        ({"fresh": "elsewhere"}, "--fresh=elsewhere: names what will be deleted"),
        ({"export.best_metric": "aucc"}, "export.best_metric: no metric 'aucc'; did you mean auc?"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *_arguments(change)],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "2 False\n" and words in done.stderr, done.stderr


@pytest.mark.newest
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lerning_rate": "1"}, ["did you mean --learning_rate?"]),
        ({"train_data": "old.csv"}, ["old.csv: row 3, column age: 'old'"]),
        ({"data.format": "tfrecord"}, ["good.csv", "damaged"]),
    ],
)
def test_wrong_commands_as_processes(place, run_module, change, words):
    before = _fingerprint(place)
    done = run_module("trainer.task", *_arguments(change), cwd=place)
    _check_error(done.returncode, done.errors, words)
    assert done.stdout == ""
    assert _fingerprint(place) == before


@pytest.mark.newest
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--hidden_units=9", ["model.hidden_units was [8], now [9]"]),
        ("--type=linear", ["model.type was 'wide_deep', now 'linear'"]),
        ("--data.schema_file={shop}/grade.yaml", ["schema.label"]),
    ],
)
def test_a_job_dir_of_another_model(whole, shop, capfd, option, words):
    folder, _ = whole
    before = _fingerprint(folder)
    status = task.main(keep_last(_small(shop, folder, option.format(shop=shop))))
    # A linear model reads no hidden units, which is noted.
    errors = [line for line in capfd.readouterr().err.splitlines() if "has no effect" not in line]
    _check_error(status, errors, ["job_dir", *words])
    assert _fingerprint(folder) == before


@pytest.mark.newest
def test_a_loss_that_is_not_a_number(shop, run_module, tmp_path):
    options = ("--type=linear", "--linear_optimizer=sgd", "--learning_rate=1e30")
    done = run_module(
        "trainer.task", *_small(shop, tmp_path / "job", "--train_steps=50", *options, label="price")
    )
    assert done.returncode == 2
    assert done.errors[-1].startswith("error: ") and "NaN" in done.errors[-1]
    assert "--learning_rate" in done.errors[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.newest
def test_infinite_activations_are_reported_before_the_loss(shop, tmp_path, capfd):
    options = ("--type=dnn", "--optimizer=sgd", "--learning_rate=1e30", "--export.exporters=")
    often = "--run.save_summary_steps=1"
    arguments = _small(shop, tmp_path / "job", "--train_steps=50", *options, often, label="price")
    assert task.main(arguments) == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ") and "became" in last and "--learning_rate" in last


@pytest.mark.newest
def test_help_returns_status_0(run_module):
    for argument in ("--help", "--helpfull"):
        done = run_module("trainer.task", argument)
        assert done.returncode == 0 and done.stderr == ""
        assert "--train.learning_rate (also --learning_rate)" in done.stdout


def _wait_for(condition, process):
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.newest
def test_two_jobs_in_one_local_job_dir(shop, start_module, run_module, tmp_path):
    folder = tmp_path / "job"
    endless = ["--train_steps=1000000", "--run.save_checkpoints_steps=100"]
    first = start_module("trainer.task", *_small(shop, folder, *endless))
    _wait_for((folder / "checkpoint").exists, first)
    # On the same machine, the second job is refused at once.
    done = run_module("trainer.task", *_small(shop, folder, *endless))
    assert done.returncode == 2 and len(done.errors) == 1, done.stderr
    assert f"job_dir {folder}: process {first.pid} on host" in done.stderr
    # Another machine may share no locks with this one, as if it had another lock file. Then the job
    # that started last wins.
    (folder / ".lock").unlink()
    second = start_module("trainer.task", *_small(shop, folder, *endless))
    _, errors = first.communicate(timeout=120)
    assert first.returncode == 2, errors
    assert errors.splitlines()[-1].startswith(f"error: {folder}: another writer has begun to work")
    assert "Traceback" not in errors and "stopped by" not in errors
    state = folder / "checkpoint"
    before = state.read_text(encoding="utf-8")
    _wait_for(lambda: state.read_text(encoding="utf-8") != before, second)
    # A kill leaves nothing that must be removed by hand.
    second.kill()
    second.wait()
    newest = state.read_text(encoding="utf-8").splitlines()[0].rpartition("-")[2].strip('"')
    done = run_module("trainer.task", *_small(shop, folder, f"--train_steps={int(newest) + 20}"))
    assert done.returncode == 0, done.stderr
    steps = [record["step"] for record in MetricsLog(str(folder)).read("train")]
    assert steps == sorted(set(steps)) and steps[-1] <= int(newest) + 20
