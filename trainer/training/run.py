"""RunConfig, TrainSpec, EvalSpec and train_and_evaluate; returns what a report needs."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.cluster.run_config import build_run_config
from trainer.cluster.strategies import (
    SYNCHRONOUS,
    build_strategy,
    count_batches,
)
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, TRAINERS, Cluster, tf_config
from trainer.errors import UserError
from trainer.evaluation import evaluator as evaluation
from trainer.export import exporters as export
from trainer.export.receivers import make_serving_receiver_fn
from trainer.inputs.feed import Rows, make_eval_input_fn, make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.job_dir import checkpoints, compatibility
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_layout import EXPORT_FOLDER, MODEL_FILES
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.models.build import build_estimator, build_preparation
from trainer.models.code import HParams, translate_user_errors
from trainer.models.fused.engine import Engine, choose_engine
from trainer.models.image import is_broken_image
from trainer.models.plugins import build_user_hooks, make_user_receiver_fn
from trainer.models.warm_start import warm_start
from trainer.phase_timer import REPORT, TimesHook, TimesListener
from trainer.signals import SignalWatch
from trainer.training.hooks import (
    EvaluationRecorder,
    NearEndHook,
    Pace,
    PauseListener,
    SummaryHook,
    TrainingHook,
)
from trainer.training.job import Job, build_source, encode_sources
from trainer.training.plan import describe_plan
from trainer.training.profiling import build_profile_hooks
from trainer.training.steps_per_run import RunLengths, build_run_lengths
from trainer.training.stopping import EarlyStop, EarlyStopHook, InterruptHook

# The process that checks the exports is started so long before training ends: it needs seconds to
# load TensorFlow, which the last evaluations and exports of a short job leave it.
CHECKER_LEAD_SECS = 8.0


class Result(NamedTuple):
    """What a run did.

    Attributes:
        start_step, end_step: global steps.
        stopped_early: why it ended before its last step; None where it did not.
        examples_per_sec: while training; 0 where nothing was trained.
        secs: where the time went, name → seconds.
        secs_each: what came several times → seconds of each time, the last ones.
        checkpoints: paths of those kept, oldest first.
        exports: exporter → paths of its exports, oldest first.
        origins: where the training and the evaluation rows came from.
    """

    start_step: int
    end_step: int
    stopped_early: Optional[str]
    examples_per_sec: float
    secs: dict[str, float]
    secs_each: dict[str, list[float]]
    checkpoints: list[str]
    exports: dict[str, list[str]]
    origins: tuple[str, str]


class Plan(NamedTuple):
    """A job about to run in this process.

    Attributes:
        job: what to do.
        cluster: who takes part.
        estimator: the Estimator that trains.
        evaluator: evaluates and exports, on this process's devices alone.
        train_spec, eval_spec: as train_and_evaluate takes them.
        first: global step that job_dir is at.
        checkpoint: its path; None at step 0.
        early_stop, pace, progress: watch over the run.
        sources: training and evaluation rows.
        engine: what trains and evaluates.
        lengths: of the runs of several steps; None where each step is a run.
    """

    job: Job
    cluster: Cluster
    estimator: Any
    evaluator: evaluation.Evaluator
    train_spec: Any
    eval_spec: Any
    first: int
    checkpoint: Optional[str]
    early_stop: EarlyStop
    pace: Pace
    progress: TrainingHook
    sources: tuple[Rows, Rows]
    engine: Engine
    lengths: Optional[RunLengths]


def build_plan(
    job: Job,
    console: Console,
    watch: SignalWatch,
    cluster: Cluster = ALONE,
    hooks: tuple = (),
    eval_hooks: tuple = (),
) -> Plan:
    """Builds Estimator and specs; only the process that writes shared files gets hooks that do.

    Args:
        job: what to do.
        console: shows progress.
        watch: tells of signals.
        cluster: who takes part.
        hooks, eval_hooks: more hooks for training and for evaluations.

    Raises:
        UserError: the options do not make a model, or a device is not there.
    """
    config, is_chief = job.config, cluster.role == "chief"
    checkpoint = checkpoints.latest_checkpoint(config.job_dir)
    first = checkpoints.read_step(checkpoint)
    strategy = None
    if cluster.role in TRAINERS:
        with tf_config(cluster):
            strategy = build_strategy(config.cluster)
    run_config = build_run_config(config, cluster, strategy)
    parts = (config, job.schema, job.statistics)
    engine = choose_engine(*parts, run_config, is_fresh=checkpoint is None)
    lengths = build_run_lengths(config, first, job.max_steps, engine.is_fused)
    summaries = []
    if lengths:
        run_config = run_config.replace(save_summary_steps=0)
        summaries = [SummaryHook(config.job_dir, config.run.save_summary_steps, lengths)]
    built = build_estimator(*parts, run_config, job.max_steps, engine)
    if config.train.warm_start and checkpoint is None:
        built = warm_start(built, config.train, job.schema, console.log)
    evaluating = built
    if cluster.is_distributed:
        evaluating = build_estimator(*parts, build_run_config(config), job.max_steps)
    metrics_log, pace = MetricsLog(config.job_dir), Pace()
    if is_chief:
        metrics_log.resume_from(first)
    early_stop = EarlyStop(
        config.stop, config.stop.metric or job.best_metric, job.direction, metrics_log.read("eval")
    )
    batches = count_batches(config.cluster, cluster)
    progress = TrainingHook(
        console,
        metrics_log if is_chief else None,
        pace,
        job.max_steps,
        lambda step: config.train.batch_size_at(step) * batches,
        config.run.log_step_count_steps,
        run_config.save_checkpoints_steps,
        run_config.save_checkpoints_secs,
        is_shared=cluster.is_distributed and config.cluster.strategy in SYNCHRONOUS,
        replicas=batches,
        steps_at=lengths,
    )
    checker = []
    if is_chief and job.checker.enabled and config.export.exporters:
        checker = [NearEndHook(job.checker.start, job.max_steps, CHECKER_LEAD_SECS)]
    train_rows, eval_rows = build_source(job, True, cluster), build_source(job, False)
    if engine.is_fused:
        plain = eval_rows
        train_rows, eval_rows = encode_sources(job, (train_rows, eval_rows))
        if config.eval.metric_fn:
            # The user's own metrics may want the columns as they are.
            eval_rows = plain
    train_spec = estimator.TrainSpec(
        make_train_input_fn(
            train_rows,
            job.schema,
            BatchSchedule(
                config.train.batch_size_at, first, batches // cluster.num_trainers or 1, lengths
            ),
            (config.run.seed, cluster.trainer_id),
            build_preparation(*parts).begin if lengths else None,
        ),
        max_steps=job.max_steps,
        # More hooks first: what they take is a pause, which `progress` then leaves out.
        hooks=[
            *hooks,
            TimesHook(job.times),
            progress,
            EarlyStopHook(early_stop),
            InterruptHook(watch, config.job_dir, training=is_chief),
            *build_user_hooks(
                config.train.hooks,
                run_config,
                HParams(config, job.statistics, job.max_steps),
                job.schema,
            ),
            *checker,
            *summaries,
            *(build_profile_hooks(config, job.max_steps, console) if is_chief else ()),
        ],
        saving_listeners=[TimesListener(job.times), PauseListener(pace)],
    )
    recorder = EvaluationRecorder(
        console, metrics_log, SHOWN_METRICS[job.schema.task][0], early_stop
    )
    eval_hooks = (*eval_hooks, InterruptHook(watch, config.job_dir, training=False))
    eval_spec = _build_eval_spec(job, recorder, eval_hooks, eval_rows)
    return Plan(
        job,
        cluster,
        built,
        evaluation.Evaluator(evaluating, eval_spec, job.times),
        train_spec,
        eval_spec,
        first,
        checkpoint,
        early_stop,
        pace,
        progress,
        (train_rows, eval_rows),
        engine,
        lengths,
    )


def train_and_evaluate(job: Job, console: Console, watch: SignalWatch) -> Result:
    """Trains to job.max_steps in this process, evaluates and exports on the way and at the end.

    Args:
        job: what to do.
        console: shows progress.
        watch: tells of signals.

    Raises:
        UserError: the data, the model or job_dir are not what they should be.
        trainer.signals.Interrupted: a signal came; a checkpoint has been saved.
    """
    plan = build_plan(job, console, watch)
    compatibility.save_inputs(job.config, job.schema, job.statistics)
    console.log(describe_plan(plan))
    with explained(plan), tf_config(ALONE):
        if plan.first < job.max_steps and not plan.early_stop.reason:
            evaluation.train_and_evaluate(plan.estimator, plan.train_spec, plan.evaluator)
        else:
            finish(plan.evaluator, plan.eval_spec, console)
    return collect_result(plan)


@contextmanager
def explained(plan: Plan):
    """Turns what TensorFlow raises on the user's account into what the user can mend."""
    config = plan.job.config
    try:
        yield
    except tf.errors.OpError as error:
        for source in plan.sources:
            if source.error is not None:
                raise source.error from error
        # A summary of the activations may meet it before the loss does.
        if "histogram for:" in error.message.lower():
            what = "an activation became infinite or NaN"
            raise _explain_nan(plan.job, plan.sources[0], plan.progress.step, what) from error
        if config.model.type not in config_lib.MODEL_TYPES:
            with translate_user_errors(f"model.type {config.model.type}", "its graph"):
                raise
        if is_broken_image(error):
            raise UserError(
                f"data: an image cannot be decoded ({' '.join(str(error).split())[:120]}); "
                "write the damaged file again"
            ) from error
        raise
    except estimator.NanLossDuringTrainingError as error:
        raise _explain_nan(plan.job, plan.sources[0], plan.progress.step) from error


