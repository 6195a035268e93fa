"""The chief of a cluster: trains, saves checkpoints, and evaluates if no evaluator does."""

import time
from collections.abc import Sequence
from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer.cluster.heartbeat import FINISHED, RUNNING, TRAINED, HeartbeatFile
from trainer.cluster.watchdog import EVALUATOR, POLL_SECS
from trainer.environment.cluster_spec import ALONE, Cluster, tf_config
from trainer.errors import JobEnded
from trainer.evaluation.evaluator import Evaluator
from trainer.job_dir import checkpoints, compatibility
from trainer.reporting.summary import RunResult
from trainer.roles.handover import await_evaluator, release, take_over
from trainer.roles.process import ClusterProcess, build_process_plan, is_synchronous, train
from trainer.signals import Interrupted
from trainer.training import run
from trainer.training.announce import describe_plan
from trainer.training.inputs_record import record_start
from trainer.training.job import Job
from trainer.training.monitor import Monitor
from trainer.training.pace import Pace
from trainer.training.plan import JobPlan
from trainer.training.stopping import save_checkpoint


class _SaveHook(estimator.SessionRunHook):
    """Saves a checkpoint when a parameter server has received a signal, and waits for that.

    Args:
        process: this process.
        monitor: of the run.
        job_dir: folder of the checkpoints.
    """

    def __init__(self, process: ClusterProcess, monitor: Monitor, job_dir: str):
        self._heartbeat, self._monitor, self._job_dir = process.heartbeat, monitor, job_dir
        self._servers = [name for name in process.cluster.names if name.startswith("ps-")]
        # Incarnations of the servers that wait, and have their checkpoint.
        self._saved: list[str] = []

    def begin(self) -> None:
        self._step = tf.compat.v1.train.get_global_step()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        statuses = [self._heartbeat.read(name) for name in self._servers]
        leaving = [one["incarnation"] for one in statuses if one.get("leaving")]
        if set(leaving) <= set(self._saved):
            return
        self._monitor.pace.start_pause()
        session = run_context.session
        step = int(session.run(self._step))
        save_checkpoint(session, step, self._job_dir, self._monitor.finite)
        self._saved = leaving
        self._heartbeat.publish(RUNNING, saved_for=leaving)


class _EvaluateHook(estimator.SessionRunHook):
    """Evaluates and exports new checkpoints in the chief while no evaluator is alive.

    This is a hook because TensorFlow's distribute coordinator does not call checkpoint listeners.
    """

    def __init__(
        self, process: ClusterProcess, evaluator: Evaluator, *, pace: Pace, throttle_secs: float
    ):
        self._heartbeat, self._watch = process.heartbeat, process.watch
        self._evaluator = evaluator
        self._pace = pace
        self._throttle_secs = throttle_secs
        self._next = time.monotonic() + POLL_SECS
        self._throttled_until = 0.0
        # An earlier run has evaluated the checkpoint from which training resumes.
        self._evaluated = checkpoints.latest_checkpoint(evaluator.model_dir)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL_SECS
        checkpoint = checkpoints.latest_checkpoint(self._evaluator.model_dir)
        # model.ckpt-0 is the untrained model.
        if checkpoint in (None, self._evaluated) or checkpoint.endswith("-0"):
            return
        if now < self._throttled_until or not take_over(self._heartbeat):
            return
        self._pace.start_pause()
        try:
            with tf_config(ALONE):
                self._evaluator.evaluate_and_export(checkpoint, is_final=False)
        except Interrupted:
            if not self._watch.saves:
                raise
            # Workers have trained on during the evaluation: the InterruptHook saves their steps.
            return
        release(self._heartbeat)
        self._evaluated = checkpoint
        self._throttled_until = time.monotonic() + self._throttle_secs


def run_chief(job: Job, process: ClusterProcess) -> RunResult:
    """Trains, and makes sure that the last checkpoint is evaluated and exported.

    Args:
        job: what to train.
        process: this process.

    Returns:
        The result of the run.

    Raises:
        UserError: the data, the model or job_dir are wrong.
        Interrupted: a signal arrived; a checkpoint has been saved.
    """
    console, heartbeat = process.console, process.heartbeat
    heartbeat.publish(RUNNING, target=job.max_steps)
    # A worker that has reached the last step has left, and is not started again.
    if is_synchronous(job) and not _has_last_step(job):
        _await_workers(process.cluster, heartbeat)
    plan = _build_plan(job, process)
    heartbeat.publish(RUNNING, engine=plan.engine.name)
    compatibility.save_inputs(job.config, job.schema, job.statistics)
    record_start(job, plan.run.first)
    for note in process.cluster.notes:
        console.log(f"cluster: {note}")
    console.log(_describe_cluster(job.config.cluster.strategy, process.cluster))
    console.log(describe_plan(plan))
    if not plan.run.is_finished:
        train(plan, process)
    _finish(plan, process)
    return run.collect_job_result(plan)._replace(steps_each=_count_steps(job, process))


