"""The chief of a cluster at the end of a job."""

import contextlib
from types import SimpleNamespace

import pytest

from trainer.cluster.heartbeat import FINISHED, RUNNING, HeartbeatFile
from trainer.config import Config
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.roles import chief

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
