"""What each process of a cluster that trains does: chief, worker, parameter server.

Each ends by itself: the chief when the job is done, the others when the chief's heartbeat file
says so. A thread of each process reads these files; it ends a process whose main thread is stuck in
TensorFlow because another one is gone.
"""

import functools
import re
import time
from contextlib import contextmanager
from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer.cluster.heartbeat import (
    ENDED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOST,
    RUNNING,
    TRAINED,
    HeartbeatFile,
)
from trainer.cluster.strategies import SYNCHRONOUS
from trainer.cluster.watchdog import (
    CHIEF,
    EVALUATOR,
    GRACE_SECS,
    POLL_SECS,
    await_chief,
    build_end,
    is_over,
)
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, Cluster, tf_config
from trainer.errors import JobEnded, UserError
from trainer.job_dir import checkpoints, compatibility, pinning
from trainer.roles.evaluator import await_evaluator, step_out, steps_in
from trainer.signals import SignalWatch
from trainer.training import run
from trainer.training.hooks import MoveHook
from trainer.training.job import Job

PLACE_IN_GRAPH = re.compile(r"(?s)^Graph execution error:.*?\nNode: '.*?'\n(From \S+:\n)?")


class _HeartbeatHook(estimator.SessionRunHook):
    """Publishes that the session is up, and ends training when the heartbeat files require it.

    What the session runs goes through `_run`, which times the steps.
    """

    def __init__(self, heartbeat: HeartbeatFile, cluster: Cluster, is_synchronous: bool):
        self._heartbeat = heartbeat
        self._cluster = cluster
        self._is_in_step = is_synchronous and cluster.is_distributed
        self.plan: Any = None

    def after_create_session(self, session, coord):
        session.run = functools.partial(self._run, session.run)
        self._heartbeat.publish(RUNNING, in_session=True)

    def _run(self, run, fetches, *args, **options):
        # The requests of all hooks come as one dict. Whatever else is run is no step: a checkpoint
        # that is saved, the global step that a hook reads.
        is_step = isinstance(fetches, dict)
        steps = self._heartbeat.steps
        if is_step:
            steps.begin_step()
        try:
            results = run(fetches, *args, **options)
        except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
            # It will be created anew.
            steps.start_session()
            if self._is_in_step:
                # Or rather not: the others cannot join a session that begins now.
                end = _build_lost_step(error)
                self._heartbeat.publish(LOST, message=str(end))
                raise end from error
            raise
        if is_step:
            steps.end_step()
        else:
            steps.note_progress()
        return results

    def after_run(self, run_context, run_values):
        if self._cluster.role == "chief":
            reason = self._heartbeat.read(EVALUATOR).get("stop_reason")
            early_stop = self.plan.early_stop
            early_stop.reason = early_stop.reason or reason
        elif self._heartbeat.read(CHIEF).get("state") in (TRAINED, *ENDED):
            run_context.request_stop()


class _EvaluateHook(estimator.SessionRunHook):
    """Evaluates and exports new checkpoints in the chief, whenever no evaluator is there to do it.

    A hook, as the distribute coordinator calls no listener of checkpoints.
    """

    def __init__(self, heartbeat: HeartbeatFile):
        self._heartbeat = heartbeat
        self._next = time.monotonic() + POLL_SECS
        self._throttled_until = 0.0
        self._evaluated: Optional[str] = None
        self.plan: Any = None

    def after_run(self, run_context, run_values):
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL_SECS
        plan, config = self.plan, self.plan.job.config
        checkpoint = checkpoints.latest_checkpoint(config.job_dir)
        is_new = checkpoint not in (None, plan.checkpoint, self._evaluated)
        waits = now < self._throttled_until or checkpoint.endswith("-0") if is_new else True
        if waits or not steps_in(self._heartbeat):
            return
        plan.pace.start_pause()
        with tf_config(ALONE):
            run.evaluate_and_export(plan.evaluator, plan.eval_spec, checkpoint, is_final=False)
        step_out(self._heartbeat)
        self._evaluated = checkpoint
        self._throttled_until = time.monotonic() + config.eval.throttle_secs


