"""Runs a user's own experiment: the user's code builds the Estimator and its specs.

The option `experiment` names a function of run_config, hparams and schema. The option
tfx.trainer_fn names a function that was written for TFX. Checkpoints, progress, early stopping,
signals, the metrics log and the summary work as in any other run.
"""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator
from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.cluster.run_config import build_run_config
from trainer.console import Console
from trainer.errors import UserError
from trainer.evaluation.evaluator import Evaluator
from trainer.job_dir import checkpoints, quarantine
from trainer.metrics.catalogue import choose_direction
from trainer.models import tfx
from trainer.models.code import HParams, call_code, load_function, translate_user_errors
from trainer.models.custom import check_estimator
from trainer.models.plugins import build_user_hooks
from trainer.phase_timer import Times
from trainer.reporting import plots
from trainer.reporting import summary as reporting
from trainer.signals import SignalWatch
from trainer.training.monitor import BestMetric, Monitor, Session
from trainer.training.plan import Plan
from trainer.training.progress import Schedule
from trainer.training.run import collect_result, run_plan


class Experiment(NamedTuple):
    """The checked result of the user's function.

    Attributes:
        where: the option and the function it names, for messages.
        built: the Estimator.
        train_spec: the estimator.TrainSpec.
        eval_spec: the estimator.EvalSpec.
        eval_input_receiver_fn: returned by a TFX trainer_fn for TensorFlow Model Analysis; None
            for other functions.
    """

    where: str
    built: Any
    train_spec: Any
    eval_spec: Any
    eval_input_receiver_fn: Any


def run_experiment(
    config: config_lib.Config, console: Console, watch: SignalWatch, *, before_secs: float
) -> str:
    """Runs the experiment that the configuration names; returns the text of the summary.

    Args:
        config: the resolved configuration; experiment or tfx.trainer_fn is set.
        console: shows progress.
        watch: receives signals.
        before_secs: time before this call that belongs to the job, seconds.

    Raises:
        UserError: the user's code cannot be found, fails, or returns an object of a wrong type.
        Interrupted: a signal arrived; a checkpoint has been saved.
    """
    return _run(config, Session(console, watch, Times(before=before_secs)))


def rehearse_experiment(config: config_lib.Config, console: Console, watch: SignalWatch) -> None:
    """Trains and evaluates one step of the experiment in a temporary folder.

    Args:
        config: the resolved configuration; experiment or tfx.trainer_fn is set.
        console: shows progress.
        watch: receives signals.

    Raises:
        UserError: the user's code cannot be found, fails, or returns an object of a wrong type.
    """
    session = Session(console, watch, Times())
    with tempfile.TemporaryDirectory(prefix="dry-run-") as folder:
        train = config.train.model_copy(update={"max_steps": 1, "epochs": None})
        rehearsed = config.model_copy(update={"job_dir": folder, "train": train})
        _run(rehearsed, session, steps=1)
    console.log("dry run: all is well; nothing was written to job_dir")


def _run(config: config_lib.Config, session: Session, steps: Optional[int] = None) -> str:
    """Trains and evaluates, at most `steps` steps if given; writes the report."""
    console, job_dir = session.console, config.require_job_dir()
    run_config = build_run_config(config)
    if run_config.is_chief:
        quarantine.forget_outside(job_dir, console.warn)
        quarantine.quarantine_corrupt(job_dir, console.warn)
    experiment = _limit(build_experiment(config, run_config), config.train.max_steps, steps)
    metric = config.export.best_metric or "loss"
    best = BestMetric(metric, choose_direction(metric, config.export.best_mode))
    plan = _build_plan(experiment, config, run_config, session, best)
    storage.write_text(Path(job_dir) / job_layout.CONFIG, config_lib.to_yaml(config))
    target = experiment.train_spec.max_steps
    console.log(
        f"plan: {experiment.where}, from step {plan.first:,} to "
        f"{f'step {target:,}' if target else 'the end of its input'}"
    )
    with translate_user_errors(experiment.where, "the run"):
        run_plan(plan, console)
    result = collect_result(plan, session.times)
    _export_for_analysis(experiment, job_dir, console)
    if config.run.report:
        plots.draw_curves(job_dir, metric)
    summary = reporting.RunSummary(
        job_dir,
        result._replace(secs=session.times.read()),
        best.name,
        best.direction,
        experiment=experiment.where,
    )
    return reporting.write_report(summary)


def _limit(experiment: Experiment, max_steps: Optional[int], steps: Optional[int]) -> Experiment:
    """Limits both specs to `steps` if given; else limits unlimited training to max_steps."""
    train_spec, eval_spec = experiment.train_spec, experiment.eval_spec
    if steps is not None:
        train_spec = train_spec._replace(max_steps=steps)
        eval_spec = eval_spec._replace(steps=steps, start_delay_secs=0, throttle_secs=0)
    elif train_spec.max_steps is None:
        train_spec = train_spec._replace(max_steps=max_steps)
    return experiment._replace(train_spec=train_spec, eval_spec=eval_spec)