def collect_result(plan: Plan) -> Result:
    """What the run has left in job_dir, and how long it took."""
    config = plan.job.config
    plan.evaluator.close()
    plan.job.times.turn_to(REPORT)
    return Result(
        start_step=plan.first,
        end_step=checkpoints.read_step(checkpoints.latest_checkpoint(config.job_dir)),
        stopped_early=plan.early_stop.reason,
        examples_per_sec=plan.pace.rows_per_sec,
        secs=plan.job.times.read(),
        secs_each=plan.job.times.read_each(),
        checkpoints=checkpoints.list_checkpoints(config.job_dir),
        exports=_list_exports(config),
        origins=(plan.sources[0].describe(), plan.sources[1].describe()),
    )


def _build_eval_spec(job: Job, recorder: EvaluationRecorder, hooks: tuple, rows: Rows):
    config = job.config
    receiver_fn = _make_receiver_fn(job)
    # What an export's inputs mean goes with it, wherever it is copied.
    assets = {name: str(Path(config.job_dir) / name) for name in MODEL_FILES}
    exporters = export.build_exporters(
        config.export, receiver_fn, job.best_metric, job.direction, assets
    )
    return estimator.EvalSpec(
        make_eval_input_fn(rows, job.schema, config.eval.batch_size),
        steps=config.eval.steps,
        name=config.eval.name,
        hooks=hooks,
        exporters=[recorder, *exporters],
        start_delay_secs=config.eval.start_delay_secs,
        throttle_secs=config.eval.throttle_secs,
    )


