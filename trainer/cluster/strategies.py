"""Builds tf.distribute strategies by name, and checks the cluster and devices they run on."""

import faulthandler
from typing import Any

import estimator_bridge as bridge
from trainer import config as config_lib
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError

# With these strategies, every step trains on one batch per replica and waits for all replicas.
SYNCHRONOUS = ("one_device", "mirrored", "central_storage", "multi_worker_mirrored")
ON_ONE_MACHINE = ("one_device", "mirrored", "central_storage")


def check_strategy(config: config_lib.ClusterConfig, cluster: Cluster) -> None:
    """Checks that the cluster can run the strategy.

    Args:
        config: the strategy.
        cluster: the cluster.

    Raises:
        UserError: the cluster cannot run the strategy; the message names one that it can run.
    """
    name = config.strategy
    workers, servers = len(cluster.spec.get("worker", ())), len(cluster.spec.get("ps", ()))
    if name == "tpu":
        raise UserError(
            "cluster.strategy tpu: TPUs need a TPU runtime, whose Estimator support left "
            "with TensorFlow 2.16; choose mirrored (GPUs) or multi_worker_mirrored"
        )
    if name in ON_ONE_MACHINE and (workers or servers):
        raise UserError(
            f"cluster.strategy {name}: runs on one machine and the cluster has {workers} worker(s) "
            f"and {servers} parameter server(s); choose multi_worker_mirrored, parameter_server or "
            "none"
        )
    if name == "multi_worker_mirrored" and servers:
        raise UserError(
            f"cluster.strategy {name}: does not use the {servers} parameter server(s) of the "
            "cluster; remove them, or choose parameter_server"
        )
    if name in ("none", "parameter_server") and workers and not servers:
        raise UserError(
            f"cluster.strategy {name}: {workers} worker(s) and no parameter server to hold the "
            "variables; add one, or choose multi_worker_mirrored"
        )
    if name == "parameter_server" and not servers:
        raise UserError(
            "cluster.strategy parameter_server: this job is one process; start it with TF_CONFIG "
            "(python -m trainer.launch does), or choose none"
        )


def list_devices(config: config_lib.ClusterConfig) -> list[str]:
    """Returns the devices that cluster.devices names; an empty list if TensorFlow chooses them.

    Args:
        config: contains cluster.devices.

    Raises:
        UserError: more GPUs are requested than the machine has.
    """
    wanted = config.devices
    if not wanted or wanted == ("all",):
        return []
    if len(wanted) == 1 and wanted[0].isdecimal():
        available = len(bridge.tf.config.list_physical_devices("GPU"))
        if int(wanted[0]) > available:
            raise UserError(
                f"cluster.devices {wanted[0]}: this machine has {available} GPU(s) that TensorFlow "
                "can use; name fewer, or devices such as cpu:0,cpu:1"
            )
        return [f"/gpu:{index}" for index in range(int(wanted[0]))]
    return [f"/{device.strip('/').lower()}" for device in wanted]


def build_strategy(config: config_lib.ClusterConfig) -> Any:
    """Returns the tf.distribute strategy of a training process; None for the strategy "none".

    Args:
        config: strategy, devices and time limits.

    Raises:
        UserError: a device does not exist.
    """
    devices = list_devices(config)
    distribute = bridge.tf.distribute
    try:
        if config.strategy == "one_device":
            gpus = bridge.tf.config.list_physical_devices("GPU")
            return distribute.OneDeviceStrategy(devices[0] if devices else _default(gpus))
        if config.strategy == "mirrored":
            on_cpu = all(device.startswith("/cpu") for device in devices) and devices
            how = distribute.ReductionToOneDevice() if on_cpu else None
            return distribute.MirroredStrategy(devices or None, cross_device_ops=how)
        if config.strategy == "central_storage":
            kind = bridge.tf.compat.v1.distribute.experimental.CentralStorageStrategy
            return kind(devices or None, parameter_device="/cpu:0")
        if config.strategy == "multi_worker_mirrored":
            from estimator_bridge.eager_context import renew_eager_context

            renew_eager_context()
            # The constructor connects to the other processes without a time limit, and blocks all
            # other Python threads. So only a timer in C can end a constructor that hangs.
            faulthandler.dump_traceback_later(config.watchdog_secs, exit=True)
            try:
                return bridge.tf.compat.v1.distribute.experimental.MultiWorkerMirroredStrategy()
            finally:
                faulthandler.cancel_dump_traceback_later()
        if config.strategy == "parameter_server":
            return bridge.tf.compat.v1.distribute.experimental.ParameterServerStrategy()
    except ValueError as error:
        raise UserError(f"cluster.devices {','.join(config.devices)}: {error}") from error
    return None


def _default(gpus: list[Any]) -> str:
    return "/gpu:0" if gpus else "/cpu:0"


def count_cpus(config: config_lib.ClusterConfig) -> int:
    """Returns the number of CPU devices that a session needs for cluster.devices; at least 1.

    Args:
        config: contains cluster.devices.
    """
    return max(1, sum(device.startswith("/cpu") for device in list_devices(config)))


def count_batches(config: config_lib.ClusterConfig, cluster: Cluster) -> int:
    """Returns the number of batches per global step: replicas x processes if synchronous, else 1.

    Args:
        config: strategy and devices.
        cluster: the cluster.
    """
    if config.strategy not in SYNCHRONOUS:
        return 1
    if config.strategy == "one_device":
        return 1
    replicas = len(list_devices(config)) or len(bridge.tf.config.list_physical_devices("GPU")) or 1
    return replicas * cluster.num_trainers


def device_filters(cluster: Cluster) -> list[str]:
    """Returns the device filters of this process: the jobs that its session may connect to.

    Without the filters, the sessions of workers would wait for each other.

    Args:
        cluster: the cluster, and which process of it this is.
    """
    if cluster.role == "chief":
        return ["/job:ps", "/job:chief"]
    if cluster.role == "worker":
        return ["/job:ps", f"/job:worker/task:{cluster.index}"]
    return []
