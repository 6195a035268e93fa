"""`tf.contrib.eager`: for programs in graph mode, and for those that enable eager execution."""

import contextlib
import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import autotrackable as _autotrackable
from estimator_bridge.private_tf import backprop as _backprop
from estimator_bridge.private_tf import device_lib as _devices
from estimator_bridge.private_tf import resource_variable_ops as _resource
from estimator_bridge.private_tf import test_util as _test_util
from estimator_bridge.tf1.contrib.eager import metrics as metrics
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "Network": "write the model as a tf.keras.Model, whose variables have other names in "
        "checkpoints",
    },
    default_advice="TensorFlow 2 executes eagerly; use tf.keras, tf.train.Checkpoint",
)

Checkpoint = tf.train.Checkpoint
Checkpointable = _autotrackable.AutoTrackable
GradientTape = tf.GradientTape
Variable = _resource.ResourceVariable
TensorSpec = tf.TensorSpec
function = tf.function
enable_eager_execution = tf.enable_eager_execution
gradients_function = _backprop.gradients_function
implicit_gradients = _backprop.implicit_grad
implicit_value_and_gradients = _backprop.implicit_val_and_grad
value_and_gradients_function = _backprop.val_and_grad_function
py_func = tf.py_function
executing_eagerly = in_eager_mode = tf.executing_eagerly
custom_gradient = tf.custom_gradient
# The same numbers as in 1.15.
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT = 0, 1, 2
SYNC, ASYNC = 0, 1


def defun(
    func=None,
    input_signature=None,
    autograph=True,
    experimental_autograph_options=None,
    experimental_relax_shapes=False,
):
    """Returns a function that runs as a graph, or a decorator that makes one, as tf.function.

    Args:
      func: the function, or None.
      input_signature: nested tf.TensorSpecs of its arguments, or None.
      autograph: whether Python's control flow becomes that of the graph.
      experimental_autograph_options: options of that, or None.
      experimental_relax_shapes: whether fewer graphs are made for arguments of other shapes.
    """
    return tf.function(
        func,
        input_signature,
        autograph=autograph,
        experimental_autograph_options=experimental_autograph_options,
        reduce_retracing=experimental_relax_shapes,
    )


def in_graph_mode():
    """Returns whether operations build a graph."""
    return not tf.executing_eagerly()


def num_gpus():
    """Returns the number of GPUs."""
    return sum(device.device_type == "GPU" for device in _devices.list_local_devices())


def list_devices():
    """Returns the whole names of the devices."""
    return [f"/job:localhost/replica:0/task:0{one.name}" for one in _devices.list_local_devices()]


def run_test_in_graph_and_eager_modes(func=None, config=None, use_gpu=True):
    """Decorates a test method so that it runs in a session with a new graph, and then eagerly.

    Args:
      func: test method, or None when used with arguments.
      config: tf.ConfigProto of the session, or None.
      use_gpu: whether operations may run on GPUs.

    Returns:
      The decorated method, or the decorator.
    """
    return _test_util.run_in_graph_and_eager_modes(func, config, use_gpu)


run_all_tests_in_graph_and_eager_modes = _test_util.run_all_in_graph_and_eager_modes


def run(main=None, argv=None):
    """Enables eager execution and runs a program, as tf.app.run does.

    Args:
      main: the program's function; None for the `main` of `__main__`.
      argv: its arguments; None for those of the process.
    """
    tf.enable_eager_execution()
    tf.app.run(main, argv)


class Iterator:
    """Iterates over a dataset eagerly.

    Args:
      dataset: tf.data.Dataset.
    """

    def __init__(self, dataset):
        self._iterator = iter(dataset)
        self.output_types = tf.data.get_output_types(dataset)
        self.output_shapes = tf.data.get_output_shapes(dataset)
        self.output_classes = tf.data.get_output_classes(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._iterator)

    next = __next__

    def get_next(self, name=None):
        """Returns the next element; raises tf.errors.OutOfRangeError at the end.

        Args:
          name: not used.
        """
        del name
        return self._iterator.get_next()


class Saver:
    """Saves and restores variables eagerly, by their names.

    Args:
      var_list: list of variables, or dict from the name in the checkpoint to the variable.
    """

    def __init__(self, var_list):
        self._saver = tf.train.Saver(var_list)

    def save(self, file_prefix, global_step=None):
        """Writes a checkpoint and returns its path.

        Args:
          file_prefix: path of the checkpoint.
          global_step: number that the path ends with, or None.
        """
        return self._saver.save(None, file_prefix, global_step=global_step)

    def restore(self, file_prefix):
        """Reads the values of the variables from a checkpoint.

        Args:
          file_prefix: path of the checkpoint.
        """
        self._saver.restore(None, file_prefix)


@contextlib.contextmanager
def restore_variables_on_create(save_path, map_func=None):
    """Gives variables that are created within the context their values in a checkpoint.

    Args:
      save_path: path of a checkpoint; None changes nothing.
      map_func: function from a variable's name to its name in the checkpoint, or None.

    Yields:
      Nothing.
    """
    if save_path is None:
        yield
        return
    reader = tf.train.load_checkpoint(save_path)
    create = Variable.__init__

    @functools.wraps(create)
    def create_and_restore(variable, *args, **options):
        create(variable, *args, **options)
        name = variable.name.rpartition(":")[0]
        name = map_func(name) if map_func else name
        if reader.has_tensor(name):
            variable.assign(reader.get_tensor(name))

    # A scope of variable creators would miss variables that are made of their class.
    Variable.__init__ = create_and_restore
    try:
        yield
    finally:
        Variable.__init__ = create


def get_optimizer_variables(optimizer):
    """Returns the list of an optimizer's variables.

    Args:
      optimizer: tf.train.Optimizer.
    """
    return optimizer.variables()
