"""Replaces three modules of `tensorflow.python.tpu` that TensorFlow 2.16 removed.

They are session_support, tpu_embedding and tpu_embedding_gradient. TPUEstimator always imports
them, but calls them only on a TPU, which Estimators cannot use on these versions.
"""

from .. import private_tf

__all__ = ["INFERENCE", "TRAINING", "apply"]

TRAINING = "training"
INFERENCE = "inference"

_NAMES = (
    # session_support
    "CoordinatorResetError",
    "GracefulShutdownHook",
    "ResetComputation",
    "ShutdownAllWorkers",
    "ShutdownLameWorkers",
    "WatchdogManager",
    "WorkerHeartbeatManager",
    "start_worker_watchdog",
    # tpu_embedding
    "AdagradMomentumParameters",
    "AdagradParameters",
    "AdagradSlotVariableNames",
    "AdamParameters",
    "AdamSlotVariableNames",
    "EnqueueData",
    "FeatureConfig",
    "FtrlParameters",
    "FtrlSlotVariableNames",
    "MomentumParameters",
    "MomentumSlotVariableNames",
    "ProximalAdagradParameters",
    "ProximalAdagradSlotVariableNames",
    "RMSPropParameters",
    "RMSPropSlotVariableNames",
    "StochasticGradientDescentParameters",
    "TPUEmbedding",
    "TableConfig",
    # tpu_embedding_gradient
    "create_dummy_table_variables",
    "get_gradients_through_dummy_table_variables",
    "hook_dummy_table_variables_to_activations",
)


def _placeholder(name: str) -> type:
    """Returns a class that can be imported and compared, and raises when it is called."""

    def refuse(cls, *args, **kwargs):
        raise NotImplementedError(
            f"{name} needs a TPU, and Estimators on TensorFlow 2.16 and later cannot use one. "
            "Use TPUEstimator(use_tpu=False), or TensorFlow 2.15 on the TPU machine."
        )

    return type(name, (), {"__doc__": "Usable only on a TPU.", "__new__": refuse})


globals().update({name: _placeholder(name) for name in _NAMES})


def apply() -> None:
    """Restores the parameter classes in `tf.compat.v1.tpu.experimental`."""
    experimental = private_tf.api_v1_tpu_experimental
    for kind in ("Adagrad", "Adam", "Ftrl", "StochasticGradientDescent"):
        name = f"{kind}Parameters"
        if not hasattr(experimental, name):
            vars(experimental)[name] = globals()[name]
