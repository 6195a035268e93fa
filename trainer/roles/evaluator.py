"""The evaluator of a cluster: evaluates and exports each new checkpoint."""

import time
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer.cluster.heartbeat import FAILED, FINISHED, INTERRUPTED, RUNNING, TRAINED, HeartbeatFile
from trainer.cluster.watchdog import CHIEF, EVALUATOR, POLL_SECS, await_chief, build_end
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, Cluster, tf_config
from trainer.errors import TemporaryError
from trainer.job_dir import checkpoints, compatibility, pinning
from trainer.roles.handover import may_evaluate
from trainer.signals import SignalWatch
from trainer.training.hooks import MoveHook
from trainer.training.job import Job
from trainer.training.plan import JobPlan, build_plan
from trainer.training.run import translate_errors

EVALUATOR_ALONE = Cluster({}, role="evaluator")


def run_evaluator(job: Job, console: Console, watch: SignalWatch, heartbeat: HeartbeatFile) -> None:
    """Evaluates and exports each new checkpoint, and always the last one.

    Args:
        job: what to evaluate.
        console: shows progress.
        watch: receives signals.
        heartbeat: heartbeat file of this process.

    Raises:
        TemporaryError: the last checkpoint is incomplete.
        JobEnded: the job failed or was interrupted.
    """
    await_chief(heartbeat)
    _Evaluations(job, console, watch, heartbeat).run()


class _Done(NamedTuple):
    """The last evaluated or skipped checkpoint, and its metrics; None for a skipped checkpoint."""

    checkpoint: Optional[str] = None
    metrics: Optional[dict[str, Any]] = None


class _Evaluations:
    """All evaluations of this process."""

    def __init__(self, job: Job, console: Console, watch: SignalWatch, heartbeat: HeartbeatFile):
        self._job = job
        self._job_dir = job.config.require_job_dir()
        self._console = console
        self._watch = watch
        self._heartbeat = heartbeat
        self._plan: Optional[JobPlan] = None
        self._held = pinning.claim_folder(
            heartbeat.folder, EVALUATOR, heartbeat.start_number, heartbeat.incarnation
        )
        self._done = _Done()
        self._next = time.monotonic() + job.config.eval.start_delay_secs

    def run(self) -> None:
        """Evaluates new checkpoints, up to and including the last one."""
        while True:
            status = self._heartbeat.read(CHIEF)
            state = status.get("state")
            if state in (FAILED, INTERRUPTED):
                raise build_end(status)
            if state == FINISHED:
                # The chief has evaluated and exported instead of this process.
                return
            checkpoint = checkpoints.latest_checkpoint(self._job_dir)
            is_final = state == TRAINED
            if (
                checkpoint is not None
                and self._is_due(checkpoint, is_final)
                and may_evaluate(self._heartbeat)
            ):
                self._evaluate(checkpoint, is_final)
                if is_final:
                    return
            time.sleep(POLL_SECS)

    def _is_due(self, checkpoint: str, is_final: bool) -> bool:
        # model.ckpt-0 is the untrained model.
        is_new = checkpoint != self._done.checkpoint and not checkpoint.endswith("-0")
        return is_final or is_new and time.monotonic() >= self._next

    def _evaluate(self, checkpoint: str, is_final: bool) -> None:
        self._next = time.monotonic() + self._job.config.eval.throttle_secs
        with self._heartbeat.steps.time_pause(), pinning.pin(checkpoint, self._held) as pinned:
            if pinned is None:
                self._skip(checkpoint, is_final)
                return
            if self._plan is None:
                self._plan = self._build_plan()
            plan = self._plan
            evaluator = plan.run.evaluator
            with translate_errors(plan), tf_config(ALONE):
                if self._done.checkpoint == checkpoint and self._done.metrics is not None:
                    evaluator.export(pinned, self._done.metrics, is_final)
                else:
                    metrics = evaluator.evaluate_and_export(pinned, is_final)
                    self._done = _Done(checkpoint, metrics)
        self._heartbeat.publish(RUNNING, stop_reason=plan.run.monitor.early_stop.reason)
        if is_final:
            self._heartbeat.publish(RUNNING, final_step=checkpoints.read_step(checkpoint))

    def _skip(self, checkpoint: str, is_final: bool) -> None:
        if is_final:
            raise TemporaryError(
                f"job_dir: the last checkpoint, {checkpoint}, is incomplete: files are missing; "
                "start the job again, which resumes from the one before it"
            )
        if not Path(f"{checkpoint}.index").exists():
            self._done = _Done(checkpoint)
            self._console.log(f"{checkpoint} was deleted before it could be evaluated; skipped")

    def _build_plan(self) -> JobPlan:
        # The chief stores the model's statistics before its first checkpoint.
        job = self._job
        statistics = compatibility.load_statistics(self._job_dir, job.schema) or job.statistics
        return build_plan(
            job._replace(statistics=statistics),
            self._console,
            self._watch,
            cluster=EVALUATOR_ALONE,
            eval_hooks=(MoveHook(self._heartbeat.steps),),
        )
