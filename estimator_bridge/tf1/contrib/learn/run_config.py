"""`tf.contrib.learn.RunConfig`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_run_config as _current

__all__ = ["Environment", "RunConfig", "TaskType", "count_tasks"]

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

    TF_CONFIG determines the position of the process in a cluster, as in 1.x unless the cluster has
    a `chief`, which 1.x does not know.

    Args:
      master: address of the session in training; None for that of TF_CONFIG.
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
      evaluation_master: address of the session in evaluations.
      model_dir: directory for checkpoints and summaries, or None.
      session_config: tf.ConfigProto in place of the arguments above, or None.
      session_creation_timeout_secs: seconds that a worker waits for the chief's session.

    Raises:
      ValueError: the cluster of TF_CONFIG does not have this task.
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
        if master is not None:
            self._master = master
        if evaluation_master:
            self._evaluation_master = evaluation_master

    def _init_distributed_setting_from_environment_var(self, tf_config):
        self._environment = tf_config.get("environment", Environment.LOCAL)
        jobs = tf_config.get("cluster", {})
        self._is_of_today = TaskType.CHIEF in jobs
        if self._is_of_today:
            super()._init_distributed_setting_from_environment_var(tf_config)
            return
        self._service = None
        self._cluster_spec = tf.train.ClusterSpec(jobs)
        task = tf_config.get("task", {})
        self._task_type, self._task_id = task.get("type"), int(task.get("index", 0))
        self._master = _find_master(self._cluster_spec, self._task_type, self._task_id)
        self._evaluation_master = ""
        number = {job: self._cluster_spec.num_tasks(job) for job in self._cluster_spec.jobs}
        self._num_ps_replicas = number.get(TaskType.PS, 0)
        self._num_worker_replicas = sum(
            number.get(job, 0) for job in (TaskType.WORKER, TaskType.MASTER)
        )
        in_cloud = self._environment == Environment.CLOUD
        chief = TaskType.MASTER if in_cloud else TaskType.WORKER
        self._is_chief = self._task_id == 0 and self._task_type in (None, chief)
        # A number that 1.x does not have.
        self._global_id_in_cluster = None if self._cluster_spec else 0

    @property
    def tf_config(self):
        """The tf.ConfigProto of the session."""
        return self.session_config

    def get_task_id(self):
        """Returns the index of this process among those of its type."""
        return self.task_id

    @property
    def is_of_today(self):
        """Whether the cluster is one of tf.estimator.train_and_evaluate."""
        return self._is_of_today

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


def _find_master(cluster_spec, task_type, task_id):
    """Returns the address of a task; "" where 1.x does not use the cluster.

    Args:
      cluster_spec: tf.train.ClusterSpec.
      task_type: name of its job, or None.
      task_id: its number in the job.

    Raises:
      ValueError: the cluster does not have this task.
    """
    jobs = cluster_spec.as_dict()
    if task_type is None or count_tasks(cluster_spec) < 2:
        return ""
    if task_type not in jobs:
        raise ValueError(f"{task_type} is not a valid task_type in TF_CONFIG: {jobs}")
    if not 0 <= task_id < len(jobs[task_type]):
        raise ValueError(f"{task_id} is not a valid task_id of {task_type} in TF_CONFIG: {jobs}")
    return f"grpc://{jobs[task_type][task_id]}"


def count_tasks(cluster_spec):
    """Returns the number of processes in a cluster.

    Args:
      cluster_spec: tf.train.ClusterSpec, or None.
    """
    return sum(map(cluster_spec.num_tasks, cluster_spec.jobs)) if cluster_spec else 0
