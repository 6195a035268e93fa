"""`tf.contrib.distribute`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distribute_config as _config
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
HierarchicalCopyAllReduce = tf.distribute.HierarchicalCopyAllReduce
NcclAllReduce = tf.distribute.NcclAllReduce
OneDeviceStrategy = tf.distribute.OneDeviceStrategy
ReductionToOneDeviceCrossDeviceOps = tf.distribute.ReductionToOneDevice
ReductionToOneDeviceCrossTowerOps = tf.distribute.ReductionToOneDevice
get_cross_replica_context = tf.distribute.in_cross_replica_context
get_loss_reduction = tf.distribute.get_loss_reduction
get_replica_context = tf.distribute.get_replica_context
get_strategy = tf.distribute.get_strategy
has_strategy = tf.distribute.has_strategy
in_cross_replica_context = tf.distribute.in_cross_replica_context


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
    """tf.distribute.MirroredStrategy by the old arguments. Zero GPUs mean the CPU."""
    del auto_shard_dataset  # What tf.distribute does by itself.
    if num_gpus_per_worker is not None:
        num_gpus = num_gpus_per_worker
    return tf.distribute.MirroredStrategy(
        devices=devices or _devices(num_gpus), cross_device_ops=cross_device_ops or cross_tower_ops
    )


def ParameterServerStrategy(num_gpus_per_worker=0):
    """tf.distribute.experimental.ParameterServerStrategy; it finds the GPUs itself."""
    del num_gpus_per_worker
    return tf.distribute.experimental.ParameterServerStrategy()


def CollectiveAllReduceStrategy(num_gpus_per_worker=0):
    """tf.distribute.experimental.MultiWorkerMirroredStrategy; it finds the GPUs itself."""
    del num_gpus_per_worker
    return tf.distribute.experimental.MultiWorkerMirroredStrategy()


def AllReduceCrossDeviceOps(
    all_reduce_alg="nccl", num_packs=1, agg_small_grads_max_bytes=0, agg_small_grads_max_group=10
):
    """The all-reduce by its old name: `nccl` or `hierarchical_copy`. ValueError for another one."""
    del agg_small_grads_max_bytes, agg_small_grads_max_group
    known = {"nccl": NcclAllReduce, "hierarchical_copy": HierarchicalCopyAllReduce}
    if all_reduce_alg not in known:
        raise ValueError(f"all_reduce_alg {all_reduce_alg!r}: expected one of {sorted(known)}")
    return known[all_reduce_alg](num_packs=num_packs)


AllReduceCrossTowerOps = AllReduceCrossDeviceOps
