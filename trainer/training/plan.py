"""Builds the parts of a run: Estimator, input functions, hooks, evaluator and exporters."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator
from trainer import config as config_lib
from trainer.cluster import port_guard
from trainer.cluster.exchange import Exchange
from trainer.cluster.run_config import build_run_config, share_cores
from trainer.cluster.servers import Servers
from trainer.cluster.strategies import build_strategy, count_batches
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, TRAINERS, Cluster, tf_config
from trainer.errors import UserError
from trainer.evaluation.evaluator import Evaluator
from trainer.evaluation.progress_hook import ProgressHook
from trainer.export.exporters import build_exporters
from trainer.export.receivers import make_serving_receiver_fn
from trainer.export.transformed import make_transformed_receiver_fn
from trainer.inputs.feed import Rows, make_eval_input_fn, make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.job_dir import checkpoints
from trainer.job_dir.exported import write_description
from trainer.job_layout import CLUSTER_FOLDER, EVAL_DATA_KEY
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.models.build import build_estimator, build_preparation
from trainer.models.code import HParams
from trainer.models.fused.engine import Engine, choose_engine
from trainer.models.fused.model import SERVED
from trainer.models.fused.warm_start import start_like
from trainer.models.linear_start import find_obstacle
from trainer.models.plugins import build_user_hooks, make_user_receiver_fn
from trainer.models.warm_start import warm_start
from trainer.signals import SignalWatch
from trainer.training.hooks import CheckpointHook, NearEndHook, SummaryHook
from trainer.training.job import Job, build_source, checksum_inputs, encode_sources
from trainer.training.linear_start import LinearStartHook
from trainer.training.monitor import BestMetric, Monitor, Session
from trainer.training.progress import Schedule
from trainer.training.steps_per_run import RunLengths, begin_session, build_run_lengths
from trainer.training.stopping import ListenersHook

# Seconds before the end of training when the process that checks the exports starts. Loading
# TensorFlow takes that process seconds, which would otherwise delay the end of a short job.
CHECKER_LEAD_SECS = 8.0

# Builds the hooks of a cluster's process from the run's monitor and evaluator, and from the
# connections to parameter servers.
MakeHooks = Callable[[Monitor, Evaluator, Optional[Servers]], Sequence[Any]]


class Plan(NamedTuple):
    """A run that is about to start in this process: a job or a user's experiment.

    Attributes:
        estimator: the Estimator that trains.
        evaluator: evaluates and exports, on this process's devices alone.
        train_spec: the estimator.TrainSpec.
        monitor: observes the run.
        first: global step of the newest checkpoint in job_dir; 0 if there is none.
        checkpoint: path of the newest checkpoint; None at step 0.
    """

    estimator: Any
    evaluator: Evaluator
    train_spec: Any
    monitor: Monitor
    first: int
    checkpoint: Optional[str]

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to train."""
        max_steps = self.train_spec.max_steps
        is_reached = max_steps is not None and self.first >= max_steps
        return is_reached or bool(self.monitor.early_stop.reason)


class JobPlan(NamedTuple):
    """A job that is about to run in this process.

    Attributes:
        job: what to train.
        cluster: the processes that take part.
        run: Estimator, input functions, hooks and evaluator.
        sources: training and evaluation rows.
        engine: the implementation that trains and evaluates.
        exchange: connections to the other processes that train in step; None without them.
        servers: connections to parameter servers; None if TensorFlow has them, or without any.
        lengths: number of steps of each session run; None if each session run is one step.
    """

    job: Job
    cluster: Cluster
    run: Plan
    sources: tuple[Rows, Rows]
    engine: Engine
    exchange: Optional[Exchange]
    servers: Optional[Servers]
    lengths: Optional[RunLengths]