def serve(cluster: Cluster, heartbeat: HeartbeatFile) -> None:
    """Is a parameter server until the chief has ended and the workers have let go.

    Raises:
        UserError: the address is in use.
        JobEnded: the job ended otherwise than well.
    """
    server = _start_server(cluster, None)
    heartbeat.publish(RUNNING, serving=True)
    while heartbeat.read(CHIEF).get("state") not in ENDED:
        time.sleep(POLL_SECS)
    status = heartbeat.read(CHIEF)
    deadline = time.monotonic() + GRACE_SECS
    workers = [name for name in cluster.names if name.startswith("worker-")]
    while any(map(heartbeat.is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(POLL_SECS)
    del server
    if status["state"] != FINISHED:
        raise build_end(status)


def _start_server(cluster: Cluster, session_config: Any):
    try:
        return tf.distribute.Server(
            tf.train.ClusterSpec(cluster.spec),
            job_name=cluster.role,
            task_index=cluster.index,
            config=session_config,
        )
    except tf.errors.OpError as error:
        address = cluster.spec[cluster.role][cluster.index]
        raise UserError(
            f"TF_CONFIG: {cluster.name} cannot listen on {address}: "
            f"{error.message.splitlines()[0][:120]}; is another process using that port?"
        ) from error


def run_chief(
    job: Job, console: Console, watch: SignalWatch, cluster: Cluster, heartbeat: HeartbeatFile
) -> run.Result:
    """Trains, and sees to it that the last checkpoint is evaluated and exported.

    Raises:
        UserError: data, model or job_dir are not what they should be.
        trainer.signals.Interrupted: a signal came; a checkpoint has been saved.
    """
    heartbeat.publish(RUNNING, target=job.max_steps)
    if job.config.cluster.strategy in SYNCHRONOUS:
        _line_up(cluster, heartbeat)
    plan = _build_plan(job, console, watch, cluster, heartbeat)
    compatibility.save_inputs(job.config, job.schema, job.statistics)
    for note in cluster.notes:
        console.log(f"cluster: {note}")
    console.log(_describe_cluster(job, cluster))
    console.log(run.describe_plan(plan))
    if plan.first < job.max_steps and not plan.early_stop.reason:
        _train(plan, heartbeat)
    end = checkpoints.read_step(checkpoints.latest_checkpoint(job.config.job_dir))
    heartbeat.publish(TRAINED, step=end)
    # This process may have been killed when there was only the report left to write.
    previous = heartbeat.previous_status
    is_done = previous.get("final_step") == end and previous["state"] != FINISHED
    if not is_done and not await_evaluator(job.config.cluster, cluster, heartbeat, end, console):
        with heartbeat.steps.time_pause(), run.explained(plan), tf_config(ALONE):
            run.finish(plan.evaluator, plan.eval_spec, console)
    heartbeat.publish(TRAINED, final_step=end)
    return run.collect_result(plan)


def _build_plan(job, console, watch, cluster, heartbeat) -> run.Plan:
    hooks = [_HeartbeatHook(heartbeat, cluster, job.config.cluster.strategy in SYNCHRONOUS)]
    if cluster.role == "chief":
        hooks.append(_EvaluateHook(heartbeat))
    plan = run.build_plan(job, console, watch, cluster, tuple(hooks), (MoveHook(heartbeat.steps),))
    for hook in hooks:
        hook.plan = plan
    return plan


def _train(plan: run.Plan, heartbeat: HeartbeatFile) -> None:
    heartbeat.steps.start_session()
    try:
        _run_estimator(plan)
    finally:
        heartbeat.steps.stop()


def _run_estimator(plan: run.Plan) -> None:
    cluster, spec = plan.cluster, plan.train_spec
    with run.explained(plan), tf_config(cluster):
        if cluster.is_distributed and plan.job.config.cluster.strategy != "none":
            # Under a strategy TensorFlow's distribute coordinator starts server and session.
            with _in_step(plan):
                estimator.train_and_evaluate(plan.estimator, spec, plan.eval_spec)
            return
        server = None
        if cluster.is_distributed:
            server = _start_server(cluster, plan.estimator.config.session_config)
        is_chief = cluster.role == "chief"
        plan.estimator.train(
            spec.input_fn,
            hooks=list(spec.hooks),
            max_steps=spec.max_steps,
            saving_listeners=list(spec.saving_listeners) if is_chief else None,
        )
        del server


@contextmanager
def _in_step(plan: run.Plan):
    """Tells the end of a process that this one is in step with from an error of this one."""
    try:
        yield
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        if plan.job.config.cluster.strategy not in SYNCHRONOUS:
            raise
        raise _build_lost_step(error) from error


def _build_lost_step(error: Any) -> JobEnded:
    # The place in the graph comes before the reason, and the reason may be wrapped several times.
    reason = PLACE_IN_GRAPH.sub("", error.message).replace("Collective ops is aborted by: ", "")
    line = " ".join(reason.split())[:160]
    return JobEnded(
        f"another process is gone or stood still, and this one was in step with it: {line}"
    )


def run_worker(
    job: Job, console: Console, watch: SignalWatch, cluster: Cluster, heartbeat: HeartbeatFile
) -> None:
    """Trains beside the chief until the chief says that it is enough.

    Raises:
        JobEnded: the job ended otherwise than well.
    """
    await_chief(heartbeat)
    is_synchronous = job.config.cluster.strategy in SYNCHRONOUS
    if is_synchronous:
        # Before it joins, and so before the chief may write.
        folder = heartbeat.folder / f"held-by-{cluster.name}"
        pinning.snapshot(job.config.job_dir, folder)
        job = job._replace(config=job.config.model_copy(update={"job_dir": str(folder)}))
    heartbeat.publish(RUNNING, joined=True)
    if is_synchronous:
        _await_lineup(cluster, heartbeat)
    if is_over(heartbeat):
        _raise_bad_end(heartbeat)
        return
    plan = _build_plan(job, console, watch, cluster, heartbeat)
    if not is_synchronous:
        # TensorFlow would look only every 30 s whether the chief has initialised the variables.
        while not heartbeat.read(CHIEF).get("in_session"):
            if is_over(heartbeat):
                _raise_bad_end(heartbeat)
                return
            time.sleep(POLL_SECS)
    try:
        if plan.first < job.max_steps:
            _train(plan, heartbeat)
    except tf.errors.OpError:
        # The others let go first: what a session then complains of is no fault.
        if not is_over(heartbeat):
            raise
    _raise_bad_end(heartbeat)


def _raise_bad_end(heartbeat: HeartbeatFile) -> None:
    status = heartbeat.read(CHIEF)
    if status.get("state") in (FAILED, INTERRUPTED):
        raise build_end(status)


def _line_up(cluster: Cluster, heartbeat: HeartbeatFile) -> None:
    """Waits until every worker is ready to connect, and names them; the watchdog limits it.

    Processes in step cannot go on without each other. One that is named here is bound to this
    incarnation of each: where one changes, all end and are started again.
    """
    workers = [name for name in cluster.names if name.startswith("worker-")]
    while not all(heartbeat.read(name).get("joined") for name in workers):
        time.sleep(POLL_SECS)
    lineup = {name: heartbeat.read(name)["incarnation"] for name in workers}
    heartbeat.publish(RUNNING, lineup={cluster.name: heartbeat.incarnation, **lineup})


def _await_lineup(cluster: Cluster, heartbeat: HeartbeatFile) -> None:
    """Waits until the chief has named this incarnation."""
    while not is_over(heartbeat):
        lineup = heartbeat.read(CHIEF).get("lineup", {})
        if lineup.get(cluster.name) == heartbeat.incarnation:
            heartbeat.publish(RUNNING, joined=False, lineup=lineup)
            return
        time.sleep(POLL_SECS)


def _describe_cluster(job: Job, cluster: Cluster) -> str:
    counts = ", ".join(f"{len(cluster.spec[role])} {role}" for role in cluster.spec)
    by_whom = (
        "by the evaluator"
        if cluster.expects_evaluator
        else "by the chief, unless an evaluator is there"
    )
    return f"cluster: {counts}; strategy {job.config.cluster.strategy}; evaluation {by_whom}"
