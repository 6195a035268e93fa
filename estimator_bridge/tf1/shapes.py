"""Shapes as in 1.x: a dimension may be a whole float, and given sizes are the shape of a result."""

import functools

import numpy as np

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Makes dimensions accept floats such as `16 / 2`, which programs for Python 2 often use.

    A float that is not a whole number raises ValueError, as in 1.x; 2.x refuses every float.

    Transposed convolutions have the shape that is given to them, as in 1.x. 2.x takes the first
    dimension from the input, where it may be unknown.
    """
    from estimator_bridge.private_tf import gen_nn_ops, tensor_shape

    construct = tensor_shape.Dimension.__init__

    @functools.wraps(construct)
    def construct_from_number(self, value):
        if isinstance(value, (float, np.floating)):
            whole = int(value)
            if whole != value:
                raise ValueError(f"Ambiguous dimension: {value}")
            value = whole
        construct(self, value)

    tensor_shape.Dimension.__init__ = construct_from_number
    gen_nn_ops.conv2d_backprop_input = _with_given_sizes(gen_nn_ops.conv2d_backprop_input)


def _with_given_sizes(convolve):
    import tensorflow as tf

    @functools.wraps(convolve)
    def convolve_to_sizes(*args, **kwargs):
        result = convolve(*args, **kwargs)
        if not tf.executing_eagerly():
            sizes = tf.get_static_value(result.op.inputs[0])
            # Two sizes are those of the image alone.
            if sizes is not None and len(sizes) == 4:
                result.set_shape(sizes)
        return result

    return convolve_to_sizes