class _Model(NamedTuple):
    """The Estimators of a job, and the checkpoint from which training starts.

    Attributes:
        built: the Estimator that trains.
        evaluating: the Estimator that evaluates.
        run_config: estimator.RunConfig of `built`.
        engine: the implementation that trains.
        exchange: connections to the other processes that train in step; None without them.
        servers: connections to parameter servers; None if TensorFlow has them, or without any.
        lengths: number of steps of each session run; None if each session run is one step.
        first: global step of the newest checkpoint in job_dir; 0 if there is none.
        checkpoint: path of the newest checkpoint; None at step 0.
    """

    built: Any
    evaluating: Any
    run_config: Any
    engine: Engine
    exchange: Optional[Exchange]
    servers: Optional[Servers]
    lengths: Optional[RunLengths]
    first: int
    checkpoint: Optional[str]


def _no_hooks(monitor: Monitor, evaluator: Evaluator, servers: Optional[Servers]) -> Sequence[Any]:
    return ()


def build_plan(
    job: Job,
    console: Console,
    watch: SignalWatch,
    *,
    cluster: Cluster = ALONE,
    make_hooks: MakeHooks = _no_hooks,
    eval_hooks: Sequence[Any] = (),
) -> JobPlan:
    """Builds Estimator, hooks, input functions and evaluator of a job.

    Only the process that writes shared files has hooks that write them.

    Args:
        job: what to train.
        console: shows progress.
        watch: receives signals.
        cluster: the processes that take part.
        make_hooks: builds the first hooks of training.
        eval_hooks: further hooks of evaluation.

    Raises:
        UserError: no model can be built with the options, or a device does not exist.
    """
    config = job.config
    model = _build_model(job, console, cluster)
    batches = count_batches(config.cluster, cluster)
    schedule = Schedule(
        first=model.first,
        last=job.max_steps,
        record_every=config.run.log_step_count_steps,
        save_steps=model.run_config.save_checkpoints_steps,
        save_secs=model.run_config.save_checkpoints_secs,
        rows_at=lambda step: config.train.batch_size_at(step) * batches,
        steps_at=model.lengths,
        save_at=config.run.checkpoint_at_steps,
    )
    best = BestMetric(job.best_metric, job.direction, checksum_inputs(job))
    monitor = Monitor(
        config,
        Session(console, watch, job.times),
        best=best,
        schedule=schedule,
        cluster=cluster,
    )
    train_rows, eval_rows = _build_sources(job, cluster, model.engine)
    eval_spec = estimator.EvalSpec(
        make_eval_input_fn(eval_rows, job.schema, config.eval.batch_size),
        steps=config.eval.steps,
        name=config.eval.name,
        hooks=monitor.build_eval_hooks([_build_progress(job, console), *eval_hooks]),
        exporters=[
            monitor.build_recorder(SHOWN_METRICS[job.schema.task][0]),
            *_build_exporters(job, best),
        ],
        start_delay_secs=config.eval.start_delay_secs,
        throttle_secs=config.eval.throttle_secs,
    )
    evaluator = Evaluator(model.evaluating, eval_spec, job.times, console)
    listeners = monitor.build_listeners()
    given = _build_job_hooks(job, model, cluster)
    is_ours = config.cluster.strategy == "none" or model.engine.is_fused
    if cluster.role == "chief" and cluster.is_distributed and not is_ours:
        given.append(ListenersHook(listeners))
    first = [
        *_build_first_hooks(job, model, console, cluster),
        *make_hooks(monitor, evaluator, model.servers),
    ]
    train_spec = estimator.TrainSpec(
        _make_train_input_fn(job, model, train_rows, cluster),
        max_steps=job.max_steps,
        hooks=monitor.build_train_hooks(given, first=first),
        saving_listeners=listeners,
    )
    run = Plan(model.built, evaluator, train_spec, monitor, model.first, model.checkpoint)
    sources = (train_rows, eval_rows)
    return JobPlan(
        job, cluster, run, sources, model.engine, model.exchange, model.servers, model.lengths
    )


