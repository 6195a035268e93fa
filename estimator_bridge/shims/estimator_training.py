"""Replaces `tensorflow.python.distribute.estimator_training`, removed by TensorFlow 2.16.

An Estimator whose RunConfig has a distribution strategy uses this module to set up the RunConfig,
and to train and evaluate on every task of a cluster. Both use TensorFlow's distribute coordinator,
which still exists. There are two kinds of clusters:

* Every task runs the program, and TF_CONFIG names the task ("independent worker").
* One client runs the program and controls the other machines, which run plain TensorFlow servers
  ("standalone client"). Their addresses are in `DistributeConfig.remote_cluster`.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Optional

from estimator_bridge.private_tf import distribute_coordinator, server_lib
from estimator_bridge.private_tf import distribute_coordinator_context as coordinator_context
from estimator_bridge.private_tf import tf_logging as logging

__all__ = [
    "estimator_evaluate",
    "estimator_train",
    "init_run_config",
    "should_run_distribute_coordinator",
    "train_and_evaluate",
]

_Mode = distribute_coordinator.CoordinatorMode
_CHIEF, _WORKER, _PS, _EVALUATOR = "chief", "worker", "ps", "evaluator"


def _chosen_strategy(config, kind: str):
    """Returns the strategy of one kind, which the RunConfig may have in either of two places.

    Args:
      config: the RunConfig that is set up.
      kind: "train_distribute" or "eval_distribute".

    Raises:
      ValueError: both places have a strategy.
    """
    direct = getattr(config, f"_{kind}")
    grouped = getattr(config._experimental_distribute, kind, None)
    if direct and grouped:
        raise ValueError(
            f"`{kind}` is given twice, to RunConfig itself and in `experimental_distribute`. "
            "Give it in one of the two places."
        )
    return direct or grouped


def _is_tpu(strategy) -> bool:
    return type(strategy).__name__.startswith("TPUStrategy")


def init_run_config(config, tf_config: dict[str, Any]) -> None:
    """Sets up the fields of a RunConfig that was given a strategy or a DistributeConfig.

    Args:
      config: the RunConfig that is set up; its plain fields are set already.
      tf_config: the parsed TF_CONFIG, {} if there is none.

    Raises:
      ValueError: a strategy is given twice, or the cluster is given both in TF_CONFIG and as
        `remote_cluster`.
    """
    train_strategy = _chosen_strategy(config, "train_distribute")
    eval_strategy = _chosen_strategy(config, "eval_distribute")
    config._train_distribute = train_strategy
    config._eval_distribute = eval_strategy
    config._distribute_coordinator_mode = None

    remote_cluster = getattr(config._experimental_distribute, "remote_cluster", None)
    own_cluster = server_lib.ClusterSpec(tf_config.get("cluster", {}))
    if train_strategy and remote_cluster and own_cluster:
        raise ValueError(
            'Cannot set both "cluster_spec" of TF_CONFIG and '
            "`experimental_distribute.remote_cluster`"
        )
    if (
        not train_strategy
        or _is_tpu(train_strategy)
        or "master" in own_cluster.jobs
        or not (remote_cluster or own_cluster)
    ):
        # Here no strategy spans machines, so TF_CONFIG has the same meaning as without a strategy.
        config._init_distributed_setting_from_environment_var(tf_config)
        config._maybe_overwrite_session_config_for_distributed_training()
        return

    # The process has no cluster until the coordinator runs one of the tasks in it.
    config._init_distributed_setting_from_environment_var({})
    if remote_cluster:
        config._distribute_coordinator_mode = _Mode.STANDALONE_CLIENT
        config._cluster_spec = remote_cluster
    else:
        config._distribute_coordinator_mode = _Mode.INDEPENDENT_WORKER
        config._cluster_spec = own_cluster
    logging.info(
        "RunConfig initialized for Distribute Coordinator with %s mode",
        config._distribute_coordinator_mode.upper(),
    )


def should_run_distribute_coordinator(config) -> bool:
    """Returns whether `train_and_evaluate` uses the distribute coordinator.

    Args:
      config: a RunConfig.
    """
    mode = getattr(config, "_distribute_coordinator_mode", None)
    if mode is None:
        logging.info("Not using Distribute Coordinator.")
        return False
    if mode not in (_Mode.STANDALONE_CLIENT, _Mode.INDEPENDENT_WORKER):
        logging.warning(
            "Unexpected distribute coordinator mode %r: not using Distribute Coordinator.", mode
        )
        return False
    if not config.cluster_spec:
        logging.warning("There is no cluster: running locally instead of with mode %r.", mode)
        return False
    return True


def _adopt_task(config, context) -> None:
    """Sets the task of a RunConfig to the one that the coordinator runs in this thread."""
    config._session_config = context.session_config
    # A strategy may have changed the fields that the program set, so the coordinator sets all.
    config._cluster_spec = context.cluster_spec or server_lib.ClusterSpec({})
    config._task_type = context.task_type
    config._task_id = context.task_id
    config._master = context.master_target
    config._is_chief = context.is_chief
    config._evaluation_master = context.master_target
    if context.task_type == _EVALUATOR:
        # The evaluator does not belong to the training cluster.
        config._num_ps_replicas, config._num_worker_replicas = 0, 0
        config._global_id_in_cluster = None
        return
    counts = {job: len(tasks) for job, tasks in config._cluster_spec.as_dict().items()}
    chiefs, workers = counts.get(_CHIEF, 0), counts.get(_WORKER, 0)
    config._num_ps_replicas = counts.get(_PS, 0)
    config._num_worker_replicas = chiefs + workers
    first_of_job = {_CHIEF: 0, _WORKER: chiefs, _PS: chiefs + workers}
    # A client that controls all machines with one graph has neither a task type nor an index.
    config._global_id_in_cluster = first_of_job.get(context.task_type, 0) + (context.task_id or 0)


def _as_task(estimator, kind: str, strategy):
    """Returns a copy of the estimator for the task that the coordinator runs in this thread.

    Args:
      estimator: the program's Estimator.
      kind: "train" or "eval".
      strategy: that kind's strategy, configured for the task.
    """
    copied = copy.deepcopy(estimator)
    setattr(copied._config, f"_{kind}_distribute", strategy)
    setattr(copied, f"_{kind}_distribution", strategy)
    _adopt_task(copied._config, coordinator_context.get_current_worker_context())
    logging.info("Updated config: %s", vars(copied._config))
    return copied


def _check_direct_call(config, method: str, strategy) -> None:
    """Checks that a call of `Estimator.train` or `.evaluate` alone can use the cluster.

    Raises:
      ValueError: only `train_and_evaluate` can use it, in several processes or threads.
    """
    mode = _Mode.STANDALONE_CLIENT
    instead = "call `tf.estimator.train_and_evaluate`"
    if config._distribute_coordinator_mode != mode:
        raise ValueError(
            f"Only `STANDALONE_CLIENT` mode is supported when you call `{method}`; with a cluster "
            f"in TF_CONFIG, {instead}."
        )
    if strategy.extended.experimental_between_graph:
        raise ValueError(
            f"`{method}` API is not supported for {type(strategy).__name__} with "
            f"`STANDALONE_CLIENT` mode; {instead}."
        )


def _coordinate(config, worker_fn: Callable, strategy, eval_fn=None, eval_strategy=None) -> Any:
    """Makes TensorFlow's coordinator call each function in its tasks, with its strategy."""
    # Imported here, since it imports this module.
    from estimator_bridge.private_tf import estimator_run_config as run_config

    # For independent workers, the coordinator reads the task of this process from TF_CONFIG.
    standalone = config._distribute_coordinator_mode == _Mode.STANDALONE_CLIENT
    return distribute_coordinator.run_distribute_coordinator(
        worker_fn,
        strategy,
        eval_fn=eval_fn,
        eval_strategy=eval_strategy,
        mode=config._distribute_coordinator_mode,
        cluster_spec=config.cluster_spec if standalone else None,
        session_config=config.session_config or run_config.get_default_session_config(),
    )


