"""`tf.contrib.learn.learn_runner`."""

from estimator_bridge.tf1.contrib.learn.experiment import Experiment
from estimator_bridge.tf1.contrib.learn.run_config import RunConfig

__all__ = ["run", "tune"]

# What each role of a cluster did when no schedule was given. tf.estimator.train_and_evaluate, which
# runs an Experiment, acts by the role itself.
_BY_ROLE = ("chief", "evaluator", "master", "ps", "worker")


def run(experiment_fn, output_dir=None, schedule=None, run_config=None, hparams=None):
    """Makes an Experiment and runs it.

    Args:
      experiment_fn: a function of `output_dir` (the older form), or of `run_config` and `hparams`.
      schedule: the Experiment's method to run; None: by the role that TF_CONFIG gives the process.

    Raises:
      ValueError: both forms or none, no model_dir, or an unknown schedule.
      TypeError: experiment_fn does not return an Experiment.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError("Must specify exactly one of `output_dir` and `run_config`")
    if not callable(experiment_fn):
        raise TypeError("Experiment builder is not callable.")
    if run_config is not None:
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        experiment = experiment_fn(run_config=run_config, hparams=hparams)
    else:
        if hparams is not None:
            raise ValueError("learn_runner.run: hparams needs run_config")
        experiment = experiment_fn(output_dir)
    if not isinstance(experiment, Experiment):
        raise TypeError(
            f"Experiment builder did not return an Experiment instance, got {experiment!r}"
        )
    task_type = (run_config or RunConfig()).task_type
    if schedule is None or (schedule == "train" and task_type in ("ps", "evaluator")):
        schedule = "train_and_evaluate" if task_type in (None, *_BY_ROLE) else "train"
    method = getattr(experiment, schedule, None)
    if schedule.startswith("_") or not callable(method):
        raise ValueError(f"Schedule references non-existent or non-callable member {schedule}")
    return method()


def tune(experiment_fn, tuner):
    """Runs an Experiment for each trial that a tuner gives."""
    while tuner.next_trial():
        tuner.run_experiment(experiment_fn)
