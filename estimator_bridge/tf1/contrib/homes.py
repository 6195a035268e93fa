"""Where private names of `tf.contrib` are today; programs import them by their modules' paths."""

import importlib
from typing import Any, Optional

__all__ = ["find", "find_module", "is_module"]

_ESTIMATOR_TPU = "tensorflow_estimator.python.estimator.tpu."
_ESTIMATOR_SERIES = "tensorflow_estimator.python.estimator.canned.timeseries."
_TPU = "tensorflow.python.tpu."
_RNN_CELL = "tensorflow.python.ops.rnn_cell_impl"
_OURS = "estimator_bridge.tf1.contrib."

# Module of tf.contrib, below `tensorflow.contrib` -> the present modules of its names.
_HOMES = {
    "distribute.python": ("tensorflow.python.distribute",),
    "distribute.python.values": ("tensorflow.python.distribute.values",),
    "distribute.python.cross_tower_ops": ("tensorflow.python.distribute.cross_device_ops",),
    "estimator.python.estimator.multi_head": (f"{_OURS}estimator.heads",),
    "framework.python.framework.tensor_util": ("tensorflow.python.framework.tensor_util",),
    **{
        f"learn.python.learn.learn_io.{name}": (f"{_OURS}learn.learn_io",)
        for name in ("generator_io", "graph_io", "numpy_io", "pandas_io")
    },
    "losses.python.losses.loss_ops": ("tensorflow.python.ops.losses.losses_impl",),
    "losses.python.metric_learning.metric_loss_ops": (f"{_OURS}losses.metric_learning",),
    "metrics.python.ops.metric_ops": (
        "tensorflow.python.ops.metrics_impl",
        "tensorflow.python.ops.sets",
    ),
    "rnn.python.ops.core_rnn": ("tensorflow.python.ops.rnn",),
    "rnn.python.ops.core_rnn_cell": (_RNN_CELL,),
    "rnn.python.ops.core_rnn_cell_impl": (_RNN_CELL,),
    "rnn.python.ops.rnn": ("tensorflow.python.ops.rnn",),
    "rnn.python.ops.rnn_cell": (_RNN_CELL,),
    "seq2seq.python.ops.decoder": ("tensorflow.python.ops.rnn",),
    "tpu.python.tpu.error_handling": (f"{_ESTIMATOR_TPU}error_handling",),
    "tpu.python.tpu.tpu_config": (f"{_ESTIMATOR_TPU}tpu_config",),
    "tpu.python.tpu.tpu_context": (f"{_ESTIMATOR_TPU}tpu_context",),
    "tpu.python.tpu.tpu_estimator": (f"{_ESTIMATOR_TPU}tpu_estimator",),
    "tpu.python.tpu.tpu_function": (f"{_TPU}tpu_function",),
    "tpu.python.tpu.training_loop": (f"{_TPU}training_loop",),
    "tpu.python.tpu.util": (f"{_ESTIMATOR_TPU}util",),
}

# Modules of time series, which have the same names here.
_SERIES = f"{_OURS}timeseries."
_SERIES_MODULES = (
    *("ar_model", "estimators", "input_pipeline", "math_utils", "model", "state_management"),
)
_STATE_SPACE_MODULES = (
    *("filtering_postprocessor", "kalman_filter", "level_trend", "periodic"),
    *("state_space_model", "structural_ensemble", "varma"),
)
_SERIES_KEPT = ("feature_keys", "head", "model_utils")

# Private modules that programs import as such.
_MODULES = {
    "distribute.python": {
        "cross_tower_ops": "tensorflow.python.distribute.cross_device_ops",
        "mirrored_strategy": "tensorflow.python.distribute.mirrored_strategy",
        "one_device_strategy": "tensorflow.python.distribute.one_device_strategy",
        "parameter_server_strategy": "tensorflow.python.distribute.parameter_server_strategy",
        "values": "tensorflow.python.distribute.values",
    },
    "opt.python.training": {
        "agn_optimizer": f"{_OURS}opt.agn",
        "elastic_average_optimizer": f"{_OURS}opt.elastic_average",
        "model_average_optimizer": f"{_OURS}opt.model_average",
        "sign_decay": f"{_OURS}opt.sign_decay",
    },
    # A module that has the name of its function.
    "recurrent.python.ops": {"functional_rnn": f"{_OURS}recurrent"},
    "timeseries.python.timeseries": {
        **{name: _SERIES + name for name in _SERIES_MODULES},
        **{name: f"{_ESTIMATOR_SERIES}{name}" for name in _SERIES_KEPT},
    },
    "timeseries.python.timeseries.state_space_models": {
        name: f"{_SERIES}state_space_models.{name}" for name in _STATE_SPACE_MODULES
    },
    "tpu.python.tpu": {
        "error_handling": f"{_ESTIMATOR_TPU}error_handling",
        "tpu": f"{_TPU}tpu",
        "tpu_context": f"{_ESTIMATOR_TPU}tpu_context",
        "tpu_function": f"{_TPU}tpu_function",
        "training_loop": f"{_TPU}training_loop",
        "util": f"{_ESTIMATOR_TPU}util",
    },
}


def find_module(path: str, name: str) -> Optional[Any]:
    """Returns a private module of `tf.contrib` that programs import as such, or None.

    Args:
      path: the path of its package, such as tf.contrib.tpu.python.tpu.
      name: its name.
    """
    module = _MODULES.get(path.partition("contrib.")[2], {}).get(name)
    return None if module is None else importlib.import_module(module)


def is_module(path: str) -> bool:
    """Returns whether names of a private module of `tf.contrib` are elsewhere today.

    Args:
      path: its path, such as tf.contrib.tpu.python.tpu.util.
    """
    return path.partition("contrib.")[2] in _HOMES


def find(path: str, name: str) -> Optional[Any]:
    """Returns a private name of `tf.contrib`, or None if it is not supplied.

    Args:
      path: the path of its module, such as tf.contrib.tpu.python.tpu.util.
      name: the name.
    """
    for home in _HOMES.get(path.partition("contrib.")[2], ()):
        value = getattr(importlib.import_module(home), name, None)
        if value is not None:
            return value
    return None
