"""Common code of the chief and the workers: their plan, hook, server and training."""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.model_files.saving_beside import wait_for_checkpoints
from trainer.cluster import port_guard
from trainer.cluster.attempts import Attempts
from trainer.cluster.exchange import Exchange
from trainer.cluster.heartbeat import LOST, RUNNING, HeartbeatFile
from trainer.cluster.servers import Servers
from trainer.cluster.strategies import SYNCHRONOUS
from trainer.cluster.watchdog import EVALUATOR, POLL_SECS, is_over
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, Cluster, tf_config
from trainer.errors import UserError
from trainer.evaluation.evaluator import Evaluator
from trainer.evaluation.event_files import keep_graph
from trainer.roles.lost_step import describe_lost, describe_lost_step, translate_lost_step
from trainer.signals import Interrupted, SignalWatch
from trainer.training.hooks import MoveHook
from trainer.training.job import Job
from trainer.training.monitor import Monitor
from trainer.training.parameter_servers import check_has_variables, find_served_step
from trainer.training.plan import JobPlan, build_plan
from trainer.training.run import translate_errors
from trainer.training.stopping import EarlyStop


class ClusterProcess(NamedTuple):
    """This process of a cluster.

    Attributes:
        console: shows progress.
        watch: receives signals.
        cluster: the cluster, and which process of it this is.
        heartbeat: this process's heartbeat file; reads the other processes' heartbeat files.
        store: stores what has changed in job_dir, if that is in a bucket.
    """

    console: Console
    watch: SignalWatch
    cluster: Cluster
    heartbeat: HeartbeatFile
    store: Callable[[], None]


