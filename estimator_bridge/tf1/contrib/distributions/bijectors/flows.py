"""Normalizing flows: masked autoregressive flows and Real NVP."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base

__all__ = [
    "MaskedAutoregressiveFlow",
    "RealNVP",
    "masked_autoregressive_default_template",
    "masked_dense",
    "real_nvp_default_template",
]


def _last_size(x):
    size = tf.compat.dimension_value(x.shape.with_rank_at_least(1)[-1])
    if size is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    return size


def _scaled(x, shift, log_scale):
    x = x if log_scale is None else x * tf.exp(log_scale)
    return x if shift is None else x + shift


def _unscaled(y, shift, log_scale):
    y = y if shift is None else y - shift
    return y if log_scale is None else y * tf.exp(-log_scale)


class MaskedAutoregressiveFlow(_base.Bijector):
    """y_i = x_i exp(log_scale_i) + shift_i, which depend on y_0 to y_{i-1}.

    From Papamakarios et al. (2017). The inverse takes one call of the function, `forward` as many
    as the event has elements.

    Args:
      shift_and_log_scale_fn: function of y [..., k] that returns (shift, log_scale), tensors of
        that shape or None, whose elements i depend on earlier elements of y only.
      is_constant_jacobian: whether `log_scale` does not depend on y.
      validate_args: ignored.
      unroll_loop: whether the graph contains the steps of `forward` one by one.
      name: name of the bijector; None for masked_autoregressive_flow.
    """

    def __init__(
        self,
        shift_and_log_scale_fn,
        is_constant_jacobian=False,
        validate_args=False,
        unroll_loop=False,
        name=None,
    ):
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x):
        if self._unroll_loop:
            y = tf.zeros_like(x, name="y0")
            for _ in range(_last_size(x)):
                y = _scaled(x, *self._shift_and_log_scale_fn(y))
            return y
        size = tf.shape(x)[-1]
        # The variables of the function must be made outside of the loop.
        y = _scaled(x, *self._shift_and_log_scale_fn(tf.zeros_like(x, name="y0")))
        return tf.while_loop(
            lambda step, _: step < size,
            lambda step, y: (step + 1, _scaled(x, *self._shift_and_log_scale_fn(y))),
            (1, y),
            shape_invariants=(tf.TensorShape([]), y.shape),
        )[1]

    def _inverse(self, y):
        return _unscaled(y, *self._shift_and_log_scale_fn(y))

    def _inverse_log_det_jacobian(self, y):
        _, log_scale = self._shift_and_log_scale_fn(y)
        if log_scale is None:
            return tf.zeros([], y.dtype.base_dtype, name="ildj")
        return -tf.reduce_sum(log_scale, -1)


def _mask(blocks, inputs, outputs, exclusive):
    """Returns the mask [inputs, outputs]: an output sees the inputs of the blocks up to its own."""
    block_of_input = np.arange(inputs) // (inputs // blocks)
    block_of_output = np.arange(outputs) // (outputs // blocks)
    # What is left of a division sees or is seen by nothing more.
    sees = block_of_input[:, None] + int(exclusive) <= block_of_output[None, :]
    return (sees & (block_of_input < blocks)[:, None]).astype(np.float32)


def masked_dense(
    inputs,
    units,
    num_blocks=None,
    exclusive=False,
    kernel_initializer=None,
    reuse=None,
    name=None,
    *args,
    **kwargs,
):
    """Applies a dense layer whose kernel is masked, for MADE (Germain et al., 2015).

    Args:
      inputs: floating tensor [batch, ..., k]; k is known when the graph is built.
      units: int, size of the output.
      num_blocks: int, the number of blocks into which inputs and outputs are divided; required.
      exclusive: whether a block of outputs does not see its own block of inputs.
      kernel_initializer: initializer of the kernel before it is masked; None for Glorot's normal
        distribution.
      reuse: whether the layer's variables exist.
      name: name of the layer.
      *args: further arguments of tf.layers.Dense after `units`.
      **kwargs: further arguments of tf.layers.Dense.

    Returns:
      Tensor [batch, ..., units].

    Raises:
      NotImplementedError: k is not known.
    """
    mask = _mask(num_blocks, _last_size(inputs), units, exclusive)
    initializer = kernel_initializer or tf.glorot_normal_initializer()

    def masked_initializer(shape, dtype=None, partition_info=None):
        return mask * initializer(shape, dtype, partition_info)

    with tf.name_scope(name, "masked_dense", values=[inputs, units, num_blocks]):
        layer = tf.layers.Dense(
            units,
            *args,
            kernel_initializer=masked_initializer,
            kernel_constraint=lambda kernel: mask * kernel,
            name=name,
            dtype=inputs.dtype.base_dtype,
            _scope=name,
            _reuse=reuse,
            **kwargs,
        )
        return layer.apply(inputs)


def _clip_with_gradient(x, low, high):
    """Clips x; the gradient is that of x."""
    with tf.name_scope(None, "clip_by_value_preserve_grad", values=[x, low, high]):
        return x + tf.stop_gradient(tf.clip_by_value(x, low, high) - x)


def masked_autoregressive_default_template(
    hidden_layers,
    shift_only=False,
    activation=tf.nn.relu,
    log_scale_min_clip=-5.0,
    log_scale_max_clip=3.0,
    log_scale_clip_gradient=False,
    name=None,
    *args,
    **kwargs,
):
    """Returns a function for MaskedAutoregressiveFlow: MADE (Germain et al., 2015) as a template.

    Args:
      hidden_layers: list of ints, sizes of the hidden layers.
      shift_only: whether the function returns no `log_scale` but None.
      activation: activation of the hidden layers, or None.
      log_scale_min_clip: least `log_scale`.
      log_scale_max_clip: largest `log_scale`.
      log_scale_clip_gradient: whether the gradient of a clipped `log_scale` is 0.
      name: name of the template; None for masked_autoregressive_default_template.
      *args: further arguments of `masked_dense` after `exclusive` and of its layers.
      **kwargs: further arguments of `masked_dense`.

    Returns:
      Function of y [..., k] that returns (shift, log_scale), each [..., k].

    Raises:
      NotImplementedError: the function is called and k is not known.
    """
    name = name or "masked_autoregressive_default_template"
    with tf.name_scope(name, values=[log_scale_min_clip, log_scale_max_clip]):

        def made(x):
            size = _last_size(x)
            known = x.shape.is_fully_defined()
            shape = x.shape.as_list() if known else tf.shape(x)
            for place, units in enumerate(hidden_layers):
                x = masked_dense(x, units, size, place == 0, *args, activation=activation, **kwargs)
            units = (1 if shift_only else 2) * size
            exclusive = not hidden_layers
            x = masked_dense(x, units, size, exclusive, *args, activation=None, **kwargs)
            if shift_only:
                return tf.reshape(x, shape), None
            shift, log_scale = tf.unstack(tf.reshape(x, tf.concat([shape, [2]], 0)), axis=-1)
            clip = tf.clip_by_value if log_scale_clip_gradient else _clip_with_gradient
            return shift, clip(log_scale, log_scale_min_clip, log_scale_max_clip)

        return tf.make_template(name, made)


class RealNVP(_base.Bijector):
    """Leaves the first elements, which scale and shift the others (Dinh et al., 2017).

    y = [x_a, x_b exp(log_scale) + shift], with log_scale and shift made of x_a.

    Args:
      num_masked: int, number of elements that are not changed.
      shift_and_log_scale_fn: function of x_a [..., num_masked] and the number of other elements
        that returns (shift, log_scale), tensors [..., others] or None.
      is_constant_jacobian: whether `log_scale` does not depend on x.
      validate_args: ignored.
      name: name of the bijector; None for real_nvp.

    Raises:
      ValueError: `num_masked` is not positive; or, in methods, not below the size of the event.
    """

    def __init__(
        self,
        num_masked,
        shift_and_log_scale_fn,
        is_constant_jacobian=False,
        validate_args=False,
        name=None,
    ):
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked = num_masked
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _split(self, x):
        """Returns the elements that stay, the others, and (shift, log_scale)."""
        size = _last_size(x)
        if self._num_masked >= size:
            raise ValueError("Number of masked units must be smaller than the event size.")
        kept = x[..., : self._num_masked]
        found = self._shift_and_log_scale_fn(kept, size - self._num_masked)
        return kept, x[..., self._num_masked :], found

    def _forward(self, x):
        kept, others, found = self._split(x)
        return tf.concat([kept, _scaled(others, *found)], -1)

    def _inverse(self, y):
        kept, others, found = self._split(y)
        return tf.concat([kept, _unscaled(others, *found)], -1)

    def _inverse_log_det_jacobian(self, y):
        return -self._forward_log_det_jacobian(y)

    def _forward_log_det_jacobian(self, x):
        _, _, (_, log_scale) = self._split(x)
        if log_scale is None:
            return tf.zeros([], x.dtype.base_dtype)
        return tf.reduce_sum(log_scale, -1)


def real_nvp_default_template(
    hidden_layers, shift_only=False, activation=tf.nn.relu, name=None, *args, **kwargs
):
    """Returns a function for RealNVP: dense layers as a template.

    Args:
      hidden_layers: list of ints, sizes of the hidden layers.
      shift_only: whether the function returns no `log_scale` but None.
      activation: activation of the hidden layers, or None.
      name: name scope; None for real_nvp_default_template.
      *args: further arguments of tf.layers.dense after `units` and `activation`.
      **kwargs: further arguments of tf.layers.dense.

    Returns:
      Function of x [..., k] and an int that returns (shift, log_scale), tensors [..., that int].
    """
    with tf.name_scope(name or "real_nvp_default_template"):

        def layers(x, output_units):
            for units in hidden_layers:
                x = tf.layers.dense(x, units, *args, activation=activation, **kwargs)
            count = (1 if shift_only else 2) * output_units
            x = tf.layers.dense(x, count, *args, activation=None, **kwargs)
            return (x, None) if shift_only else tuple(tf.split(x, 2, axis=-1))

        # The variables' names do not depend on `name`, as in 1.15.
        return tf.make_template("real_nvp_default_template", layers)
