"""Each command, started as a user starts it: a process of its own that imports everything itself.

Other tests fork their programs from a process that has imported TensorFlow.
"""

import csv
import json

import pytest
import yaml

pytestmark = pytest.mark.newest


def _flags(shop, job_dir):
    return [
        f"--train_data={shop}/train.csv",
        f"--eval_data={shop}/eval.csv",
        f"--data.schema_file={shop}/bought.yaml",
        f"--job_dir={job_dir}",
        "--model=linear",
        "--batch_size=50",
        "--train_steps=20",
    ]


@pytest.fixture(scope="module")
def job(run_module, shop, tmp_path_factory):
    """A job that `python -m trainer.task` has trained, with one export."""
    job_dir = tmp_path_factory.mktemp("commands") / "job"
    flags = [*_flags(shop, job_dir), "--export.exporters=final"]
    done = run_module("trainer.task", *flags, fresh=True)
    assert done.returncode == 0, done.stderr
    assert f"Summary of {job_dir}" in done.stdout
    return job_dir


def test_task(job):
    metrics = json.loads((job / "metrics.json").read_text())
    assert (metrics["start_step"], metrics["end_step"]) == (0, 20)
    assert len(metrics["exports"]["final"]) == 1


def test_predict(run_module, shop, job, tmp_path):
    output = tmp_path / "predictions.csv"
    done = run_module(
        "trainer.predict",
        f"--job_dir={job}",
        f"--data={shop}/eval.csv",
        f"--output={output}",
        fresh=True,
    )
    assert done.returncode == 0, done.stderr
    with output.open() as file:
        assert len(list(csv.DictReader(file))) == 200


def test_evaluate(run_module, job, tmp_path):
    done = run_module("trainer.evaluate", f"--job_dir={job}", f"--output={tmp_path}", fresh=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "evaluation.json").is_file() and "auc" in done.stdout


def test_schema(run_module, shop, tmp_path):
    schema = tmp_path / "schema.yaml"
    data = f"--data={shop}/train.csv"
    done = run_module(
        "trainer.schema", "infer", data, "--label=bought", f"--output={schema}", fresh=True
    )
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(schema.read_text())["label"]["column"] == "bought"
    done = run_module("trainer.schema", "check", f"--schema={schema}", data, fresh=True)
    assert done.returncode == 0, done.stderr


def test_launch(run_module, shop, tmp_path):
    flags = [*_flags(shop, tmp_path / "job"), "--export.exporters="]
    done = run_module("trainer.launch", "--workers=1", "--ps=1", "--", *flags, fresh=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "job" / "metrics.json").read_text())["end_step"] >= 20


def test_kubernetes(run_module, tmp_path):
    path = tmp_path / "job.yaml"
    done = run_module(
        "trainer.kubernetes",
        "render",
        "--name=census",
        "--image=example.com/trainer:1",
        f"--output={path}",
        "--",
        "--hparams=census",
        "--job_dir=gs://a-bucket/jobs/census",
        fresh=True,
    )
    assert done.returncode == 0, done.stderr
    assert [part["kind"] for part in yaml.safe_load_all(path.read_text())][-1] == "Job"


def test_vertex(run_module, tmp_path):
    path = tmp_path / "job.yaml"
    done = run_module(
        "trainer.vertex",
        "render",
        "--name=census",
        "--image=us-docker.pkg.dev/p/r/trainer:1",
        "--base_output_dir=gs://a-bucket/census",
        f"--output={path}",
        "--",
        "--hparams=census",
        "--train_data=gs://a-bucket/train.csv",
        "--eval_data=gs://a-bucket/eval.csv",
        fresh=True,
    )
    assert done.returncode == 0, done.stderr
    spec = yaml.safe_load(path.read_text())["workerPoolSpecs"][0]["containerSpec"]
    assert spec["command"][-1] == "trainer.task" and "--hparams=census" in spec["args"]