def _has_last_step(job: Job) -> bool:
    checkpoint = checkpoints.latest_checkpoint(job.config.require_job_dir())
    return checkpoints.read_step(checkpoint) >= job.max_steps


def _build_plan(job: Job, process: ClusterProcess) -> JobPlan:
    def make_hooks(monitor: Monitor, evaluator: Evaluator) -> Sequence[Any]:
        evaluating = _EvaluateHook(
            process,
            evaluator,
            pace=monitor.pace,
            throttle_secs=job.config.eval.throttle_secs,
        )
        return _SaveHook(process, monitor, job.config.require_job_dir()), evaluating

    return build_process_plan(job, process, make_hooks)


def _finish(plan: JobPlan, process: ClusterProcess) -> None:
    """Waits until the evaluator has evaluated the last checkpoint, or evaluates it here."""
    heartbeat, config = process.heartbeat, plan.job.config
    end = checkpoints.read_step(checkpoints.latest_checkpoint(config.require_job_dir()))
    # The workers leave after this, so a chief that is started again must find the checkpoint.
    process.store()
    heartbeat.publish(TRAINED, step=end)
    # If the previous chief was killed after this evaluation, this chief does not repeat it.
    previous = heartbeat.previous_status
    is_done = previous.get("final_step") == end and previous["state"] != FINISHED
    # Without an ID of the run, a chief that was killed after it had finished does not know that its
    # evaluator has left for good.
    has_left = plan.run.is_finished and heartbeat.last_status(EVALUATOR).get("state") == FINISHED
    is_expected = process.cluster.expects_evaluator and not has_left
    if not is_done and not await_evaluator(
        config.cluster, heartbeat, step=end, is_expected=is_expected, console=process.console
    ):
        with heartbeat.steps.time_pause(), run.translate_errors(plan), tf_config(ALONE):
            run.finish(plan.run.evaluator, process.console)
    heartbeat.publish(TRAINED, final_step=end)


def _count_steps(job: Job, process: ClusterProcess) -> Optional[dict[str, int]]:
    """Returns how many steps each process has trained; None if training is synchronous."""
    heartbeat, cluster = process.heartbeat, process.cluster
    if is_synchronous(job) or not cluster.is_distributed:
        return None
    heartbeat.refresh()
    workers = [name for name in cluster.names if name.startswith("worker-")]
    return {
        cluster.name: heartbeat.steps.num_steps,
        **{name: heartbeat.read(name).get("num_steps", 0) for name in workers},
    }


def _await_workers(cluster: Cluster, heartbeat: HeartbeatFile) -> None:
    """Waits until every worker has joined this chief, and publishes their incarnations.

    Synchronous processes cannot continue without each other. When one of the published incarnations
    ends, all processes end and are restarted. The watchdog limits the wait.
    """
    workers = [name for name in cluster.names if name.startswith("worker-")]
    while not all(heartbeat.read(name).get("joined") == heartbeat.incarnation for name in workers):
        gone = [name for name in workers if heartbeat.read(name).get("state") == FINISHED]
        if gone:
            raise JobEnded(
                f"{gone[0]} has finished, and this process cannot train without it; the same "
                "command starts all processes again"
            )
        time.sleep(POLL_SECS)
    lineup = {name: heartbeat.read(name)["incarnation"] for name in workers}
    heartbeat.publish(RUNNING, lineup={cluster.name: heartbeat.incarnation, **lineup})


def _describe_cluster(strategy: str, cluster: Cluster) -> str:
    counts = ", ".join(f"{len(cluster.spec[role])} {role}" for role in cluster.spec)
    by_whom = (
        "by the evaluator" if cluster.expects_evaluator else "by the chief while no evaluator runs"
    )
    return f"cluster: {counts}; strategy {strategy}; evaluation {by_whom}"
