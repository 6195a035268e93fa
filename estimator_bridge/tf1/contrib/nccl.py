"""`tf.contrib.nccl`, which tf.distribute uses: sums over the GPUs of this machine."""

import sys as _sys

from estimator_bridge.private_tf import gen_nccl_ops
from estimator_bridge.private_tf import nccl_ops as _nccl_ops
from estimator_bridge.tf1.contrib.package import PrivatePath as _PrivatePath
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "all_max",
    "all_min",
    "all_prod",
    "all_sum",
    "broadcast",
    "gen_nccl_ops",
    "ops",
    "reduce_sum",
]

__getattr__, _advice_for = _unsupported_names(
    globals(), default_advice="use tf.distribute.MirroredStrategy"
)

all_max = _nccl_ops.all_max
all_min = _nccl_ops.all_min
all_prod = _nccl_ops.all_prod
all_sum = _nccl_ops.all_sum
broadcast = _nccl_ops.broadcast
reduce_sum = _nccl_ops.reduce_sum
ops = _PrivatePath("tf.contrib.nccl.ops", _sys.modules[__name__])


def _validate_and_load_nccl_so():
    """Does nothing: TensorFlow has loaded the operations."""
