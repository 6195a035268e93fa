"""`tf.contrib.tensorboard.plugins`."""

import importlib
import importlib.util


def __getattr__(name):
    if name == "projector":
        # TensorFlow 2.21 comes without TensorBoard.
        if importlib.util.find_spec("tensorboard") is not None:
            return importlib.import_module("tensorboard.plugins.projector")
        return importlib.import_module("estimator_bridge.tf1.contrib.tensorboard.projector")
    raise AttributeError(f"module 'tf.contrib.tensorboard.plugins' has no attribute {name!r}")
