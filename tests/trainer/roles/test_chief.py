"""The chief of a cluster at the end of a job."""

import contextlib
import signal
from types import SimpleNamespace

import pytest

from trainer.cluster.heartbeat import FINISHED, RUNNING, HeartbeatFile
from trainer.config import Config
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.roles import chief
from trainer.signals import Interrupted, SignalWatch

pytestmark = pytest.mark.newest
CLUSTER = Cluster({"chief": ("a:1",), "worker": ("b:1",)}, expects_evaluator=True)


@pytest.mark.parametrize(
    "state, is_finished, wanted",
    [
        # It was killed after it had finished, and the evaluator has left for good.
        (FINISHED, True, ["evaluated by the chief"]),
        # The evaluator of this run has not started yet, or not shown that it is alive.
        (FINISHED, False, ["waited"]),
        (RUNNING, True, ["waited"]),
    ],
)
def test_a_chief_without_an_id_of_the_run_waits_for_no_evaluator_that_has_left(
    tmp_path, monkeypatch, state, is_finished, wanted
):
    evaluator = HeartbeatFile(str(tmp_path), "evaluator-0")
    evaluator.publish(state, final_step=0)
    heartbeat, done = HeartbeatFile(str(tmp_path), "chief-0"), []

    def wait(secs):
        done.append("waited")
        evaluator.publish(RUNNING, final_step=0)
        heartbeat.refresh()

    monkeypatch.setattr("trainer.roles.handover.time.sleep", wait)
    monkeypatch.setattr(chief.run, "translate_errors", lambda plan: contextlib.nullcontext())
    monkeypatch.setattr(chief.run, "finish", lambda *_: done.append("evaluated by the chief"))
    config = Config.model_validate({"job_dir": str(tmp_path)})
    run = SimpleNamespace(is_finished=is_finished, evaluator=None)
    plan = SimpleNamespace(job=SimpleNamespace(config=config), run=run)
    console = Console(quiet=True)
    process = SimpleNamespace(
        heartbeat=heartbeat, cluster=CLUSTER, console=console, store=lambda: None
    )
    chief._finish(plan, process)
    assert done == wanted and heartbeat.status["final_step"] == 0


@pytest.mark.parametrize("saves", [True, False])
def test_a_signal_during_an_evaluation_saves_what_workers_have_trained(
    tmp_path, monkeypatch, saves
):
    def evaluate(checkpoint, is_final):
        raise Interrupted(signal.SIGTERM)

    watch = SignalWatch()
    watch.saves = saves
    process = SimpleNamespace(heartbeat=HeartbeatFile(str(tmp_path), "chief-0"), watch=watch)
    evaluator = SimpleNamespace(model_dir=str(tmp_path), evaluate_and_export=evaluate)
    pace = SimpleNamespace(start_pause=lambda: None)
    hook = chief._EvaluateHook(process, evaluator, pace=pace, throttle_secs=0)
    hook._next = 0
    monkeypatch.setattr(chief, "take_over", lambda heartbeat: True)
    monkeypatch.setattr(chief.checkpoints, "latest_checkpoint", lambda folder: "model.ckpt-7")
    # The InterruptHook, which comes next, saves and ends training, unless nothing must be saved.
    with contextlib.nullcontext() if saves else pytest.raises(Interrupted):
        hook.after_run(None, None)
