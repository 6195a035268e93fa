"""The evaluator of a trained job, and how it and the chief agree which of them evaluates."""

import shutil

import pytest

from trainer.cluster.heartbeat import FINISHED, RUNNING, SILENT_SECS, TRAINED, HeartbeatFile
from trainer.config import ClusterConfig
from trainer.console import Console
from trainer.export.exporters import list_exports
from trainer.job_dir import checkpoints
from trainer.job_dir.metrics_log import MetricsLog
from trainer.roles.evaluator import run_evaluator
from trainer.roles.handover import await_evaluator, may_evaluate, take_over
from trainer.signals import SignalWatch


@pytest.fixture
def clock():
    now = [100.0]

    def tell():
        return now[0]

    tell.move = lambda secs: now.__setitem__(0, now[0] + secs)
    return tell


@pytest.fixture
def pair(tmp_path, clock):
    """The chief's heartbeat file and the evaluator's; both have published."""
    heartbeats = [HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "evaluator-0")]
    for heartbeat in heartbeats:
        heartbeat.publish(RUNNING)
    for heartbeat in heartbeats:
        heartbeat.refresh()
    return heartbeats


@pytest.mark.newest
def test_the_chief_does_not_take_over_from_a_live_evaluator(pair):
    chief, evaluator = pair
    assert not take_over(chief) and may_evaluate(evaluator)


@pytest.mark.newest
def test_the_chief_takes_over_and_a_returning_evaluator_waits(pair, tmp_path, clock):
    chief, _ = pair
    clock.move(SILENT_SECS + 1)
    chief.publish(RUNNING)
    assert take_over(chief)
    back = HeartbeatFile(str(tmp_path), "evaluator-0", clock)
    assert may_evaluate(back) is True, "the chief has not been seen alive yet"
    chief.publish(RUNNING)
    assert not may_evaluate(back)


@pytest.mark.newest
def test_a_new_chief_gives_the_evaluator_time_to_show_that_it_is_alive(pair, tmp_path, clock):
    _, evaluator = pair
    chief = HeartbeatFile(str(tmp_path), "chief-0", clock)
    clock.move(SILENT_SECS - 1)
    chief.refresh()
    assert not take_over(chief)
    clock.move(2)
    assert take_over(chief), "the evaluator's file has not changed: it is dead"
    evaluator.publish(RUNNING)
    chief.refresh()
    assert not take_over(chief)


@pytest.mark.newest
@pytest.mark.parametrize("state, run_id", [(FINISHED, None), (RUNNING, "another")])
def test_a_new_chief_knows_at_once_that_an_evaluator_has_ended(tmp_path, clock, state, run_id):
    HeartbeatFile(str(tmp_path), "evaluator-0", clock, run_id).publish(state)
    assert take_over(HeartbeatFile(str(tmp_path), "chief-0", clock, "this"))


@pytest.mark.newest
def test_the_chief_gives_way_if_the_evaluator_returns_meanwhile(pair, clock, monkeypatch):
    chief, evaluator = pair
    clock.move(SILENT_SECS + 1)
    refresh = chief.refresh

    def come_back_meanwhile():
        evaluator.publish(RUNNING)
        refresh()

    monkeypatch.setattr(chief, "refresh", come_back_meanwhile)
    assert not take_over(chief)
    assert may_evaluate(evaluator)


@pytest.fixture
def job(make, trained, tmp_path):
    """A trained job of its own in tmp_path/job; returns (job, folder)."""
    done = trained(run={"save_checkpoints_steps": 20}, export={"exporters": ["best", "final"]})
    folder = tmp_path / "job"
    shutil.copytree(done.folder, folder)
    shutil.rmtree(folder / "export")
    (folder / "metrics.jsonl").unlink()
    config = done.config.model_copy(update={"job_dir": str(folder)})
    return done.job._replace(config=config), folder


class _Script(Console):
    """A console that calls functions when certain lines are logged."""

    def __init__(self, **on):
        super().__init__(quiet=True)
        self.on, self.lines = on, []

    def warn(self, line):
        self.log(line)

    def log(self, line):
        self.lines.append(line)
        for start, act in self.on.items():
            if line.startswith(start):
                act()


def _heartbeat_files(folder):
    chief, evaluator = (HeartbeatFile(str(folder), name) for name in ("chief-0", "evaluator-0"))
    chief.publish(RUNNING, target=60)
    evaluator.refresh()
    return chief, evaluator


