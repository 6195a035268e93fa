"""Runs a plan: trains, evaluates and exports; returns the result."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, tf_config
from trainer.errors import UserError
from trainer.evaluation import evaluator as evaluation
from trainer.export.exporters import list_exports
from trainer.job_dir import checkpoints, compatibility
from trainer.job_layout import EXPORT_FOLDER
from trainer.models.code import translate_user_errors
from trainer.models.image import is_broken_image
from trainer.phase_timer import REPORT, Times
from trainer.reporting.summary import RunResult
from trainer.signals import SignalWatch
from trainer.training.announce import describe_plan
from trainer.training.divergence import Diverged
from trainer.training.hooks import EvaluationRecorder
from trainer.training.inputs_record import record_start
from trainer.training.job import Job
from trainer.training.plan import JobPlan, Plan, build_plan


def train_and_evaluate(job: Job, console: Console, watch: SignalWatch) -> RunResult:
    """Trains a job in this process; evaluates and exports during training and at its end.

    Args:
        job: what to train.
        console: shows progress.
        watch: receives signals.

    Returns:
        The result of the run.

    Raises:
        UserError: the data, the model or job_dir are wrong.
        Interrupted: a signal arrived; a checkpoint has been saved.
    """
    plan = build_plan(job, console, watch)
    compatibility.save_inputs(job.config, job.schema, job.statistics)
    record_start(job, plan.run.first)
    console.log(describe_plan(plan))
    with translate_errors(plan), tf_config(ALONE):
        run_plan(plan.run, console)
    return collect_job_result(plan)


def run_plan(plan: Plan, console: Console) -> None:
    """Trains, evaluates and exports; if nothing is left to train, only evaluates and exports.

    Args:
        plan: plan of the run.
        console: shows progress.
    """
    if plan.is_finished:
        finish(plan.evaluator, console)
    else:
        evaluation.train_and_evaluate(plan.estimator, plan.train_spec, plan.evaluator)


def finish(evaluator: evaluation.Evaluator, console: Console) -> None:
    """Evaluates and exports the last checkpoint of a run that has nothing left to train.

    Args:
        evaluator: evaluates and exports.
        console: shows progress.
    """
    checkpoint = checkpoints.latest_checkpoint(evaluator.model_dir)
    if checkpoint is None:
        raise RuntimeError(f"no checkpoint in {evaluator.model_dir} to evaluate")
    console.log(f"final evaluation and export of {checkpoint}")
    evaluator.evaluate_and_export(checkpoint, is_final=True)


def collect_result(plan: Plan, times: Times) -> RunResult:
    """Returns the result of a run, with its files in job_dir; closes the evaluator's session.

    Args:
        plan: plan of the run.
        times: measures the phases of this process; the report phase begins now.
    """
    plan.evaluator.close()
    times.turn_to(REPORT)
    job_dir = plan.evaluator.model_dir
    names = [
        exporter.name
        for exporter in plan.evaluator.eval_spec.exporters
        if not isinstance(exporter, EvaluationRecorder)
    ]
    return RunResult(
        start_step=plan.first,
        end_step=checkpoints.read_step(checkpoints.latest_checkpoint(job_dir)),
        stopped_early=plan.monitor.early_stop.reason,
        examples_per_sec=plan.monitor.pace.rows_per_sec,
        secs=times.read(),
        secs_each=times.read_each(),
        checkpoints=checkpoints.list_checkpoints(job_dir),
        exports={name: list_exports(str(Path(job_dir) / EXPORT_FOLDER / name)) for name in names},
    )


def collect_job_result(plan: JobPlan) -> RunResult:
    """Returns the result of a job's run, and where its rows were read from.

    Args:
        plan: plan of the job.
    """
    origins = (plan.sources[0].describe(), plan.sources[1].describe())
    return collect_result(plan.run, plan.job.times)._replace(origins=origins)


@contextmanager
def translate_errors(plan: JobPlan) -> Iterator[None]:
    """Translates TensorFlow's errors that have a cause the user can correct into a UserError.

    Args:
        plan: plan of the job that runs in the body of the `with` statement.

    Raises:
        UserError: the data are wrong, the loss became NaN, or the user's own model failed.
    """
    model_type = plan.job.config.model.type
    try:
        yield
    except tf.errors.OpError as error:
        for source in plan.sources:
            if source.error is not None:
                raise source.error from error
        # A NaN may make a histogram summary of activations fail before the loss becomes NaN.
        if "histogram for:" in error.message.lower():
            raise _describe_nan(plan, "an activation became infinite or NaN") from error
        if model_type not in config_lib.MODEL_TYPES:
            with translate_user_errors(f"model.type {model_type}", "its graph"):
                raise
        if is_broken_image(error):
            raise UserError(
                f"data: an image cannot be decoded ({' '.join(str(error).split())[:120]}); "
                "write the file again, or raise max_megapixels of the column in the schema"
            ) from error
        raise
    except Diverged as error:
        raise _describe_nan(plan, f"{error.variable} became infinite or NaN") from error
    except estimator.NanLossDuringTrainingError as error:
        raise _describe_nan(plan, "the loss became NaN") from error


def _describe_nan(plan: JobPlan, what: str) -> UserError:
    step = plan.run.monitor.progress.step
    files = plan.sources[0].list_files_at(step - 1)
    batch = f" on a batch of {', '.join(files[:3])}" if files else ""
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    kept = checkpoints.latest_checkpoint(plan.job.config.require_job_dir())
    return UserError(
        f"{what} at step {step:,}{batch}{more}; set a --learning_rate below "
        f"{plan.job.config.train.learning_rate:g} and look for outliers; "
        + (f"the job then resumes from {kept}" if kept else "no checkpoint was saved")
    )
