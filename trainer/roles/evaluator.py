"""The evaluator of a cluster, and how it and the chief agree which of them evaluates and exports.

One at a time does. The chief takes over only from an evaluator that is not alive: it publishes
that it evaluates, and checks once more whether the evaluator is alive now. The evaluator checks
before each evaluation whether the chief has taken over, and then waits until it is done. Where both
do so at once, one of them reads what the other has published.
"""

import time
from pathlib import Path
from typing import Any

from trainer import config as config_lib
from trainer.cluster.heartbeat import FAILED, FINISHED, INTERRUPTED, RUNNING, TRAINED, HeartbeatFile
from trainer.cluster.watchdog import CHIEF, EVALUATOR, POLL_SECS, await_chief, build_end
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, Cluster, tf_config
from trainer.errors import UserError
from trainer.job_dir import checkpoints, compatibility, pinning
from trainer.signals import SignalWatch
from trainer.training import run
from trainer.training.hooks import MoveHook
from trainer.training.job import Job

EVALUATES = Cluster({}, role="evaluator")


def run_evaluator(job: Job, console: Console, watch: SignalWatch, heartbeat: HeartbeatFile) -> None:
    """Evaluates each new checkpoint, the last one always, and exports.

    Raises:
        UserError: the last checkpoint is not whole.
        JobEnded: the job ended otherwise than well.
    """
    await_chief(heartbeat)
    _Evaluations(job, console, watch, heartbeat).go_on_to_the_last()


class _Evaluations:
    def __init__(self, job: Job, console: Console, watch: SignalWatch, heartbeat: HeartbeatFile):
        self._job = job
        self._console = console
        self._watch = watch
        self._heartbeat = heartbeat
        self._plan: Any = None
        # The checkpoint last evaluated, and its metrics.
        self._done: Any = (None, None)
        self._next = time.monotonic() + job.config.eval.start_delay_secs

    def go_on_to_the_last(self) -> None:
        while True:
            status = self._heartbeat.read(CHIEF)
            state = status.get("state")
            if state in (FAILED, INTERRUPTED):
                raise build_end(status)
            if state == FINISHED:
                # It has evaluated and exported in this process's place.
                return
            checkpoint = checkpoints.latest_checkpoint(self._job.config.job_dir)
            is_final = state == TRAINED and checkpoint is not None
            is_new = checkpoint not in (None, self._done[0]) and not checkpoint.endswith("-0")
            is_due = is_final or is_new and time.monotonic() >= self._next
            if not is_due or not is_my_turn(self._heartbeat):
                time.sleep(POLL_SECS)
                continue
            self._evaluate(checkpoint, is_final)
            if is_final:
                return
            time.sleep(POLL_SECS)

    def _evaluate(self, checkpoint: str, is_final: bool) -> None:
        self._next = time.monotonic() + self._job.config.eval.throttle_secs
        folder = self._heartbeat.folder / f"held-by-{EVALUATOR}"
        with self._heartbeat.steps.time_pause(), pinning.pin(checkpoint, folder) as held:
            if held is None:
                self._pass_over(checkpoint, is_final)
                return
            plan = self._plan = self._plan or self._build_plan()
            evaluator = plan.evaluator
            with run.explained(plan), tf_config(ALONE):
                if self._done[0] != checkpoint:
                    self._done = checkpoint, evaluator.evaluate_and_export(held, is_final)
                else:
                    evaluator.export(held, self._done[1], is_final)
        self._heartbeat.publish(RUNNING, stop_reason=plan.early_stop.reason)
        if is_final:
            self._heartbeat.publish(RUNNING, final_step=checkpoints.read_step(checkpoint))

    def _pass_over(self, checkpoint: str, is_final: bool) -> None:
        if is_final:
            raise UserError(
                f"job_dir: the last checkpoint, {checkpoint}, is not whole: files of it are "
                "missing; start the job again, which goes on from the one before it"
            )
        if not Path(f"{checkpoint}.index").exists():
            self._done = checkpoint, None
            self._console.log(f"{checkpoint} was deleted before it could be evaluated; going on")

    def _build_plan(self) -> run.Plan:
        # The model's statistics are the chief's, and there from the first checkpoint on.
        job = self._job
        statistics = compatibility.load_statistics(job.config.job_dir) or job.statistics
        job = job._replace(statistics=statistics)
        moves = MoveHook(self._heartbeat.steps)
        return run.build_plan(job, self._console, self._watch, EVALUATES, eval_hooks=(moves,))


def is_my_turn(heartbeat: HeartbeatFile) -> bool:
    """Whether the evaluator, which asks, may evaluate: the chief has not stepped in."""
    # It may have been stopped for so long that the chief takes it for dead.
    heartbeat.publish(RUNNING)
    heartbeat.refresh()
    return not (heartbeat.read(CHIEF).get("evaluates") and heartbeat.is_alive(CHIEF))


def steps_in(heartbeat: HeartbeatFile) -> bool:
    """Whether the chief, which asks, evaluates in the evaluator's place; then calls `step_out`."""
    if heartbeat.is_alive(EVALUATOR):
        return False
    heartbeat.publish(heartbeat.status["state"], evaluates=True)
    heartbeat.refresh()
    if heartbeat.is_alive(EVALUATOR):
        step_out(heartbeat)
        return False
    return True


def step_out(heartbeat: HeartbeatFile) -> None:
    """Lets the evaluator evaluate again."""
    heartbeat.publish(heartbeat.status["state"], evaluates=False)


def await_evaluator(
    config: config_lib.ClusterConfig,
    cluster: Cluster,
    heartbeat: HeartbeatFile,
    step: int,
    console: Console,
) -> bool:
    """Waits for the evaluator's last word; False where the chief has stepped in to do it."""
    deadline = time.monotonic() + config.evaluator_wait_secs
    if heartbeat.is_alive(EVALUATOR):
        console.log(f"waiting for the evaluator to evaluate and export step {step:,}")
    while True:
        is_late = time.monotonic() >= deadline
        is_coming = not heartbeat.read(EVALUATOR) and cluster.expects_evaluator
        is_coming = is_coming and heartbeat.silent_secs(EVALUATOR) < config.watchdog_secs
        gives_up = is_late or not is_coming and steps_in(heartbeat)
        # Its last word may have come with its end: asked for after looking whether it is there.
        if heartbeat.read(EVALUATOR).get("final_step") == step:
            return True
        if gives_up:
            break
        time.sleep(POLL_SECS)
    heartbeat.publish(TRAINED, evaluates=True)
    if heartbeat.read(EVALUATOR):
        console.warn("the evaluator is gone or late: the chief evaluates and exports in its place")
    return False
