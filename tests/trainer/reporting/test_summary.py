"""trainer.reporting: metrics.json, curves.png and the summary."""

import json
import math
import shlex

import pytest

from trainer.job_dir.metrics_log import MetricsLog
from trainer.reporting.plots import draw_curves
from trainer.reporting.summary import DataSummary, RunResult, RunSummary, choose_best, write_report

pytestmark = pytest.mark.newest

DATA = DataSummary(
    task="binary",
    num_files=(2, 1),
    num_rows=(12_345, 678),
    num_bad_rows=(0, 0),
    baselines={},
    query={"city": "Land's End", "age": 3.5},
)
RESULT = RunResult(
    start_step=0,
    end_step=30,
    stopped_early=None,
    examples_per_sec=9876.5,
    secs={"training": 1.25, "all": 2.0},
    secs_each={"export": [0.25]},
    checkpoints=["job/model.ckpt-30"],
    exports={"best": ["job/export/best/17"], "final": []},
    origins=("files", "files"),
)


def _write(tmp_path, make, evaluations, losses=(), **result):
    metrics_log = MetricsLog(str(tmp_path))
    for step, loss in losses:
        metrics_log.append("train", step, {"loss": loss})
    for step, values in evaluations:
        metrics_log.append("eval", step, values)
    draw_curves(str(tmp_path), "auc")
    return write_report(RunSummary(str(tmp_path), RESULT._replace(**result), "auc", "max", DATA))


EVALUATIONS = [
    (10, {"loss": 0.5, "auc": 0.7, "accuracy": 0.6}),
    (20, {"loss": 0.4, "auc": 0.9, "accuracy": 0.8}),
    (30, {"loss": 0.45, "auc": 0.85, "accuracy": 0.7}),
]


@pytest.mark.parametrize(
    ("values", "is_improving"),
    [
        ((0.5, 0.6, 0.7, 0.8, 0.9), True),
        ((0.9, 0.901, 0.902, 0.903, 0.904), False),
        ((0.5, 0.9, 0.7, 0.8, 0.85), False),
        ((0.7, 0.8, 0.9), False),
    ],
)
def test_a_model_that_still_improves_is_reported(tmp_path, make, values, is_improving):
    evaluations = [(10 * n + 10, {"loss": 0.5, "auc": value}) for n, value in enumerate(values)]
    summary = _write(tmp_path, make, evaluations)
    assert ("still improving" in summary) == is_improving
    if is_improving:
        assert "auc was 33 % worse 3 evaluations before the end" in summary
        assert "; more steps (--max_steps) may" in summary
        trees = RunSummary(str(tmp_path), RESULT, "auc", "max", DATA, longer="trees (--n_trees)")
        assert "; more trees (--n_trees) may" in write_report(trees)
        assert "still improving" not in _write(tmp_path, make, [], stopped_early="SIGTERM")


def test_best_and_last(tmp_path, make):
    summary = _write(tmp_path, make, EVALUATIONS)
    best, last = (
        next(line for line in summary.splitlines() if line.strip().startswith(word))
        for word in ("best auc, step 20", "last, step 30")
    )
    assert best.split()[-3:] == ["0.4000", "0.9000", "0.8000"]
    assert last.split()[-3:] == ["0.4500", "0.8500", "0.7000"]


@pytest.mark.parametrize(
    ("metric", "direction", "step"), [("auc", "max", 20), ("auc", "min", 10), ("loss", "min", 20)]
)
def test_choose_best(metric, direction, step):
    evaluations = [{"step": step, **values} for step, values in EVALUATIONS]
    assert choose_best(evaluations, metric, direction)["step"] == step
    assert choose_best(evaluations, "rmse", "min") is None
    assert choose_best([{"step": 1, "auc": float("nan")}], "auc", "max") is None


def test_the_summary_contains_what_was_done(tmp_path, make):
    summary = _write(tmp_path, make, EVALUATIONS)
    for words in (
        "12,345 rows in 2 file(s)",
        "678 rows in 1 file(s)",
        "0 to 30 (30 trained, 9,876 examples/s)",
        "training 1.2 s",
        "1 kept, the last job/model.ckpt-30",
        "job/export/best/17",
        f"tensorboard --logdir {tmp_path}",
    ):
        assert words in summary
    assert (tmp_path / "summary.txt").read_text(encoding="utf-8") == summary + "\n"


def test_the_query_is_quoted_for_a_shell(tmp_path, make):
    line = _write(tmp_path, make, EVALUATIONS).splitlines()[-1]
    words = shlex.split(line)
    assert words[0] == "query" and "--export=job/export/best/17" in words
    assert json.loads(words[-1][len("--row=") :]) == (DATA.query)


def test_metrics_json(tmp_path, make):
    _write(tmp_path, make, [*EVALUATIONS, (40, {"loss": float("nan"), "auc": 0.5})])
    document = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert document["best"]["auc"] == 0.9
    # JSON has no NaN.
    assert document["last"] == {"step": 40, "loss": None, "auc": 0.5}
    assert [record["step"] for record in document["evaluations"]] == [10, 20, 30, 40]
    assert document["num_rows"] == [12_345, 678]


