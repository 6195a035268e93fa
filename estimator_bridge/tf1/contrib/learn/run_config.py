"""`tf.contrib.learn.RunConfig`."""

import json
import os

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_run_config as _current

__all__ = ["Environment", "RunConfig", "TaskType"]

TaskType = _current.TaskType

# What a user may change between two runs of the same model.
_CHANGING = (
    *("tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs"),
    *("session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours"),
    "log_step_count_steps",
)

# The value of save_checkpoints_secs that stands for the default.
_DEFAULT = 0


class Environment:
    """The values of TF_CONFIG's `environment`."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class RunConfig(tf.estimator.RunConfig):
    """tf.estimator.RunConfig with the old arguments.

    TF_CONFIG determines the position of the process in a cluster.

    Args:
      master: not supported; must be empty.
      num_cores: int, threads of the session; 0 for all cores.
      log_device_placement: whether to log the devices of operations.
      gpu_memory_fraction: share of the GPU memory to use.
      tf_random_seed: seed of the graph, or None.
      save_summary_steps: int, steps between summaries.
      save_checkpoints_secs: seconds between checkpoints, or None; the default is 600 without
        `save_checkpoints_steps`.
      save_checkpoints_steps: steps between checkpoints, or None.
      keep_checkpoint_max: int, number of checkpoints to keep.
      keep_checkpoint_every_n_hours: hours between checkpoints that are kept forever.
      log_step_count_steps: int, steps between lines of the log.
      protocol: protocol of the servers, or None.
      evaluation_master: not supported; must be empty.
      model_dir: directory for checkpoints and summaries, or None.
      session_config: tf.ConfigProto in place of the arguments above, or None.
      session_creation_timeout_secs: seconds that a worker waits for the chief's session.

    Raises:
      ValueError: a master is given.
    """

    def __init__(
        self,
        master=None,
        num_cores=0,
        log_device_placement=False,
        gpu_memory_fraction=1,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_secs=_DEFAULT,
        save_checkpoints_steps=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        protocol=None,
        evaluation_master="",
        model_dir=None,
        session_config=None,
        session_creation_timeout_secs=7200,
    ):
        if master or evaluation_master:
            raise ValueError(
                "tf.contrib.learn.RunConfig: master and evaluation_master are not supported; "
                "set TF_CONFIG instead"
            )
        if session_config is None and (
            num_cores or log_device_placement or gpu_memory_fraction != 1
        ):
            session_config = tf.ConfigProto(
                inter_op_parallelism_threads=num_cores,
                intra_op_parallelism_threads=num_cores,
                log_device_placement=log_device_placement,
                gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
            )
        if save_checkpoints_secs == _DEFAULT:
            save_checkpoints_secs = None if save_checkpoints_steps else 600
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        described = json.loads(os.environ.get("TF_CONFIG") or "{}")
        self._environment = described.get("environment", Environment.LOCAL)

    @property
    def tf_config(self):
        """The tf.ConfigProto of the session."""
        return self.session_config

    def get_task_id(self):
        """Returns the index of this process among those of its type."""
        return self.task_id

    @property
    def environment(self):
        """One of Environment."""
        return self._environment

    def uid(self, whitelist=None):
        """Returns a text that two configurations share if they are equal.

        Args:
          whitelist: list of names of properties that may differ; None for those that do not change
            the model or the cluster, such as the seed and the intervals of checkpoints.
        """
        left_out = {f"_{name}" for name in (_CHANGING if whitelist is None else whitelist)}
        state = {key: value for key, value in vars(self).items() if key not in left_out}
        if "_cluster_spec" in state:
            # Its own text contains the address of the object.
            state["_cluster_spec"] = dict(sorted(self.cluster_spec.as_dict().items()))
        return ", ".join(f"{key}={value!r}" for key, value in sorted(state.items()))