def test_a_checkpoint_is_deleted_while_it_is_evaluated(job, monkeypatch):
    job, folder = job
    chief, evaluator = _heartbeat_files(folder)
    first, last = folder / "model.ckpt-20", folder / "model.ckpt-60"
    latest = [str(first)]
    monkeypatch.setattr(checkpoints, "latest_checkpoint", lambda job_dir: latest[0])

    def delete():
        # Between the evaluation and the export of the best.
        for path in folder.glob(f"{first.name}.*"):
            path.unlink()
        latest[0] = str(last)
        chief.publish(TRAINED, step=60)
        evaluator.refresh()

    console = _Script(**{"evaluation at step 20": delete})
    run_evaluator(job, console, SignalWatch(), evaluator)
    assert [line["step"] for line in MetricsLog(str(folder)).read("eval")] == [20, 60]
    assert len(list_exports(folder / "export" / "best")) >= 1
    assert len(list_exports(folder / "export" / "final")) == 1
    assert not any("deleted" in line for line in console.lines)
    assert evaluator.status["final_step"] == 60
    assert not list((folder / "cluster").glob("held*"))


@pytest.mark.newest
def test_a_deleted_checkpoint_is_skipped(job, monkeypatch):
    job, folder = job
    chief, evaluator = _heartbeat_files(folder)
    latest = [str(folder / "model.ckpt-10")]
    monkeypatch.setattr(checkpoints, "latest_checkpoint", lambda job_dir: latest[0])

    def go_on():
        latest[0] = str(folder / "model.ckpt-60")
        chief.publish(TRAINED, step=60)
        evaluator.refresh()

    console = _Script(**{latest[0]: go_on})
    run_evaluator(job, console, SignalWatch(), evaluator)
    assert "model.ckpt-10 was deleted before it could be evaluated" in console.lines[0]
    assert [line["step"] for line in MetricsLog(str(folder)).read("eval")] == [60]


def _throttled(config):
    return config.model_copy(
        update={"eval": config.eval.model_copy(update={"throttle_secs": 100_000})}
    )


@pytest.mark.newest
def test_the_evaluator_throttles_all_but_the_last_evaluation(job, monkeypatch):
    job, folder = job
    job = job._replace(config=_throttled(job.config))
    chief, evaluator = _heartbeat_files(folder)
    # The second one is looked at and left; by the third the chief has trained.
    looks = iter([20, 40, 40, 40])

    def find(job_dir):
        step = next(looks, 60)
        if step == 60:
            chief.publish(TRAINED, step=60)
            evaluator.refresh()
        return str(folder / f"model.ckpt-{step}")

    monkeypatch.setattr(checkpoints, "latest_checkpoint", find)
    run_evaluator(job, Console(quiet=True), SignalWatch(), evaluator)
    assert [line["step"] for line in MetricsLog(str(folder)).read("eval")] == [20, 60]


@pytest.mark.newest
def test_the_plan_logs_the_throttle_and_the_last_step_is_evaluated(make, shop, tmp_path):
    config = make.config(
        tmp_path / "job",
        shop / "train.csv",
        shop / "eval.csv",
        model={"type": "linear"},
        train={"max_steps": 9, "batch_size": 10},
        run={"save_checkpoints_steps": 2},
        export={"exporters": []},
    )
    console = _Script()
    make.run(_throttled(config), make.schema(), console)
    evaluated = [line["step"] for line in MetricsLog(str(tmp_path / "job")).read("eval")]
    assert evaluated in ([2, 9], [9])
    (plan,) = [line for line in console.lines if line.startswith("plan:")]
    assert "a checkpoint every 2 steps and at the end" in plan
    assert "after each checkpoint, at most every 27 h 46 min and always at the end" in plan


@pytest.mark.newest
@pytest.mark.parametrize("secs, comes", [(0, False), (1000, True)])
def test_the_chief_waits_evaluator_wait_secs_for_the_last_result(pair, secs, comes, monkeypatch):
    chief, evaluator = pair
    console = _Script()

    def speak(secs):
        evaluator.publish(RUNNING, final_step=7)
        chief.refresh()

    monkeypatch.setattr("trainer.roles.handover.time.sleep", speak)
    config = ClusterConfig(evaluator_wait_secs=secs)
    waits = {"step": 7, "is_expected": True, "console": console}
    assert await_evaluator(config, chief, **waits) is comes
    assert console.lines[0] == "waiting for the evaluator to evaluate and export step 7"
    assert bool(chief.status.get("evaluates")) is not comes


def test_the_last_checkpoint_is_evaluated_once(job):
    job, folder = job
    chief, evaluator = _heartbeat_files(folder)

    def end():
        chief.publish(TRAINED, step=60)
        evaluator.refresh()

    console = _Script(**{"evaluation at step 60": end})
    run_evaluator(job, console, SignalWatch(), evaluator)
    told = [line for line in console.lines if line.startswith("evaluation at step")]
    assert len(told) == 1
    assert (folder / "metrics.jsonl").read_text().count('"eval"') == 1
    assert len(list_exports(folder / "export" / "final")) == 1


def test_the_evaluator_ends_if_the_chief_has_finished(job):
    job, folder = job
    chief, evaluator = _heartbeat_files(folder)
    chief.publish(FINISHED)
    evaluator.refresh()
    run_evaluator(job, Console(quiet=True), SignalWatch(), evaluator)
    assert not (folder / "export").exists()