def _build_plan(
    experiment: Experiment,
    config: config_lib.Config,
    run_config: Any,
    session: Session,
    best: BestMetric,
) -> Plan:
    train_spec, eval_spec = experiment.train_spec, experiment.eval_spec
    checkpoint = checkpoints.latest_checkpoint(config.require_job_dir())
    first = checkpoints.read_step(checkpoint)
    saving = experiment.built.config
    schedule = Schedule(
        first=first,
        last=train_spec.max_steps,
        record_every=config.run.log_step_count_steps,
        save_steps=saving.save_checkpoints_steps,
        save_secs=saving.save_checkpoints_secs,
    )
    monitor = Monitor(config, session, best=best, schedule=schedule)
    user_hooks = build_user_hooks(config.train.hooks, run_config, HParams(config), None)
    train_spec = train_spec._replace(
        hooks=monitor.build_train_hooks([*train_spec.hooks, *user_hooks]),
        saving_listeners=monitor.build_listeners(train_spec.saving_listeners),
    )
    eval_spec = eval_spec._replace(
        hooks=monitor.build_eval_hooks(eval_spec.hooks),
        exporters=[monitor.build_recorder(best.name), *eval_spec.exporters],
    )
    evaluator = Evaluator(experiment.built, eval_spec, session.times)
    return Plan(experiment.built, evaluator, train_spec, monitor, first, checkpoint)


def build_experiment(config: config_lib.Config, run_config: Any) -> Experiment:
    """Calls the user's function and checks what it returns.

    Args:
        config: the resolved configuration; experiment or tfx.trainer_fn is set.
        run_config: an estimator.RunConfig.

    Raises:
        UserError: the function cannot be found, fails, or returns an object of a wrong type.
    """
    schema_file = config.data.schema_file
    if config.tfx.trainer_fn:
        where = f"tfx.trainer_fn {config.tfx.trainer_fn}"
        function = load_function(config.tfx.trainer_fn, "tfx.trainer_fn")
        eval_model = Path(config.require_job_dir()) / job_layout.EVAL_MODEL_FOLDER
        args = tfx.build_trainer_fn_args(config, str(eval_model))
        schema = tfx.read_schema(schema_file)
        with translate_user_errors(where, "it"):
            # Like TFX, pass both arguments by position, because users name the parameters freely.
            made = function(args, schema)
    else:
        reference = config.experiment or ""
        where = f"experiment {reference}"
        function = load_function(reference, "experiment")
        schema = tfx.read_schema(schema_file)
        given = {"run_config": run_config, "hparams": HParams(config), "schema": schema}
        made = call_code(function, where, **given)
    return _check(made, where, run_config)


def _check(made: Any, where: str, run_config: Any) -> Experiment:
    names = ("estimator", "train_spec", "eval_spec")
    if isinstance(made, (tuple, list)) and len(made) == len(names):
        made = dict(zip(names, made))
    if not isinstance(made, dict) or any(name not in made for name in names):
        raise UserError(
            f"{where}: it returned {made!r:.80}; return (estimator, train_spec, eval_spec), or a "
            "dict of these"
        )
    for name, kind in (("train_spec", estimator.TrainSpec), ("eval_spec", estimator.EvalSpec)):
        if not isinstance(made[name], kind):
            raise UserError(f"{where}: its {name} is {made[name]!r:.60}, not a {kind.__name__}")
    built = check_estimator(made["estimator"], where, run_config)
    receiver_fn = made.get("eval_input_receiver_fn")
    return Experiment(where, built, made["train_spec"], made["eval_spec"], receiver_fn)


def _export_for_analysis(experiment: Experiment, job_dir: str, console: Console) -> None:
    """Exports the evaluation graph, as TFX does, if TensorFlow Model Analysis is installed."""
    receiver_fn = experiment.eval_input_receiver_fn
    if receiver_fn is None:
        return
    if importlib.util.find_spec("tensorflow_model_analysis") is None:
        console.log(
            "eval_input_receiver_fn: tensorflow_model_analysis is not installed; "
            "no evaluation graph was exported"
        )
        return
    import tensorflow_model_analysis

    folder = str(Path(job_dir) / job_layout.EVAL_MODEL_FOLDER)
    with translate_user_errors(experiment.where, "its eval_input_receiver_fn"):
        tensorflow_model_analysis.export.export_eval_savedmodel(
            estimator=experiment.built,
            export_dir_base=folder,
            eval_input_receiver_fn=receiver_fn,
        )
    console.log(f"evaluation graph: {folder}")
