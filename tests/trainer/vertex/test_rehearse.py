"""Rehearsals: the replicas of a job as local processes, with the environment of the service."""

import io
import json
import os
import re
import signal
import sys
import threading

import pytest
import yaml

from trainer.cluster.processes import Processes
from trainer.environment.variables import PARENT_PIPE
from trainer.errors import UserError
from trainer.vertex import __main__ as vertex
from trainer.vertex import jobs, program, rehearse

pytestmark = pytest.mark.newest

LEAVES_A_CHILD = f"""
import os, subprocess, sys
pipe = int(os.environ["{PARENT_PIPE}"])
subprocess.Popen([sys.executable, "-c", f"import os; os.read({{pipe}}, 1)"], pass_fds=(pipe,))
"""

IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


@pytest.fixture
def render(make, tmp_path):
    def run(*words, task=()):
        (tmp_path / "data").mkdir(exist_ok=True)
        for name, seed in (("train", 1), ("eval", 2)):
            make.csv(tmp_path / "data" / f"{name}.csv", make.rows(300, seed=seed))
        schema = make.yaml(tmp_path / "schema.yaml", make.schema_values())
        path = tmp_path / "job.yaml"
        status = vertex.main([
            "render", "--name=shop", "--image=gcr.io/project/trainer:1", f"--output={path}",
            "--base_output_dir=gs://a-bucket/shop", *words, "--",
            "--train_data=gs://a-bucket/data/train.csv", "--eval_data=gs://a-bucket/data/eval.csv",
            f"--data.schema_file={schema}", "--model=linear", *task,
        ])  # fmt: skip
        assert status == 0
        return path

    return run


def test_replicas_have_the_environment_of_the_service(render):
    job = jobs.read_job(
        str(render("--workers=1", "--evaluator", task=["--strategy=multi_worker_mirrored"]))
    )
    chief, worker, evaluator = rehearse.list_replicas(job, ["h:1", "h:2", "h:3"], ["--x=1"])
    assert [one.name for one in (chief, worker, evaluator)] == [
        "chief-0",
        "worker-0",
        "evaluator-0",
    ]
    assert chief.command[1:3] == ["-m", "trainer.task"] and chief.command[-1] == "--x=1"
    spec = json.loads(worker.environment["CLUSTER_SPEC"])
    assert spec == {
        "cluster": {"workerpool0": ["h:1"], "workerpool1": ["h:2"], "workerpool3": ["h:3"]},
        "environment": "cloud",
        "task": {"type": "workerpool1", "index": 0},
    }
    config = json.loads(evaluator.environment["TF_CONFIG"])
    assert config["cluster"] == {"chief": ["h:1"], "worker": ["h:2"]}
    assert config["task"] == {"type": "evaluator", "index": 0}
    assert chief.environment["AIP_MODEL_DIR"] == "gs://a-bucket/shop/model/"
    assert chief.environment["AIP_CHECKPOINT_DIR"] == "gs://a-bucket/shop/checkpoints/"


def test_a_trial_has_its_number_and_folders(render):
    job = jobs.read_job(str(render("--tuning=census")))
    (chief,) = rehearse.list_replicas(job, ["h:1"], [], "3")
    assert "TF_CONFIG" not in chief.environment
    assert chief.environment["CLOUD_ML_TRIAL_ID"] == "3"
    assert json.loads(chief.environment["CLUSTER_SPEC"])["task"]["trial"] == "3"
    assert chief.environment["AIP_CHECKPOINT_DIR"] == "gs://a-bucket/shop/3/checkpoints/"