class HeartbeatHook(estimator.SessionRunHook):
    """Publishes that the session exists, times its steps, and ends training.

    A worker's training ends when the chief's training has ended. The chief's training ends when the
    evaluator has a reason for an early stop.

    A worker that does not train in step with the chief may reach the last step while the chief is
    restarted. The chief then restores an older checkpoint, and with it the global step. Therefore
    the worker waits at the last step for the chief, and goes on if the global step decreases.

    Args:
        process: this process.
        early_stop: stops the training of this process; receives the evaluator's reason to stop.
        is_synchronous: whether the strategy is synchronous.
        max_steps: global step at which training ends.
        servers: connections to parameter servers; None if TensorFlow has them, or without any.
    """

    def __init__(
        self,
        process: ClusterProcess,
        early_stop: EarlyStop,
        *,
        is_synchronous: bool,
        max_steps: int,
        servers: Optional[Servers] = None,
    ):
        self._servers = servers
        self._heartbeat, self._watch, cluster = process.heartbeat, process.watch, process.cluster
        self._max_steps = max_steps
        self._waits_at_end = cluster.role == "worker" and not is_synchronous
        self._is_chief = cluster.role == "chief"
        self._is_synchronous = is_synchronous and cluster.is_distributed
        self._early_stop = early_stop

    def begin(self) -> None:
        """Finds the global step in the graph."""
        self._step = tf.compat.v1.train.get_global_step()
        self._shared_step = self._step if self._servers is None else find_served_step()

    def before_run(self, run_context: Any) -> Any:
        """Requests the global step in a worker that waits at the last step.

        Args:
            run_context: context of the coming session run.

        Returns:
            The fetches, or None.
        """
        return tf.compat.v1.train.SessionRunArgs(self._step) if self._waits_at_end else None

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Wraps the session's `run` method to time it, and publishes that the session exists.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        session.run = functools.partial(self._run, session.run)
        self._heartbeat.publish(RUNNING, in_session=True)

    def _run(self, run: Callable[..., Any], fetches: Any, *args: Any, **options: Any) -> Any:
        # In a training step, the fetches are a dict with the requests of all hooks. All other
        # session runs are not steps: saving a checkpoint, or reading the global step in a hook.
        is_step = isinstance(fetches, dict)
        steps = self._heartbeat.steps
        if is_step:
            steps.begin_step()
        try:
            results = run(fetches, *args, **options)
        except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
            # After these errors MonitoredSession creates a new session.
            steps.start_session()
            if self._is_synchronous:
                # The other processes cannot join a new session.
                end = describe_lost_step(error)
                self._heartbeat.publish(LOST, message=str(end))
                raise end from error
            raise
        except tf.errors.OpError as error:
            if self._servers is None:
                raise
            if self._servers.error is None:
                check_has_variables(error)
                raise
            lost = self._servers.error
            steps.start_session()
            # The new session restores the last checkpoint, which may still be written.
            wait_for_checkpoints()
            self._servers.connect()
            if self._watch.pending is not None:
                # There is nothing to save: what the servers had is lost.
                raise Interrupted(self._watch.pending) from error
            # After this error MonitoredSession creates a new session.
            raise tf.errors.AbortedError(None, None, lost) from error
        if is_step:
            steps.end_step()
            if self._servers is not None:
                # A session run may contain several steps.
                steps.num_steps = self._servers.num_steps
        else:
            steps.note_progress()
        return results

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends a worker's training if the chief's has ended; in the chief, applies an early stop.

        Args:
            run_context: context of the session run.
            run_values: the global step before or after the step, if it was requested.
        """
        if self._is_chief:
            self._early_stop.stop_for(self._heartbeat.read(EVALUATOR).get("stop_reason"))
            return
        # The requested value may be that before this step, so it is read again at the end.
        if self._waits_at_end and int(run_values.results) + 1 >= self._max_steps:
            self._await_chief(run_context.session)
        if is_over(self._heartbeat):
            run_context.request_stop()

    def _await_chief(self, session: Any) -> None:
        """Waits at the last step until the chief has ended or has restored an earlier step."""
        while (
            not is_over(self._heartbeat) and int(session.run(self._shared_step)) >= self._max_steps
        ):
            time.sleep(POLL_SECS)


def start_server(cluster: Cluster, session_config: Any) -> Any:
    """Starts this process's tf.distribute.Server.

    Args:
        cluster: the cluster, and which process of it this is.
        session_config: a ConfigProto; None for the defaults.

    Returns:
        The server. It runs until the object is deleted.

    Raises:
        UserError: the address is in use.
    """
    port_guard.guard_server(cluster)
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


def is_synchronous(job: Job) -> bool:
    """Returns whether the strategy of a job is synchronous.

    Args:
        job: contains the strategy.
    """
    return job.config.cluster.strategy in SYNCHRONOUS


def build_process_plan(
    job: Job,
    process: ClusterProcess,
    make_more_hooks: Callable[[Monitor, Evaluator], Sequence[Any]] = lambda monitor, evaluator: (),
) -> JobPlan:
    """Returns the plan of a chief or a worker.

    Args:
        job: what to train.
        process: this process.
        make_more_hooks: builds hooks that run after the HeartbeatHook.
    """

    def make_hooks(
        monitor: Monitor, evaluator: Evaluator, servers: Optional[Servers]
    ) -> Sequence[Any]:
        hook = HeartbeatHook(
            process,
            monitor.early_stop,
            is_synchronous=is_synchronous(job),
            max_steps=job.max_steps,
            servers=servers,
        )
        return (hook, *make_more_hooks(monitor, evaluator))

    plan = build_plan(
        job,
        process.console,
        process.watch,
        cluster=process.cluster,
        make_hooks=make_hooks,
        eval_hooks=(MoveHook(process.heartbeat.steps),),
    )
    if process.cluster.role == "chief" or is_synchronous(job):
        return plan
    # The HeartbeatHook decides when this worker's training ends.
    spec = plan.run.train_spec._replace(max_steps=None)
    return plan._replace(run=plan.run._replace(train_spec=spec))


def train(plan: JobPlan, process: ClusterProcess) -> None:
    """Trains in this process and times its steps.

    Args:
        plan: plan of this process.
        process: this process.

    Raises:
        UserError: the data or the model are wrong.
        JobEnded: training is synchronous, and another process has ended.
    """
    heartbeat = process.heartbeat
    heartbeat.steps.start_session()
    try:
        if plan.exchange is not None:
            with translate_errors(plan), tf_config(ALONE):
                _train_in_step(plan, plan.exchange, process)
            return
        if plan.servers is not None:
            with translate_errors(plan), tf_config(ALONE):
                _train_served(plan, plan.servers, process)
            return
        with translate_errors(plan), tf_config(plan.cluster):
            _run_estimator(plan)
    finally:
        heartbeat.steps.stop()


def _run_estimator(plan: JobPlan) -> None:
    cluster, run = plan.cluster, plan.run
    spec = run.train_spec
    if cluster.is_distributed and plan.job.config.cluster.strategy != "none":
        # With a strategy, TensorFlow's distribute coordinator starts the server and the session.
        port_guard.guard_server(cluster)
        with translate_lost_step(is_synchronous(plan.job)):
            estimator.train_and_evaluate(run.estimator, spec, run.evaluator.eval_spec)
        return
    server = None
    if cluster.is_distributed:
        server = start_server(cluster, run.estimator.config.session_config)
    _train_here(plan)
    del server


def _train_here(plan: JobPlan) -> None:
    """Trains in a session of this process."""
    spec = plan.run.train_spec
    is_chief = plan.cluster.role == "chief"
    if is_chief:
        keep_graph(plan.run.estimator.model_dir)
    plan.run.estimator.train(
        spec.input_fn,
        hooks=list(spec.hooks),
        max_steps=spec.max_steps,
        saving_listeners=list(spec.saving_listeners) if is_chief else None,
    )


def _build_attempts(plan: JobPlan, process: ClusterProcess) -> Attempts:
    return Attempts(plan.job.config.cluster.watchdog_secs, process.console.warn)


def _train_in_step(plan: JobPlan, exchange: Exchange, process: ClusterProcess) -> None:
    """Trains with variables of this process, and exchanges gradients with the others.

    Raises:
        JobEnded: another process has ended before training did.
    """
    heartbeat = process.heartbeat
    exchange.connect(
        heartbeat.status["lineup"],
        lambda: plan.cluster.role != "chief" and is_over(heartbeat),
        _build_attempts(plan, process),
    )
    try:
        _train_here(plan)
        exchange.end()
    except tf.errors.OpError as error:
        if exchange.has_ended and plan.cluster.role != "chief":
            return
        reason = exchange.error or ("a worker has left" if exchange.has_ended else None)
        if reason is None:
            raise
        raise describe_lost(reason) from error
    finally:
        exchange.close()


def _train_served(plan: JobPlan, servers: Servers, process: ClusterProcess) -> None:
    """Trains with variables on parameter servers, over connections of this process.

    The HeartbeatHook waits for the successor of a server that is lost during training. Here,
    training begins again if one is lost while a session is prepared or closed.

    Raises:
        UserError: a server holds another model.
        Interrupted: a signal has arrived during the wait for a server.
    """

    def find(name: str) -> Optional[str]:
        status = process.heartbeat.read(name)
        return status["incarnation"] if status.get("serving") else None

    def is_left() -> bool:
        return plan.cluster.role != "chief" and is_over(process.heartbeat)

    servers.find_by(
        find,
        lambda: is_left() or process.watch.pending is not None,
        _build_attempts(plan, process),
    )
    try:
        while True:
            servers.connect()
            if process.watch.pending is not None:
                raise Interrupted(process.watch.pending)
            try:
                _train_here(plan)
                return
            except tf.errors.OpError as error:
                if servers.refusal is not None:
                    raise UserError(servers.refusal) from error
                # When the session is closed, an aborted operation is not repeated.
                is_lost = servers.error is not None or isinstance(error, tf.errors.AbortedError)
                if is_left() or not is_lost:
                    raise
            servers.close()
            process.heartbeat.steps.start_session()
            wait_for_checkpoints()
    finally:
        servers.close()
