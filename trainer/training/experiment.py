"""A whole experiment of the user's own: their Estimator and specs, our run around it.

`experiment` names a function of run_config, hparams and schema; tfx.trainer_fn one that was written
for TFX. Checkpoints, progress, early stopping, signals, the metrics log and the summary are as in
any other run.
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
from trainer.evaluation.evaluator import Evaluator, train_and_evaluate
from trainer.export import exporters
from trainer.job_dir import checkpoints
from trainer.job_dir.metrics_log import MetricsLog
from trainer.metrics.catalogue import choose_direction
from trainer.models import tfx
from trainer.models.code import HParams, call_code, load_function, translate_user_errors
from trainer.models.custom import check_estimator
from trainer.models.plugins import build_user_hooks
from trainer.phase_timer import REPORT, Times, TimesHook, TimesListener, process_age
from trainer.reporting import summary as report
from trainer.signals import SignalWatch
from trainer.training import run
from trainer.training.hooks import EvaluationRecorder, Pace, PauseListener, TrainingHook
from trainer.training.profiling import build_profile_hooks
from trainer.training.stopping import EarlyStop, EarlyStopHook, InterruptHook


class Experiment(NamedTuple):
    """What the user's function returned, checked.

    Attributes:
        where: option and reference, for messages.
        built: the Estimator.
        train_spec, eval_spec: as train_and_evaluate takes them.
        eval_input_receiver_fn: of a TFX trainer_fn: for TensorFlow Model Analysis; else None.
    """

    where: str
    built: Any
    train_spec: Any
    eval_spec: Any
    eval_input_receiver_fn: Any


def run_experiment(
    config: config_lib.Config, console: Console, watch: SignalWatch, dry_run: bool = False
) -> Optional[str]:
    """Runs the experiment that the configuration names; returns the summary.

    Args:
        config: experiment or tfx.trainer_fn is given.
        console: shows progress.
        watch: tells of signals.
        dry_run: whether to train and evaluate one step in a temporary folder and return None.

    Raises:
        UserError: the user's code cannot be found, fails, or returns something else.
        trainer.signals.Interrupted: a signal came; a checkpoint has been saved.
    """
    if not dry_run:
        return _run(config, console, watch)
    with tempfile.TemporaryDirectory(prefix="dry-run-") as folder:
        train = config.train.model_copy(update={"max_steps": 1, "epochs": None})
        rehearsed = config.model_copy(update={"job_dir": folder, "train": train})
        _run(rehearsed, console, watch, steps=1)
    console.log("dry run: all is well; nothing was written to job_dir")
    return None


def _run(config, console, watch, steps: Optional[int] = None) -> str:
    times = Times(before=process_age())
    run_config = build_run_config(config)
    experiment = build_experiment(config, run_config)
    train_spec, eval_spec = experiment.train_spec, experiment.eval_spec
    if steps is not None:
        train_spec = train_spec._replace(max_steps=steps)
        eval_spec = eval_spec._replace(steps=steps, start_delay_secs=0, throttle_secs=0)
    elif train_spec.max_steps is None:
        train_spec = train_spec._replace(max_steps=config.train.max_steps)
    metric = config.export.best_metric or "loss"
    direction = choose_direction(metric, config.export.best_mode)
    metrics_log, pace = MetricsLog(config.job_dir), Pace()
    first = checkpoints.read_step(checkpoints.latest_checkpoint(config.job_dir))
    metrics_log.resume_from(first)
    stop = EarlyStop(config.stop, config.stop.metric or metric, direction, metrics_log.read("eval"))
    saving = experiment.built.config
    progress = TrainingHook(
        console,
        metrics_log,
        pace,
        train_spec.max_steps,
        # Only their input function knows how many rows are in a batch.
        None,
        config.run.log_step_count_steps,
        saving.save_checkpoints_steps,
        saving.save_checkpoints_secs,
    )
    hparams = HParams(config)
    train_spec = train_spec._replace(
        hooks=(
            TimesHook(times),
            progress,
            EarlyStopHook(stop),
            InterruptHook(watch, config.job_dir, training=True),
            *train_spec.hooks,
            *build_user_hooks(config.train.hooks, run_config, hparams, None),
            *build_profile_hooks(config, train_spec.max_steps, console),
        ),
        saving_listeners=(TimesListener(times), PauseListener(pace), *train_spec.saving_listeners),
    )
    eval_spec = eval_spec._replace(
        hooks=(InterruptHook(watch, config.job_dir, training=False), *eval_spec.hooks),
        exporters=(EvaluationRecorder(console, metrics_log, metric, stop), *eval_spec.exporters),
    )
    storage.write_text(Path(config.job_dir) / job_layout.CONFIG, config_lib.to_yaml(config))
    target = train_spec.max_steps
    console.log(
        f"plan: {experiment.where}, from step {first:,} to "
        f"{f'step {target:,}' if target else 'the end of its input'}"
    )
    with translate_user_errors(experiment.where, "the run"):
        reached = target is not None and first >= target
        evaluator = Evaluator(experiment.built, eval_spec, times)
        if reached or stop.reason:
            run.finish(evaluator, eval_spec, console)
        else:
            train_and_evaluate(experiment.built, train_spec, evaluator)
        evaluator.close()
    times.turn_to(REPORT)
    _export_for_analysis(experiment, config.job_dir, console)
    return _report(config, experiment, metrics_log, first, metric, direction, times.read())


def build_experiment(config: config_lib.Config, run_config: Any) -> Experiment:
    """Calls the user's function and checks what it returns.

    Raises:
        UserError: it cannot be found, fails, or returns something else.
    """
    if config.tfx.trainer_fn:
        where = f"tfx.trainer_fn {config.tfx.trainer_fn}"
        function = load_function(config.tfx.trainer_fn, "tfx.trainer_fn")
        args = tfx.build_trainer_fn_args(
            config, str(Path(config.job_dir) / job_layout.EVAL_MODEL_FOLDER)
        )
        schema = tfx.read_schema(config.data.schema_file)
        with translate_user_errors(where, "it"):
            # TFX passes both by position; what they are called differs from team to team.
            made = function(args, schema)
    else:
        where = f"experiment {config.experiment}"
        function = load_function(config.experiment, "experiment")
        schema = tfx.read_schema(config.data.schema_file)
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
    """Exports the evaluation graph, as TFX does, where TensorFlow Model Analysis is installed."""
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


def _report(config, experiment, metrics_log, first, metric, direction, secs) -> str:
    """Writes metrics.json, curves.png and summary.txt; returns the summary."""
    folder = Path(config.job_dir)
    evaluations = metrics_log.read("eval")
    best = report.choose_best(evaluations, metric, direction)
    last = evaluations[-1] if evaluations else None
    step = checkpoints.read_step(checkpoints.latest_checkpoint(config.job_dir))
    exports = {
        one.name: exporters.list_exports(str(folder / job_layout.EXPORT_FOLDER / one.name))
        for one in experiment.eval_spec.exporters
    }
    document = {
        "experiment": experiment.where,
        "start_step": first,
        "end_step": step,
        "secs": secs,
        "best_metric": metric,
        "direction": direction,
        "best": best,
        "last": last,
        "evaluations": evaluations,
        "checkpoints": checkpoints.list_checkpoints(config.job_dir),
        "exports": exports,
    }
    storage.write_json(folder / job_layout.METRICS, report.without_nan(document))
    curves = {"train": metrics_log.read("train"), "eval": evaluations}
    report.draw_curves(curves, metric, folder / job_layout.CURVES)
    lines = [
        "",
        f"Summary of {config.job_dir}",
        "",
        report.as_row("experiment", experiment.where),
        report.as_row("steps", f"{first:,} to {step:,}"),
        report.describe_secs(secs),
    ]
    for title, record in ((f"best {metric}", best), ("last", last)):
        if record is not None:
            values = {name: value for name, value in record.items() if name != "step"}
            told = " · ".join(f"{name} {value:.4f}" for name, value in values.items())
            lines.append(report.as_row(f"{title}", f"step {record['step']:,}: {told}"))
    for name, paths in exports.items():
        lines.append(report.as_row(f"export {name}", paths[-1] if paths else "none"))
    lines.append(report.as_row("TensorBoard", f"tensorboard --logdir {config.job_dir}"))
    summary = "\n".join(lines)
    storage.write_text(folder / job_layout.SUMMARY, summary + "\n")
    return summary
