"""What `make demo` runs: real flights, from the files of the data package to an export."""

import json

import pytest

from trainer.demo import flights

pytestmark = pytest.mark.newest


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flights") / "data"
    flights.prepare(str(folder))
    return folder


def _train(run_module, data, job_dir, *flags):
    done = run_module(
        "trainer.task",
        "--hparams=flights",
        f"--train_data={data}/train-*.parquet",
        f"--eval_data={data}/eval-*.parquet",
        f"--job_dir={job_dir}",
        *flags,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done, json.loads((job_dir / "metrics.json").read_text())


@pytest.mark.slow
def test_a_short_run_trains_evaluates_exports_and_answers(run_module, data, tmp_path):
    job_dir = tmp_path / "job"
    _, metrics = _train(run_module, data, job_dir, "--train_steps=60", "--eval.steps=5")
    assert metrics["end_step"] == metrics["last"]["step"] == 60
    assert metrics["last"]["auc"] > 0.8
    export = metrics["exports"]["final"][-1]
    row = {**metrics["query"], "dep_delay": 120.0, "dep_minute": 700.0, "sched_dep_minute": 580.0}
    done = run_module("trainer.predict", f"--export={export}", f"--row={json.dumps(row)}")
    assert done.returncode == 0, done.stderr
    assert "0." in done.stdout


@pytest.mark.slow
def test_the_preset_beats_the_delay_alone_by_far(run_module, data, tmp_path):
    _, metrics = _train(run_module, data, tmp_path / "job", "--export.exporters=")
    best = metrics["best"]
    assert best["auc"] >= 0.915 and best["log_loss"] <= 0.275
    assert metrics["num_rows"] == [262_242, 65_104]
    alone = metrics["baselines"]["dep_delay alone"]
    assert 0.88 < alone["auc"] < 0.90 and 0.28 < alone["log_loss"] < 0.30
    assert best["auc"] > alone["auc"] + 0.02 and best["log_loss"] < alone["log_loss"] - 0.015
