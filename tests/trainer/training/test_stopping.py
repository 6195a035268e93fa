"""What ends training before its last step: early stops, the time budget, signals."""

import os
import re
import signal
import time
from types import SimpleNamespace

import pytest

from trainer.config import Config, StopConfig
from trainer.signals import Interrupted, SignalWatch


def build_config(job_dir, rows, **sections):
    """A configuration that trains and evaluates on one file."""
    data = {"train": [str(rows)], "eval": [str(rows)]}
    return Config.model_validate({"job_dir": str(job_dir), "data": data, **sections})


def _stop(rules, values, direction="max", clock=time.monotonic):
    from trainer.training.stopping import EarlyStop

    records = [{"step": step, "auc": value} for step, value in enumerate(values)]
    return EarlyStop(
        StopConfig(**rules), "auc", direction=direction, evaluations=records, clock=clock
    )


@pytest.mark.newest
@pytest.mark.parametrize(
    "rules, direction, values, reason",
    [
        ({}, "max", [0.5, 0.4, 0.3, 0.2], None),
        ({"patience_evals": 2}, "max", [0.5, 0.6, 0.55], None),
        ({"patience_evals": 2}, "max", [0.5, 0.6, 0.55, 0.6], "not improved on 0.6 for 2"),
        # The evaluation of the checkpoint at which training has stopped.
        ({"patience_evals": 2}, "max", [0.6, 0.5, 0.5, 0.4], "not improved on 0.6 for 2"),
        ({"patience_evals": 2}, "min", [0.5, 0.4, 0.45, 0.41], "not improved on 0.4 for 2"),
        ({"patience_evals": 1, "min_delta": 0.1}, "max", [0.5, 0.55], "not improved on 0.5"),
        ({"patience_evals": 1, "min_delta": 0.1}, "max", [0.5, 0.65], None),
        ({"target": 0.6}, "max", [0.5, 0.6], "0.6 has reached the target 0.6"),
        ({"target": 0.6}, "min", [0.7, 0.61], None),
        ({"target": 0.6}, "min", [0.7, 0.59], "reached the target"),
    ],
)
def test_early_stop(rules, direction, values, reason):
    decided = _stop(rules, values, direction).reason
    assert decided is None if reason is None else reason in decided


@pytest.mark.newest
def test_time_budget():
    now = [0.0]
    early_stop = _stop({"max_secs": 10}, [], clock=lambda: now[0])
    early_stop.check_clock()
    assert early_stop.reason is None
    now[0] = 10.0
    early_stop.check_clock()
    assert "10 s" in early_stop.reason


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_outside_a_session_is_raised_at_once(number):
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as raised, SignalWatch():
        os.kill(os.getpid(), number)
    assert raised.value.signal == number and raised.value.step is None
    assert signal.getsignal(number) is before


def test_a_signal_in_a_session_waits_and_a_second_does_not():
    with SignalWatch() as watch:
        watch.in_session = True
        os.kill(os.getpid(), signal.SIGTERM)
        assert watch.pending == signal.SIGTERM
        assert watch.saves
        with pytest.raises(Interrupted):
            os.kill(os.getpid(), signal.SIGTERM)
        assert not watch.saves


@pytest.mark.newest
def test_the_step_that_a_signal_names_is_the_step_in_the_checkpoint(tmp_path):
    from estimator_bridge import estimator, tf
    from trainer.job_dir.checkpoints import read_step
    from trainer.training.stopping import InterruptHook

    class Worker(estimator.CheckpointSaverListener):
        """Trains two steps while the chief saves, as an asynchronous worker does."""

        def before_save(self, session, global_step_value):
            session.run(self.step.assign_add(2))

    with tf.Graph().as_default(), SignalWatch() as watch:
        worker = Worker()
        worker.step = tf.compat.v1.train.create_global_step()
        hook = InterruptHook(watch, str(tmp_path), training=True, listener=worker)
        hook.begin()
        tf.compat.v1.add_to_collection(
            tf.compat.v1.GraphKeys.SAVERS, tf.compat.v1.train.Saver(sharded=True)
        )
        with tf.compat.v1.Session() as session:
            session.run(worker.step.initializer)
            session.run(worker.step.assign(283))
            hook.after_create_session(session, None)
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(Interrupted) as raised:
                hook.after_run(SimpleNamespace(session=session), None)
    assert read_step(tf.train.latest_checkpoint(str(tmp_path))) == 285
    assert raised.value.saved == "; checkpoint saved at step 285"