def _make_receiver_fn(job: Job):
    config = job.config
    if not config.export.receiver_fn:
        return make_serving_receiver_fn(
            job.schema, job.statistics, config.export.receiver, config.data.delimiter
        )
    hparams = HParams(config, job.statistics, job.max_steps)
    # Only of our own models is it known which features they need.
    needed = None if config.model.type in config_lib.MODEL_TYPES else ()
    return make_user_receiver_fn(config.export.receiver_fn, hparams, job.schema, needed)


def finish(evaluator: evaluation.Evaluator, eval_spec: Any, console: Console) -> None:
    """Evaluates and exports the last checkpoint of a job that has nothing left to train."""
    checkpoint = checkpoints.latest_checkpoint(evaluator.model_dir)
    console.log(f"final evaluation and export of {checkpoint}")
    evaluate_and_export(evaluator, eval_spec, checkpoint, is_final=True)


def evaluate_and_export(
    evaluator: evaluation.Evaluator, eval_spec: Any, checkpoint: str, is_final: bool
) -> None:
    """Evaluates one checkpoint and runs the exporters."""
    evaluator.evaluate_and_export(checkpoint, is_final)


def _explain_nan(job: Job, rows: Rows, step: int, what: str = "the loss became NaN") -> UserError:
    files = rows.list_files_at(step - 1)
    batch = f" on a batch of {', '.join(files[:3])}" if files else ""
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    kept = checkpoints.latest_checkpoint(job.config.job_dir)
    return UserError(
        f"{what} at step {step:,}{batch}{more}; set a --learning_rate below "
        f"{job.config.train.learning_rate:g} and look for outliers; kept: {kept or 'no checkpoint'}"
    )


def _list_exports(config: config_lib.Config) -> dict[str, list[str]]:
    folder = Path(config.job_dir) / EXPORT_FOLDER
    return {name: export.list_exports(str(folder / name)) for name in config.export.exporters}