def test_jobs_that_cannot_be_rehearsed_are_an_error(render, capsys):
    path = render()
    text = path.read_text()
    path.write_text(text.replace("trainer.task", "other.program"))
    assert vertex.main(["rehearse", f"--job={path}"]) == 2
    assert "does not run trainer.task" in capsys.readouterr().err
    path.write_text(text)
    assert vertex.main(["rehearse", f"--job={path}", "--put=gs://a-bucket/data=x"]) == 2
    assert "add --emulator" in capsys.readouterr().err
    assert vertex.main(["rehearse", f"--job={path}", "--emulator", "--put=gs://b-b/d=/no"]) == 2
    assert "is not a folder on this machine" in capsys.readouterr().err
    with pytest.raises(UserError, match="the first pool one replica, the chief"):
        rehearse.list_replicas(jobs.Job("x", "", {}, {"workerPoolSpecs": [{}]}), [], [])


@pytest.mark.parametrize("words", [[], ["--package=gs://a-bucket/packages/trainer-1.tar.gz"]])
def test_a_job_gets_the_names_of_the_tensorflow_that_render_names(render, words):
    job = jobs.read_job(str(render("--as=2.8.4", *words)))
    (chief,) = rehearse.list_replicas(job, ["h:1"], ["--x=1"])
    start = ["-m", "estimator_bridge", "run", "--as=2.8", "-m", "trainer.task"]
    assert chief.command[1:7] == start
    assert chief.command[7].startswith("--") and chief.command[-1] == "--x=1"
    pool = job.job_spec["workerPoolSpecs"][0]
    if words:
        assert pool["pythonPackageSpec"]["pythonModule"] == "estimator_bridge"
        assert pool["pythonPackageSpec"]["args"][:4] == start[2:]
    else:
        assert pool["containerSpec"]["command"] == [*program.START, *start[1:]]
    assert program.find_flags(pool) == (start[1:], chief.command[7:-1])


