"""`tf.contrib.distribute`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distribute_config as _config
from estimator_bridge.private_tf import distribute_lib as _lib
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "TPUStrategy": "there is no TPU behind it; use tf.distribute.MirroredStrategy",
        "run_standard_tensorflow_server": "use tf.distribute.Server with the cluster of TF_CONFIG",
    },
)

CrossDeviceOps = tf.distribute.CrossDeviceOps
DistributeConfig = _config.DistributeConfig
DistributionStrategy = _lib.StrategyV1
HierarchicalCopyAllReduce = tf.distribute.HierarchicalCopyAllReduce
NcclAllReduce = tf.distribute.NcclAllReduce
ReplicaContext = _lib.ReplicaContext
UpdateContext = _lib.UpdateContext
OneDeviceStrategy = tf.distribute.OneDeviceStrategy
ReductionToOneDeviceCrossDeviceOps = tf.distribute.ReductionToOneDevice
ReductionToOneDeviceCrossTowerOps = tf.distribute.ReductionToOneDevice
get_cross_replica_context = _lib.get_cross_replica_context
get_loss_reduction = tf.distribute.get_loss_reduction
get_replica_context = tf.distribute.get_replica_context
get_strategy = tf.distribute.get_strategy
get_distribution_strategy = tf.distribute.get_strategy
has_distribution_strategy = tf.distribute.has_strategy
has_strategy = tf.distribute.has_strategy
in_cross_replica_context = tf.distribute.in_cross_replica_context
require_replica_context = _lib.require_replica_context


def _devices(num_gpus):
    return None if num_gpus is None else [f"/gpu:{i}" for i in range(num_gpus)] or ["/cpu:0"]


def MirroredStrategy(
    devices=None,
    num_gpus=None,
    num_gpus_per_worker=None,
    cross_device_ops=None,
    auto_shard_dataset=False,
    cross_tower_ops=None,
):
    """Returns tf.distribute.MirroredStrategy for the old arguments; zero GPUs mean the CPU.

    Args:
      devices: list of devices, or None for all GPUs.
      num_gpus: int, number of GPUs, or None.
      num_gpus_per_worker: int, number of GPUs, or None.
      cross_device_ops: tf.distribute.CrossDeviceOps, or None.
      auto_shard_dataset: ignored; tf.distribute shards datasets.
      cross_tower_ops: old name of `cross_device_ops`.

    Returns:
      tf.distribute.MirroredStrategy.
    """
    del auto_shard_dataset  # tf.distribute shards datasets by itself.
    if num_gpus_per_worker is not None:
        num_gpus = num_gpus_per_worker
    return tf.distribute.MirroredStrategy(
        devices=devices or _devices(num_gpus), cross_device_ops=cross_device_ops or cross_tower_ops
    )


def ParameterServerStrategy(num_gpus_per_worker=0):
    """Returns tf.distribute.experimental.ParameterServerStrategy.

    Args:
      num_gpus_per_worker: ignored; the strategy finds the GPUs.

    Returns:
      The strategy.
    """
    del num_gpus_per_worker
    return tf.distribute.experimental.ParameterServerStrategy()


def CollectiveAllReduceStrategy(num_gpus_per_worker=0):
    """Returns tf.distribute.experimental.MultiWorkerMirroredStrategy.

    Args:
      num_gpus_per_worker: ignored; the strategy finds the GPUs.

    Returns:
      The strategy.
    """
    del num_gpus_per_worker
    return tf.distribute.experimental.MultiWorkerMirroredStrategy()


def AllReduceCrossDeviceOps(
    all_reduce_alg="nccl", num_packs=1, agg_small_grads_max_bytes=0, agg_small_grads_max_group=10
):
    """Returns the all-reduce of an old name.

    Args:
      all_reduce_alg: `nccl` or `hierarchical_copy`.
      num_packs: int, number of packs of gradients.
      agg_small_grads_max_bytes: ignored.
      agg_small_grads_max_group: ignored.

    Returns:
      tf.distribute.CrossDeviceOps.

    Raises:
      ValueError: the name is unknown.
    """
    del agg_small_grads_max_bytes, agg_small_grads_max_group
    known = {"nccl": NcclAllReduce, "hierarchical_copy": HierarchicalCopyAllReduce}
    if all_reduce_alg not in known:
        raise ValueError(
            f"all_reduce_alg: {all_reduce_alg!r} is unknown; use one of {sorted(known)}"
        )
    return known[all_reduce_alg](num_packs=num_packs)


AllReduceCrossTowerOps = AllReduceCrossDeviceOps
