"""`tf.contrib.eager`: the functions that programs in graph mode used."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import device_lib as _devices
from estimator_bridge.private_tf import resource_variable_ops as _resource
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_GRAPH = (
    "1.x programs run in graph mode here; port the eager part to TensorFlow 2 (tf.function, "
    "tf.GradientTape)"
)

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        name: _GRAPH
        for name in (
            "Iterator",
            "Network",
            "Saver",
            "Sequential",
            "enable_eager_execution",
            "implicit_gradients",
            "metrics",
        )
    },
)

Checkpoint = tf.train.Checkpoint
GradientTape = tf.GradientTape
Variable = _resource.ResourceVariable
TensorSpec = tf.TensorSpec
defun = tf.function
py_func = tf.py_function
executing_eagerly = in_eager_mode = tf.executing_eagerly
custom_gradient = tf.custom_gradient


def in_graph_mode():
    """Returns whether operations build a graph."""
    return not tf.executing_eagerly()


def num_gpus():
    """Returns the number of GPUs."""
    return sum(device.device_type == "GPU" for device in _devices.list_local_devices())


def list_devices():
    """Returns the names of the devices."""
    return [device.name for device in _devices.list_local_devices()]


def run_test_in_graph_and_eager_modes(func=None, config=None, use_gpu=True):
    """Decorates a test method so that it runs in a session with a new graph.

    Args:
      func: test method, or None when used with arguments.
      config: tf.ConfigProto of the session, or None.
      use_gpu: whether operations may run on GPUs.

    Returns:
      The decorated method, or the decorator.
    """

    def decorated(method):
        @functools.wraps(method)
        def run(self, *args, **kwargs):
            with tf.Graph().as_default(), self.test_session(use_gpu=use_gpu, config=config):
                method(self, *args, **kwargs)

        return run

    return decorated if func is None else decorated(func)


run_all_tests_in_graph_and_eager_modes = lambda cls: cls  # noqa: E731
