"""`tf.contrib.tpu`, on machines that have no TPU.

`TPUEstimator(use_tpu=False)` runs on CPU and GPU as it did; everything that needs the device says
so when it is used.
"""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.errors import BridgeError
from estimator_bridge.tf1.contrib.package import lookup as _lookup

_TRAIN_ELSEWHERE = "there is no TPU behind it; use the Estimator with use_tpu=False"

__getattr__, _advice_for = _lookup(
    globals(),
    {
        "AsyncCheckpointSaverHook": "use tf.train.CheckpointSaverHook",
        "TPUDistributionStrategy": "use tf.distribute.MirroredStrategy",
        "TPUEmbedding": _TRAIN_ELSEWHERE,
        "keras_to_tpu_model": "use the Keras model as it is",
    },
)

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
replicate = tf.tpu.replicate
rewrite = tf.tpu.rewrite
shard = tf.tpu.shard
shutdown_system = tf.tpu.shutdown_system


class CrossShardOptimizer(tf.tpu.CrossShardOptimizer):
    """An optimizer that averages gradients over a TPU's shards: without a TPU there is one shard.

    So the gradients are applied as they are; the operation that would add them up exists only on
    TPUs.
    """

    def compute_gradients(self, loss, var_list=None, **kwargs):
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self._opt.apply_gradients(grads_and_vars, global_step, name)


def refuse_tpu() -> None:
    """Makes `TPUEstimator(use_tpu=True)`, by whatever name the class is reached, one clear error.

    The class itself is changed, once: programs subclass it and compare it.
    """
    original = TPUEstimator.__init__
    if hasattr(original, "refuses_tpu"):
        return

    @functools.wraps(original)
    def checked(
        self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True, *args, **kwargs
    ):
        if use_tpu:
            raise BridgeError(
                "TPUEstimator(use_tpu=True): TPUs are not served on this TensorFlow, whose "
                "Estimator support for them "
                "is gone. Pass use_tpu=False (most programs have the flag --use_tpu=False): it "
                "then trains on "
                "CPU or GPU"
            )
        original(self, model_fn, model_dir, config, params, use_tpu, *args, **kwargs)

    checked.refuses_tpu = True
    TPUEstimator.__init__ = checked