@pytest.mark.newest
def test_an_early_stop_evaluates_exports_and_persists(make, tmp_path):
    rows = make.csv(tmp_path / "rows.csv", make.rows(300))
    schema = make.schema()
    config = build_config(
        tmp_path / "job",
        rows,
        model={"type": "linear"},
        train={"max_steps": 500, "batch_size": 20},
        run={"save_checkpoints_steps": 10},
        stop={"metric": "auc", "target": 0.7},
        export={"exporters": ["final"], "best_metric": "auc"},
    )
    _, result = make.run(config, schema)
    assert 0 < result.end_step < 500
    assert "reached the target 0.7" in result.stopped_early
    assert len(result.exports["final"]) == 1
    assert result.checkpoints[-1].endswith(f"-{result.end_step}")
    _, again = make.run(config, schema)
    assert (again.start_step, again.end_step) == (result.end_step, result.end_step)


@pytest.mark.slow
@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_the_step_and_the_next_run_resumes(
    make, start_module, run_module, tmp_path, number, status
):
    rows = make.csv(tmp_path / "rows.csv", make.rows(500))
    schema = make.yaml(tmp_path / "schema.yaml", make.schema_values())
    job = tmp_path / "job"
    flags = [
        f"--job_dir={job}",
        f"--train_data={rows}",
        f"--eval_data={rows}",
        f"--data.schema_file={schema}",
        "--type=linear",
        "--batch_size=20",
        "--export.exporters=",
        "--run.log_step_count_steps=10",
    ]
    process = start_module("trainer.task", *flags, "--train_steps=10000000")
    metrics_log = job / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics_log.exists() and '"step": 50,' in metrics_log.read_text()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    last = errors.strip().splitlines()[-1]
    saved = re.search(r"checkpoint saved at step ([\d,]+); the same command resumes", last)
    assert saved, last
    step = int(saved.group(1).replace(",", ""))
    assert (job / f"model.ckpt-{step}.index").exists()
    done = run_module("trainer.task", *flags, f"--train_steps={step + 5}")
    assert done.returncode == 0, done.stderr
    assert f"resuming at step {step:,}" in done.stderr
    assert f"{step:,} to {step + 5:,}" in done.stdout


@pytest.mark.newest
def test_a_worker_in_step_with_the_chief_does_not_stop_by_its_own_clock(tmp_path):
    from trainer.console import Console
    from trainer.environment.cluster_spec import Cluster
    from trainer.phase_timer import Times
    from trainer.training.monitor import BestMetric, Monitor, Session
    from trainer.training.progress import Schedule
    from trainer.training.stopping import EarlyStopHook

    spec = {"chief": ("a:1",), "worker": ("b:2",)}
    session = Session(Console(), SignalWatch(), Times())
    schedule = Schedule(0, 10, 1, 5, None)
    for strategy, role, decides in (
        ("multi_worker_mirrored", "worker", False),
        ("multi_worker_mirrored", "chief", True),
        ("none", "worker", True),
    ):
        config = build_config(tmp_path, "rows.csv", cluster={"strategy": strategy})
        monitor = Monitor(
            config,
            session,
            best=BestMetric("auc", "max"),
            schedule=schedule,
            cluster=Cluster(spec, role),
        )
        hooks = monitor.build_train_hooks()
        assert any(isinstance(hook, EarlyStopHook) for hook in hooks) == decides, (strategy, role)
