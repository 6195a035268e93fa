"""trainer.training.pace and progress: speed without pauses, progress lines, recorded losses."""

import io
import json

import pytest

from estimator_bridge import estimator, tf
from estimator_bridge.output.terminal import format_secs
from trainer.console import Console
from trainer.job_dir.metrics_log import MetricsLog
from trainer.training.pace import Pace
from trainer.training.progress import Schedule, TrainingHook


@pytest.mark.parametrize(
    ("secs", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (190, "3 min 10 s"),
        (3599.7, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_format_secs(secs, text):
    assert format_secs(secs) == text


class _Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_pace_excludes_the_first_step_and_pauses():
    clock = _Clock()
    pace = Pace(clock)
    assert pace.rows_per_sec == 0
    clock.now = 5.0  # the first step sets things up
    pace.end_step(10)
    assert pace.rows_per_sec == 0
    for _ in range(4):
        clock.now += 0.5
        pace.end_step(10)
    assert pace.rows_per_sec == pytest.approx(20)
    pace.start_pause()
    clock.now += 60
    pace.end_step(10)
    assert pace.pause_secs == pytest.approx(60)
    assert pace.train_secs == pytest.approx(2)
    assert pace.steps == 6 and pace.rows == 60


def _train(tmp_path, steps, every, first=0, hooks=(), **options):
    """Trains a counter with the hook; returns (lines of the metrics log, what was shown)."""
    stream = io.StringIO()
    metrics_log = MetricsLog(str(tmp_path))
    options = {"save_steps": None, "save_secs": 300, **options}
    schedule = Schedule(
        first=first, last=steps, record_every=every, rows_at=lambda step: 8, **options
    )
    hook = TrainingHook(Console(stream), Pace(), schedule=schedule, metrics_log=metrics_log)

    def model_fn(features, labels, mode):
        step = tf.compat.v1.train.get_or_create_global_step()
        loss = tf.cast(step, tf.float32) * 1.0 + 2.0
        return estimator.EstimatorSpec(mode, loss=loss, train_op=step.assign_add(1))

    def input_fn():
        return tf.data.Dataset.from_tensors({"x": [1.0]}).repeat()

    estimator.Estimator(model_fn, model_dir=str(tmp_path / "model")).train(
        input_fn, hooks=[hook, *hooks], max_steps=steps
    )
    return metrics_log.read("train"), stream.getvalue().splitlines()


def test_losses_are_recorded_at_the_first_the_last_and_every_nth_step(tmp_path):
    records, _ = _train(tmp_path, 25, every=10)
    assert [record["step"] for record in records] == [1, 10, 20, 25]
    # A resumed run counts on.
    records, _ = _train(tmp_path, 42, every=10)
    assert [record["step"] for record in records] == [1, 10, 20, 25, 26, 30, 40, 42]


class _Abort(estimator.SessionRunHook):
    """Loses the session once, after some steps."""

    left = 15

    def after_run(self, run_context, run_values):
        self.left -= 1
        if not self.left:
            raise tf.errors.AbortedError(None, None, "a server is lost")


def test_losses_of_steps_that_are_lost_with_a_session_do_not_count(tmp_path):
    records, _ = _train(tmp_path, 25, every=10, hooks=[_Abort()])
    assert [record["step"] for record in records] == [1, 10, 20, 25]
    lines = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert [(line["kind"], line["step"]) for line in lines][:4] == [
        ("train", 1),
        ("train", 10),
        ("resume", 0),
        ("train", 1),
    ]


def test_progress_shows_step_loss_and_the_next_checkpoint(tmp_path):
    _, shown = _train(tmp_path, 25, every=10, save_steps=20, save_secs=None)
    assert shown[0].startswith("step 1/25 · loss ")
    assert shown[0].endswith("next checkpoint and evaluation at step 20")
    assert shown[-1].startswith("step 25/25 · loss ") and "examples/s" in shown[-1]
    assert "next checkpoint" not in shown[-1]


def test_progress_shows_the_next_further_checkpoint(tmp_path):
    _, shown = _train(tmp_path, 25, every=10, save_steps=20, save_secs=None, save_at=(1, 7))
    assert shown[0].endswith("next checkpoint and evaluation at step 7")


def test_progress_shows_the_time_to_the_next_checkpoint(tmp_path):
    _, shown = _train(tmp_path, 3, every=10)
    assert "next checkpoint and evaluation in 5 min 0 s" in shown[0]
