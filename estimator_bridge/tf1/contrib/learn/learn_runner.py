"""`tf.contrib.learn.learn_runner`."""

from estimator_bridge.tf1.contrib.learn.cluster import default_schedule, is_of_today
from estimator_bridge.tf1.contrib.learn.experiment import Experiment
from estimator_bridge.tf1.contrib.learn.run_config import RunConfig

__all__ = ["run", "tune"]


def run(experiment_fn, output_dir=None, schedule=None, run_config=None, hparams=None):
    """Builds an Experiment and runs it.

    Args:
      experiment_fn: function of `output_dir` (the older form), or of `run_config` and `hparams`.
      output_dir: directory for checkpoints and summaries, in the older form.
      schedule: name of the Experiment's method to run; None for that of the role in TF_CONFIG.
      run_config: RunConfig with a model_dir, in the newer form.
      hparams: HParams for `experiment_fn`, in the newer form.

    Returns:
      The result of the method.

    Raises:
      TypeError: experiment_fn is not callable, or does not return an Experiment.
      ValueError: both forms or neither are used, model_dir is missing, or the schedule is unknown.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError("learn_runner.run: pass either output_dir or run_config")
    if not callable(experiment_fn):
        raise TypeError(f"experiment_fn: expected a function, got {experiment_fn!r}")
    if run_config is not None:
        if not run_config.model_dir:
            raise ValueError("run_config: model_dir is required")
        # By position, as in 1.x: functions name the second argument as they like.
        experiment = experiment_fn(run_config, hparams)
    else:
        if hparams is not None:
            raise ValueError("hparams: run_config is required too")
        experiment = experiment_fn(output_dir)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"experiment_fn: expected it to return an Experiment, got {experiment!r}")
    config = run_config or RunConfig()
    # A parameter server or an evaluator of tf.estimator does not train.
    passive = is_of_today(config) and config.task_type in ("ps", "evaluator")
    if schedule is None or (schedule == "train" and passive):
        schedule = default_schedule(config)
    method = getattr(experiment, schedule, None)
    if schedule.startswith("_") or not callable(method):
        raise ValueError(f"schedule: Experiment has no method {schedule!r}")
    return method()


def tune(experiment_fn, tuner):
    """Runs an Experiment for each trial of a tuner.

    Args:
      experiment_fn: function of (run_config, hparams) that returns an Experiment.
      tuner: object with `next_trial` and `run_experiment`.
    """
    while tuner.next_trial():
        tuner.run_experiment(experiment_fn)
