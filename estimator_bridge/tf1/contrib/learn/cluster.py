"""The process of an Experiment in a cluster, which TF_CONFIG describes.

A cluster with a `master` works as in 1.x. One with a `chief`, which 1.x does not know, and one of
tf.estimator.RunConfig are those of tf.estimator.train_and_evaluate.
"""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.run_config import Environment, RunConfig, count_tasks

__all__ = ["default_schedule", "delay", "is_of_today", "join", "start_server"]

_SCHEDULES = {"master": "train_and_evaluate", "ps": "run_std_server", "worker": "train"}
# A worker starts so many seconds after the one before it.
_SECS = 5
_MOST_SECS = 60
# Or at the step that is this number times the logarithm of its place.
_STEPS = 8000.0
# A server ends with its object.
_SERVERS: list[tf.train.Server] = []


def is_of_today(config):
    """Returns whether tf.estimator.train_and_evaluate knows what this process is to do.

    Args:
      config: RunConfig.
    """
    if isinstance(config, RunConfig):
        return config.is_of_today
    return config.task_type == "evaluator" or bool(config.cluster_spec)


def default_schedule(config):
    """Returns the name of the method of an Experiment that a process runs by default.

    Args:
      config: RunConfig.

    Raises:
      ValueError: the type of the task has none, or is unknown.
    """
    if count_tasks(config.cluster_spec) < 2 or is_of_today(config):
        return "train_and_evaluate"
    if not config.task_type:
        raise ValueError("schedule: required where TF_CONFIG has a cluster, but no task in it")
    if config.task_type not in _SCHEDULES:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return _SCHEDULES[config.task_type]


def start_server(config):
    """Returns the server of this process, which has been started and ends with the process.

    Args:
      config: RunConfig.

    Raises:
      ValueError: this process is in no cluster.
    """
    if not config.cluster_spec or not config.master:
        raise ValueError("there is no cluster; set TF_CONFIG to its addresses and this task")
    server = tf.train.Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=config.session_config,
        protocol=config.protocol,
    )
    _SERVERS.append(server)
    return server


def join(config):
    """Starts the server of this process if it is one of a cluster that needs it.

    Args:
      config: RunConfig.
    """
    if not config.cluster_spec or not config.master:
        return
    if is_of_today(config) or config.environment == Environment.CLOUD:
        start_server(config)
    elif config.environment == Environment.LOCAL:
        tf.logging.warning(
            "TF_CONFIG describes a cluster, but its environment is `local`: no server is started. "
            'Add "environment": "cloud".'
        )


def delay(config, by_global_step):
    """Returns how long this process waits before it trains.

    Args:
      config: RunConfig.
      by_global_step: whether to wait for a global step.

    Returns:
      Seconds, and hooks.
    """
    place = config.task_id or 0
    if by_global_step:
        return 0, [tf.train.GlobalStepWaiterHook(int(_STEPS * math.log(place + 1)))]
    return min(_MOST_SECS, _SECS * place), []