def test_a_run_without_evaluations(tmp_path, make):
    summary = _write(tmp_path, make, [], checkpoints=[], exports={}, examples_per_sec=0.0)
    assert "no evaluation" in summary and "0 kept" in summary
    assert "query" not in summary
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_curves_are_drawn(tmp_path, make):
    losses = [(1, 900.0), *((step, 1.0 / step) for step in range(2, 30))]
    _write(tmp_path, make, EVALUATIONS, losses)
    content = (tmp_path / "curves.png").read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 10_000
    assert not list(tmp_path.glob("*.tmp")) and not list(tmp_path.glob(".*.tmp"))


def test_curves_of_losses_that_are_nan(tmp_path, make):
    _write(tmp_path, make, EVALUATIONS, [(step, float("nan")) for step in range(1, 20)])
    assert (tmp_path / "curves.png").exists()


def test_a_line_that_a_crash_cut_short_is_skipped(tmp_path, make):
    metrics_log = MetricsLog(str(tmp_path))
    metrics_log.append("eval", 10, {"loss": 0.5})
    metrics_log.append("eval", 20, {"loss": 0.4})
    metrics_log.append("eval", 10, {"loss": 0.3})
    with (tmp_path / "metrics.jsonl").open("a") as stream:
        stream.write('{"kind": "eval", "st')
    # A step that was run twice counts as it was the last time.
    assert metrics_log.read("eval") == [{"step": 10, "loss": 0.3}, {"step": 20, "loss": 0.4}]


def test_the_best_evaluation_is_one_on_the_data_of_the_last(tmp_path):
    for step, auc, day in (10, 0.9, 1), (20, 0.8, 2), (30, 0.7, 2):
        MetricsLog(str(tmp_path), {"eval_data": day}).append("eval", step, {"auc": auc})
    write_report(RunSummary(str(tmp_path), RESULT, "auc", "max"))
    document = json.loads((tmp_path / "metrics.json").read_text())
    assert document["best"] == {"step": 20, "auc": 0.8} and len(document["evaluations"]) == 3


def test_lines_beyond_the_resumed_step_do_not_count(tmp_path):
    """A disk is lost, and the bucket has the metrics log but not the last checkpoint."""
    metrics_log = MetricsLog(str(tmp_path))
    for step in (10, 20, 30):
        metrics_log.append("train", step, {"loss": 1 / step})
        metrics_log.append("eval", step, {"loss": 2 / step})
    metrics_log.resume_from(30)
    assert len(metrics_log.read("eval")) == 3
    metrics_log.resume_from(20)
    metrics_log.append("eval", 25, {"loss": 0.5})
    assert metrics_log.read("train") == [{"step": 10, "loss": 0.1}, {"step": 20, "loss": 0.05}]
    assert [line["step"] for line in metrics_log.read("eval")] == [10, 20, 25]


def test_a_worse_model_is_not_called_better(tmp_path):
    majority = {"loss": 0.5, "accuracy": 0.85, "auc": 0.5, "calibration_error": 0.0}
    data = DATA._replace(baselines={"majority class": majority})
    model = {"loss": 0.5, "accuracy": 0.8, "auc": 0.75, "calibration_error": 0.2}
    MetricsLog(str(tmp_path)).append("eval", 10, model)
    summary = write_report(RunSummary(str(tmp_path), RESULT, "auc", "max", data))
    lines = [" ".join(line.split()) for line in summary.splitlines()]
    assert "equal to majority class in loss" in lines
    assert "worse than majority class by accuracy -0.0500" in lines
    assert "better than majority class by auc +0.2500" in lines


def test_the_last_line_says_that_all_rows_have_one_label(tmp_path):
    majority = {"accuracy": 1.0, "auc": math.nan, "log_loss": 0.0}
    data = DATA._replace(baselines={"majority class": majority})
    model = {"accuracy": 1.0, "auc": 0.0, "log_loss": 0.001}
    MetricsLog(str(tmp_path)).append("eval", 10, model)
    summary = write_report(RunSummary(str(tmp_path), RESULT, "auc", "max", data))
    lines = [" ".join(line.split()) for line in summary.splitlines()]
    assert lines[-1].startswith("one label all evaluation rows have the same label")
    assert "equal to majority class in accuracy" in lines


@pytest.mark.parametrize(
    ("model", "has_learnt"),
    [
        ({"accuracy": 0.85, "auc": 0.505, "log_loss": 0.43}, False),
        ({"accuracy": 0.8, "auc": 0.4, "log_loss": 0.5}, False),
        ({"accuracy": 0.85, "auc": 0.52, "log_loss": 0.43}, True),
        ({"accuracy": 0.85, "auc": 0.5, "log_loss": 0.41}, True),
    ],
)
def test_the_last_line_says_that_nothing_was_learnt(tmp_path, model, has_learnt):
    majority = {"accuracy": 0.85, "auc": 0.5, "log_loss": 0.42, "calibration_error": 0.3}
    others = {"accuracy": 0.1, "auc": 0.1, "log_loss": 9.0}
    data = DATA._replace(baselines={"majority class": majority, "age alone": others})
    MetricsLog(str(tmp_path)).append("eval", 10, {"calibration_error": 0.2, **model})
    summary = write_report(RunSummary(str(tmp_path), RESULT, "auc", "max", data))
    line = " ".join(summary.splitlines()[-1].split())
    text = "learnt nothing in no metric is the model better than the majority class; check the"
    assert line.startswith(text) != has_learnt