def _build_first_hooks(job: Job, model: _Model, console: Console, cluster: Cluster) -> list[Any]:
    """Returns the hooks that set the variables and save the first checkpoint."""
    config, hooks = job.config, []
    if config.train.linear_start:
        reason = find_obstacle(config, job.schema)
        if cluster.is_distributed or reason:
            raise UserError(
                f"train.linear_start: not with {reason or 'several processes'}; set it to false"
            )
        hooks.append(LinearStartHook(job, console))
    if config.run.checkpoint_at_steps:
        if cluster.is_distributed:
            raise UserError("run.checkpoint_at_steps: not with several processes; remove it")
        hooks.append(CheckpointHook(model.run_config, config.run.checkpoint_at_steps))
    return hooks


def _build_progress(job: Job, console: Console) -> ProgressHook:
    """The hook that shows how far each evaluation is."""
    spec, rows = job.config.eval, job.eval_scan.statistics.num_rows
    if spec.steps is not None:
        rows = min(rows, spec.steps * spec.batch_size)
    return ProgressHook(console, spec.batch_size, rows)


def _build_model(job: Job, console: Console, cluster: Cluster) -> _Model:
    config = job.config
    checkpoint = checkpoints.latest_checkpoint(config.require_job_dir())
    first = checkpoints.read_step(checkpoint)
    parts = (config, job.schema, job.statistics)
    replicas = count_batches(config.cluster, cluster) // cluster.num_trainers
    engine = choose_engine(*parts, cluster, replicas)
    exchange = servers = None
    if engine.is_fused and cluster.is_distributed:
        if config.cluster.strategy == SERVED:
            servers = Servers(cluster)
        else:
            exchange = Exchange(cluster)
        engine = engine._replace(exchange=exchange, servers=servers)
    run_config = _build_run_config(config, cluster, engine)
    lengths = build_run_lengths(
        config,
        first=first,
        max_steps=job.max_steps,
        is_fused=engine.is_fused,
        # What changes in growing tables cannot be divided like rows, and the processes exchange the
        # rows of all steps of a session run at once.
        needs_groups=bool(job.schema.growing) or exchange is not None or servers is not None,
        sharing=1 if servers is None else cluster.num_trainers,
    )
    if lengths:
        # SummaryHook writes the summaries. TensorFlow's hook would count each session run as one
        # step.
        run_config = run_config.replace(save_summary_steps=0)
    built = build_estimator(*parts, run_config, job.max_steps, engine)
    # Only the chief sets variables on parameter servers.
    sets = servers is None or servers.loads
    if config.train.warm_start and checkpoint is None and sets:
        built = _start_warm(built, job, console, run_config, engine)
    evaluating = built
    if cluster.is_distributed:
        alone = engine if engine.is_fused else None
        evaluating = build_estimator(*parts, build_run_config(config), job.max_steps, alone)
    return _Model(
        built, evaluating, run_config, engine, exchange, servers, lengths, first, checkpoint
    )


def _build_run_config(config: config_lib.Config, cluster: Cluster, engine: Engine) -> Any:
    """Returns the estimator.RunConfig of the Estimator that trains."""
    if engine.is_fused:
        # Its processes have sessions and variables of their own.
        alone = build_run_config(share_cores(config, cluster))
        if cluster.role == "chief" or not cluster.is_distributed:
            return alone
        alone = alone.replace(save_checkpoints_steps=None, save_checkpoints_secs=None)
        if config.cluster.strategy == SERVED:
            # Parameter servers have the variables, so it must not restore any.
            folder = Path(config.require_job_dir(), CLUSTER_FOLDER, cluster.name)
            alone = alone.replace(model_dir=str(folder))
        return alone
    strategy = None
    if cluster.role in TRAINERS:
        if config.cluster.strategy == "multi_worker_mirrored":
            # The constructor of this strategy starts the server.
            port_guard.guard_server(cluster)
        with tf_config(cluster):
            strategy = build_strategy(config.cluster)
    return build_run_config(config, cluster, strategy)