def estimator_train(estimator, train_distributed_fn: Callable, hooks: Sequence) -> Any:
    """Runs `Estimator.train` on the cluster.

    Args:
      estimator: the Estimator.
      train_distributed_fn: called with (estimator, strategy, hooks) in each training task.
      hooks: the SessionRunHooks to train with.

    Raises:
      ValueError: this cluster can be used only through `train_and_evaluate`.
    """
    strategy = estimator._train_distribution
    _check_direct_call(estimator._config, "Estimator.train", strategy)

    def worker_fn(strategy):
        return train_distributed_fn(_as_task(estimator, "train", strategy), strategy, hooks)

    return _coordinate(estimator._config, worker_fn, strategy)


def estimator_evaluate(
    estimator, evaluate_distributed_fn: Callable, hooks: Optional[Sequence]
) -> Any:
    """Runs `Estimator.evaluate` on the cluster.

    Args:
      estimator: the Estimator.
      evaluate_distributed_fn: called with (estimator, strategy, hooks) in each task.
      hooks: the SessionRunHooks to evaluate with.

    Raises:
      ValueError: this cluster can be used only through `train_and_evaluate`.
    """
    strategy = estimator._eval_distribution
    _check_direct_call(estimator._config, "Estimator.evaluate", strategy)

    def worker_fn(strategy):
        return evaluate_distributed_fn(_as_task(estimator, "eval", strategy), strategy, hooks)

    return _coordinate(estimator._config, worker_fn, strategy)


def train_and_evaluate(estimator, train_spec, eval_spec, executor_cls) -> None:
    """Runs `train_and_evaluate` on the cluster.

    Args:
      estimator: the Estimator.
      train_spec: the TrainSpec.
      eval_spec: the EvalSpec.
      executor_cls: the class that runs the loop of one task, called with the arguments above.
    """

    config = estimator._config
    standalone = config._distribute_coordinator_mode == _Mode.STANDALONE_CLIENT

    def worker_fn(strategy):
        task = _as_task(estimator, "train", strategy)
        # Without this mode, the copy trains like any Estimator with a strategy.
        task._config._distribute_coordinator_mode = None
        # The client's threads would share the hooks, and a hook belongs to one graph.
        hooked = task._config.is_chief or not standalone
        task.train(
            input_fn=train_spec.input_fn,
            max_steps=train_spec.max_steps,
            hooks=list(train_spec.hooks) if hooked else [],
        )

    def eval_fn(strategy):
        task = _as_task(estimator, "eval", strategy)
        task._config._distribute_coordinator_mode = None
        executor_cls(task, train_spec, eval_spec).run_evaluator()

    train_strategy, eval_strategy = estimator._train_distribution, estimator._eval_distribution
    _coordinate(config, worker_fn, train_strategy, eval_fn, eval_strategy)
