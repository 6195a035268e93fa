"""Lets MultiWorkerMirroredStrategy gather sparse gradients. Broken on 2.15 and later.

The gradient of an embedding has as many rows as the batch has different ids, so its length changes
from step to step. In a graph, which is how Estimators train, the strategy gathers with an operation
that requires the shape of the first step for ever ("Shape mismatch in the collective instance").
The operation that preceded it, which TensorFlow still has, takes the shape of each step.
"""

from estimator_bridge.private_tf import collective_ops, cross_device_utils, ops

__all__ = ["apply"]


def apply() -> None:
    """Makes the processes of a strategy gather with the older operation in graphs."""
    launcher = cross_device_utils.CollectiveReplicaLauncher
    original = launcher._all_gather
    if getattr(original, "_bridged", False):
        return

    def _all_gather(self, input_tensor, options):
        if ops.executing_eagerly_outside_functions():
            return original(self, input_tensor, options)
        key = self._next_instance_key()
        options = self._options.merge(options)
        with ops.device(self._device):
            return collective_ops.all_gather(
                input_tensor,
                self._group_size,
                self._group_key,
                key,
                communication_hint=options.implementation.value,
                timeout=options.timeout_seconds or 0,
            )

    vars(_all_gather)["_bridged"] = True
    launcher._all_gather = _all_gather
