"""The private `_linear` and `_Linear` of 1.x, which many custom cells import."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = ["Linear", "linear", "read_size"]


def read_size(shape):
    """Returns the number of columns of the inputs of a cell.

    Args:
      shape: [..., size], of the inputs.

    Raises:
      ValueError: the size is unknown.
    """
    size = tf.TensorShape(shape).as_list()[-1]
    if size is None:
        raise ValueError(f"inputs: the last dimension must be known, got shape {shape}")
    return size


class Linear:
    """A linear map of one or more tensors by one matrix.

    Creates the variables `kernel` and `bias` in the current scope. Calls return a tensor [batch,
    output_size].

    Args:
      args: tensor [batch, n], or a list of such tensors.
      output_size: int, size of the outputs.
      build_bias: whether to add a bias.
      bias_initializer: initializer of the bias; None for zeros.
      kernel_initializer: initializer of the kernel; None for the scope's.

    Raises:
      ValueError: the tensors do not have rank 2, or a size is unknown.
    """

    def __init__(
        self,
        args,
        output_size,
        build_bias,
        bias_initializer=None,
        kernel_initializer=None,
    ):
        if not nest.is_nested(args):
            args = [args]
        sizes = [tf.compat.dimension_value(arg.shape[-1]) for arg in args]
        if any(arg.shape.ndims != 2 for arg in args):
            raise ValueError(f"args: expected 2D tensors, got {[arg.get_shape() for arg in args]}")
        if None in sizes:
            raise ValueError(
                f"args: the last dimension must be known, got {args[sizes.index(None)].get_shape()}"
            )
        dtype = args[0].dtype
        self._biased = build_bias
        self._weights = tf.get_variable(
            "kernel", [sum(sizes), output_size], dtype, kernel_initializer
        )
        if build_bias:
            initializer = bias_initializer or tf.constant_initializer(0.0, dtype=dtype)
            outer = tf.get_variable_scope()
            # As in 1.x, a partitioner divides the kernel only.
            with tf.variable_scope(outer, auxiliary_name_scope=False) as scope:
                scope.set_partitioner(None)
                self._biases = tf.get_variable("bias", [output_size], dtype, initializer)

    def __call__(self, args):
        joined = tf.concat(args, 1) if nest.is_nested(args) else args
        result = tf.matmul(joined, self._weights)
        return tf.nn.bias_add(result, self._biases) if self._biased else result


def linear(args, output_size, bias, bias_initializer=None, kernel_initializer=None):
    """Returns the linear map of one or more tensors.

    Args:
      args: tensor [batch, n], or a list of such tensors.
      output_size: int, size of the outputs.
      bias: whether to add a bias.
      bias_initializer: initializer of the bias; None for zeros.
      kernel_initializer: initializer of the kernel; None for the scope's.

    Returns:
      Tensor [batch, output_size].

    Raises:
      ValueError: `args` is empty, or the tensors do not fit.
    """
    if args is None or (nest.is_nested(args) and not args):
        raise ValueError("args: at least one tensor is required")
    return Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)