def _start_warm(built: Any, job: Job, console: Console, run_config: Any, engine: Engine) -> Any:
    """Wraps the Estimator so that training starts from the checkpoint of train.warm_start."""
    config, schema = job.config, job.schema
    if schema.growing:
        raise UserError(
            f"train.warm_start: columns.{schema.growing[0]}.growing: its ids cannot be taken over; "
            "continue the other job in its own job_dir with a higher max_steps, or use hash_buckets"
        )
    if not engine.is_fused:
        return warm_start(built, config.train, schema, console.log)
    canned = build_estimator(
        config, schema, job.statistics, run_config, job.max_steps, Engine("canned")
    )
    warm = warm_start(canned, config.train, schema, console.log)
    return start_like(built, warm, make_eval_input_fn(build_source(job, True), schema, 1))


def _build_sources(job: Job, cluster: Cluster, engine: Engine) -> tuple[Rows, Rows]:
    """Returns the training and the evaluation rows in the form that the engine reads."""
    train_rows, eval_rows = build_source(job, True, cluster), build_source(job, False)
    if not engine.is_fused:
        return train_rows, eval_rows
    train_encoded, eval_encoded = encode_sources(job, (train_rows, eval_rows))
    # A user's metric_fn may read the raw columns.
    return train_encoded, eval_rows if job.config.eval.metric_fn else eval_encoded


def _make_train_input_fn(
    job: Job, model: _Model, rows: Rows, cluster: Cluster
) -> Callable[[], Any]:
    config = job.config
    batches = count_batches(config.cluster, cluster)
    preparation = None
    if model.lengths:
        preparation = build_preparation(config, job.schema, job.statistics).begin
    return make_train_input_fn(
        rows,
        job.schema,
        BatchSchedule(
            config.train.batch_size_at,
            model.first,
            batches // cluster.num_trainers or 1,
            model.lengths,
            None if config.train.batch_growth_steps else config.train.batch_size,
            lambda: begin_session(config.require_job_dir(), model.lengths),
        ),
        (config.run.seed, cluster.trainer_id),
        preparation,
        model.checkpoint,
    )


def _build_job_hooks(job: Job, model: _Model, cluster: Cluster) -> list[Any]:
    """Returns the user's hooks, the hook that starts the export checker, and the SummaryHook."""
    config, is_chief = job.config, cluster.role == "chief"
    hooks = build_user_hooks(
        config.train.hooks,
        model.run_config,
        HParams(config, job.statistics, job.max_steps),
        job.schema,
    )
    if is_chief and job.checker.enabled and config.export.exporters:
        start = job.checker.start
        hooks.append(NearEndHook(start, job.max_steps, lead_secs=CHECKER_LEAD_SECS))
    if model.lengths and is_chief:
        every = config.run.save_summary_steps
        hooks.append(SummaryHook(config.require_job_dir(), every, model.lengths))
    return hooks


def _build_exporters(job: Job, best: BestMetric) -> list[Any]:
    assets = write_description(job.config, job.schema, job.statistics)
    data = (best.data or {}).get(EVAL_DATA_KEY)
    return build_exporters(
        job.config.export, _make_receiver_fn(job), best.name, best.direction, assets, data
    )


def _make_receiver_fn(job: Job) -> Callable[[], Any]:
    config, tfx = job.config, job.config.tfx
    if tfx.transform_output and not config.export.receiver_fn:
        return make_transformed_receiver_fn(
            job.schema, job.statistics, tfx.transform_output, tfx.raw_label
        )
    if not config.export.receiver_fn:
        return make_serving_receiver_fn(
            job.schema, job.statistics, config.export.receiver, config.data.delimiter
        )
    hparams = HParams(config, job.statistics, job.max_steps)
    # The features that a user's own model needs are unknown.
    needed = None if config.model.type in config_lib.MODEL_TYPES else ()
    return make_user_receiver_fn(config.export.receiver_fn, hparams, job.schema, needed)
