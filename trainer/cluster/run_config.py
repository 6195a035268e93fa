"""Builds the estimator.RunConfig of a process."""

from typing import Any

from estimator_bridge import estimator, tf
from estimator_bridge.processor import count_cores
from trainer import config as config_lib
from trainer.cluster.strategies import count_cpus, device_filters
from trainer.environment.cluster_spec import ALONE, Cluster, tf_config

# TensorFlow's graph optimizer (Grappler) takes 0.8 s of processor time of a small job of these
# models, and their steps are not faster afterwards: measured with layers of 8 and of 256-128 units,
# batches of 50 and 512, the fused and the canned engine.
_LEAN_MODELS = ("linear", "dnn", "wide_deep", "residual")


def build_run_config(
    config: config_lib.Config, cluster: Cluster = ALONE, strategy: Any = None
) -> Any:
    """Returns the estimator.RunConfig of a process.

    Args:
        config: checkpoints, logs, seed and devices.
        cluster: the processes that train together; ALONE for an Estimator that only evaluates.
        strategy: the tf.distribute strategy to train under, or None.
    """
    run = config.run
    session_config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=run.intra_op_threads,
        inter_op_parallelism_threads=run.inter_op_threads,
        allow_soft_placement=True,
        device_count={"CPU": count_cpus(config.cluster)} if strategy is not None else {},
    )
    session_config.gpu_options.allow_growth = run.gpu_memory_growth
    session_config.graph_options.rewrite_options.disable_meta_optimizer = (
        config.model.type in _LEAN_MODELS
    )
    if cluster.is_distributed and strategy is None:
        session_config.device_filters.extend(device_filters(cluster))
    options = {"save_checkpoints_steps": run.save_checkpoints_steps}
    if run.checkpoint_secs is not None:
        options = {"save_checkpoints_secs": run.checkpoint_secs}
    with tf_config(cluster):
        return estimator.RunConfig(
            model_dir=config.job_dir,
            tf_random_seed=run.seed,
            save_summary_steps=run.save_summary_steps,
            log_step_count_steps=run.log_step_count_steps,
            keep_checkpoint_max=run.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=run.keep_checkpoint_every_n_hours or 1e6,
            session_config=session_config,
            train_distribute=strategy,
            checkpoint_save_graph_def=run.save_graph,
            **options,
        )


def share_cores(config: config_lib.Config, cluster: Cluster) -> config_lib.Config:
    """Gives each of the processes that train on one host its part of the cores.

    With threads for all cores in each process, the processes would wait for each other's threads in
    every step.

    Args:
        config: run.intra_op_threads, which is left as it is if it is given.
        cluster: the processes that train together.
    """
    if cluster.num_trainers_here == 1 or config.run.intra_op_threads:
        return config
    threads = max(1, count_cores() // cluster.num_trainers_here)
    run = config.run.model_copy(update={"intra_op_threads": threads})
    return config.model_copy(update={"run": run})