@pytest.mark.slow
def test_a_trial_runs_as_on_the_service(render, run_module, tmp_path):
    path = render("--tuning=census")
    metrics = tmp_path / "hypertune" / "output.metrics"
    done = run_module(
        "trainer.vertex", "rehearse", f"--job={path}", "--emulator", "--trial=2",
        f"--put=gs://a-bucket/data={tmp_path / 'data'}", "--",
        "--train_steps=40", "--learning_rate=0.1",
        env={"CLOUD_ML_HP_METRIC_FILE": str(metrics), "XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 process(es): all succeeded" in done.stdout
    said = done.stderr
    # No flag has named any of these folders.
    assert "Summary of gs://a-bucket/shop/2/checkpoints" in said
    assert re.search(r"model: gs://a-bucket/shop/2/checkpoints/export/best/\d+ is in "
                     r"gs://a-bucket/shop/2/model/ too", said)  # fmt: skip
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert {line["trial"] for line in lines} == {"2"} and lines[-1]["global_step"] == "40"
    (auc,) = [line["auc"] for line in lines if "auc" in line]
    assert 0 < float(auc) < 1


@pytest.mark.slow
def test_a_chief_and_an_evaluator_run_here_on_the_real_bucket(render, run_module, cloud, tmp_path):
    path = render("--evaluator")
    for name in ("train", "eval"):
        cloud.write(f"data/{name}.csv", (tmp_path / "data" / f"{name}.csv").read_bytes())
    done = run_module(
        "trainer.vertex", "rehearse", f"--job={path}", "--",
        "--train_steps=40", "--run.save_checkpoints_steps=20",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 process(es): all succeeded" in done.stdout
    assert "evaluator-0 evaluation at step 40" in done.stderr
    assert "is in gs://a-bucket/shop/model/ too" in done.stderr
    stored = {"checkpoints/model.ckpt-40.index", "checkpoints/metrics.json", "model/saved_model.pb"}
    assert {f"shop/{name}" for name in stored} <= set(cloud.names("shop/"))


def test_a_failed_rehearsal_reports_the_status(render, run_module, tmp_path):
    done = run_module(
        "trainer.vertex", "rehearse", f"--job={render()}", "--emulator",
        env={"XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "no object matches 'gs://a-bucket/data/train.csv'" in done.stderr
    assert "failed with exit status 2" in done.stdout


@pytest.mark.slow
def test_a_replica_that_fails_fails_the_rehearsal(render, run_module, tmp_path):
    path = render("--evaluator")
    job = yaml.safe_load(path.read_text())
    job["workerPoolSpecs"][3]["containerSpec"]["args"].append("--batchsize=3")
    path.write_text(path.read_text().partition("\n")[0] + "\n" + yaml.safe_dump(job))
    # So many steps that the chief cannot finish before it hears of the evaluator.
    done = run_module(
        "trainer.vertex", "rehearse", f"--job={path}", "--emulator",
        f"--put=gs://a-bucket/data={tmp_path / 'data'}", "--", "--train_steps=10000000",
        env={"XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "2 process(es): failed with exit status 2" in done.stdout
    assert "chief-0     error: evaluator-0 has failed: --batchsize: no such flag" in done.stderr
    assert "evaluator-0 error: --batchsize: no such flag; did you mean --batch_size?" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.matrix
def test_two_pools_in_step_run_as_on_the_service(render, run_module, tmp_path):
    path = render("--workers=1", task=["--strategy=multi_worker_mirrored"])
    done = run_module(
        "trainer.vertex", "rehearse", f"--job={path}", "--emulator",
        f"--put=gs://a-bucket/data={tmp_path / 'data'}", "--", "--train_steps=20",
        env={"XDG_CACHE_HOME": str(tmp_path)}, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 process(es): all succeeded" in done.stdout
    assert "Summary of gs://a-bucket/shop/checkpoints" in done.stderr
    assert "worker-0" in done.stderr and "is in gs://a-bucket/shop/model/ too" in done.stderr


def test_the_others_are_stopped_after_a_replica_has_failed(monkeypatch):
    monkeypatch.setattr(rehearse, "STOP_SECS", 0.2)
    programs = {"chief-0": "import time; time.sleep(60)", "worker-0": "raise SystemExit(2)"}
    replicas = [
        rehearse.Replica(name, [sys.executable, "-c", code], {}) for name, code in programs.items()
    ]
    said = io.StringIO()
    rehearsal = rehearse.Rehearsal(replicas, {}, said)
    assert rehearsal.run() == 2
    rehearsal.close()
    assert "rehearse    a process has failed; stopping the others" in said.getvalue()
    assert "killed" not in said.getvalue()


@pytest.mark.parametrize("code, count", [("import time; time.sleep(60)", 1), (IGNORES, 2)])
def test_a_signal_ends_the_replicas_and_a_second_kills_them(capsys, monkeypatch, code, count):
    replicas = [rehearse.Replica("chief-0", [sys.executable, "-c", code], {})]
    monkeypatch.setattr(vertex.jobs, "read_job", lambda path: jobs.Job("shop", "", {}, {}))
    monkeypatch.setattr(rehearse, "count_replicas", lambda job: 1)
    monkeypatch.setattr(rehearse, "list_replicas", lambda *given: replicas)
    run = rehearse.Rehearsal.run

    def interrupt(self):
        for number in range(count):
            timer = threading.Timer(1 + number, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
        return run(self)

    monkeypatch.setattr(rehearse.Rehearsal, "run", interrupt)
    assert vertex.main(["rehearse", "--job=job.yaml"]) == 130
    assert "stopped by SIGINT; repeat the command to start again" in capsys.readouterr().out


def test_a_child_that_keeps_the_output_open_is_named(monkeypatch):
    # The child has the output until the rehearsal closes the pipe.
    command = [sys.executable, "-c", LEAVES_A_CHILD]
    waited = Processes.wait_for_output
    monkeypatch.setattr(Processes, "wait_for_output", lambda self: waited(self, secs=0.2))
    said = io.StringIO()
    rehearsal = rehearse.Rehearsal([rehearse.Replica("chief-0", command, {})], {}, said)
    assert rehearsal.run() == 0
    rehearsal.close()
    assert "rehearse    chief-0 has ended, but a process that it started keeps" in said.getvalue()
