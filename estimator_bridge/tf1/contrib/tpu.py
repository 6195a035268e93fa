"""`tf.contrib.tpu`, for machines without TPUs.

`TPUEstimator(use_tpu=False)` runs on CPU and GPU. Everything that needs a TPU raises an error when
it is used.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import tpu_training_loop as _training_loop
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_TRAIN_ELSEWHERE = "TPUs are not supported; use the Estimator with use_tpu=False"

_QUEUE = (
    "infeed and outfeed queues exist on TPUs only; use TPUEstimator with use_tpu=False, which "
    "reads an input_fn, and compute the values in host_call or in a hook"
)
_ADVICE = {
    "InfeedQueue": _QUEUE,
    "export_estimator_savedmodel": "call the Estimator's export_saved_model, which writes a graph "
    "for CPU and GPU",
    "infeed_dequeue": _QUEUE,
    "infeed_dequeue_tuple": _QUEUE,
    "infeed_enqueue": _QUEUE,
    "infeed_enqueue_tuple": _QUEUE,
    "outfeed_dequeue": _QUEUE,
    "outfeed_dequeue_tuple": _QUEUE,
    "outfeed_enqueue": _QUEUE,
    "outfeed_enqueue_tuple": _QUEUE,
    "rewrite_for_inference": "it compiles a graph for TPUs; export the graph as it is",
}
__getattr__, _advice_for = _unsupported_names(globals(), _ADVICE, _TRAIN_ELSEWHERE)

# Saves in the step, where 1.x saved in a thread of its own.
AsyncCheckpointSaverHook = tf.train.CheckpointSaverHook
InputPipelineConfig = tf.estimator.tpu.InputPipelineConfig
RunConfig = tf.estimator.tpu.RunConfig
TPUConfig = tf.estimator.tpu.TPUConfig
TPUEstimator = tf.estimator.tpu.TPUEstimator
TPUEstimatorSpec = tf.estimator.tpu.TPUEstimatorSpec
batch_parallel = tf.tpu.batch_parallel
bfloat16_scope = tf.tpu.bfloat16_scope
core = tf.tpu.core
cross_replica_sum = tf.tpu.cross_replica_sum
initialize_system = tf.tpu.initialize_system
outside_compilation = tf.tpu.outside_compilation
repeat = _training_loop.repeat
replicate = tf.tpu.replicate
rewrite = tf.tpu.rewrite
shard = tf.tpu.shard
shutdown_system = tf.tpu.shutdown_system
while_loop = _training_loop.while_loop


class TPUDistributionStrategy:
    """What `keras_to_tpu_model` takes; it has no effect on a machine without TPUs.

    Args:
      tpu_cluster_resolver: not used.
      using_single_core: not used.
    """

    def __init__(self, tpu_cluster_resolver=None, using_single_core=False):
        del tpu_cluster_resolver, using_single_core


def keras_to_tpu_model(model, strategy=None):
    """Returns the model itself, which trains on the devices of this machine.

    Args:
      model: a tf.keras model.
      strategy: not used.
    """
    del strategy
    tf.logging.warning("tf.contrib.tpu.keras_to_tpu_model: the model trains without TPUs.")
    return model


class CrossShardOptimizer(tf.tpu.CrossShardOptimizer):
    """An optimizer that averages gradients over TPU shards; without TPUs there is one shard.

    It applies the gradients unchanged, because the operation that adds them exists only on TPUs.
    """

    def compute_gradients(self, loss, var_list=None, **kwargs):
        """Returns the list of (gradient, variable) from the wrapped optimizer.

        Args:
          loss: scalar floating tensor.
          var_list: variables; None for all trainable variables.
          **kwargs: further arguments of the optimizer.
        """
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step of the wrapped optimizer.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that the step increments, or None.
          name: name of the operation, or None.
        """
        return self._opt.apply_gradients(grads_and_vars, global_step, name)
