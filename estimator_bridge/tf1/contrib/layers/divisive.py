"""Generalized divisive normalization of `tf.contrib.layers`: `GDN` and `gdn`."""

import tensorflow.compat.v1 as tf

__all__ = ["GDN", "gdn"]


@tf.custom_gradient
def _at_least(values, bound):
    """Returns values that are not below a bound; gradients that increase them still pass."""

    def gradients(above):
        passes = tf.logical_or(values >= bound, above < 0)
        return tf.where(passes, above, tf.zeros_like(above)), None

    return tf.maximum(values, bound), gradients


class GDN(tf.layers.Layer):
    """Divides each channel by a norm over all channels (Balle, Laparra and Simoncelli, 2015).

    y[i] = x[i] / sqrt(beta[i] + sum over j of gamma[j, i] x[j]^2); the inverse multiplies instead.
    Variables: `reparam_beta` [channels] and `reparam_gamma` [channels, channels], the square roots
    of beta and gamma plus the square of `reparam_offset` (Balle, Laparra and Simoncelli, 2016).

    Args:
      inverse: whether to multiply by the norm instead, which is the first step of the inversion.
      beta_min: number, lower bound of beta.
      gamma_init: number on the diagonal of the first gamma.
      reparam_offset: number, lower bound of the square roots.
      data_format: `channels_last` or `channels_first`.
      activity_regularizer: function of the outputs that returns a loss, or None.
      trainable: whether the variables are trainable.
      name: name of the layer.
      **kwargs: further arguments of tf.layers.Layer.
    """

    def __init__(
        self,
        inverse=False,
        beta_min=1e-6,
        gamma_init=0.1,
        reparam_offset=2**-18,
        data_format="channels_last",
        activity_regularizer=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.inverse = inverse
        self.data_format = data_format
        self.beta = self.gamma = None
        self._beta_min, self._gamma_init = beta_min, gamma_init
        self._offset = reparam_offset
        self.input_spec = tf.layers.InputSpec(min_ndim=3, max_ndim=5)

    def _channel_axis(self):
        if self.data_format not in ("channels_first", "channels_last"):
            raise ValueError(f"Unsupported `data_format` for GDN layer: {self.data_format}.")
        return 1 if self.data_format == "channels_first" else -1

    def build(self, input_shape):
        """Creates the variables.

        Args:
          input_shape: shape of the inputs; the number of channels must be known.

        Raises:
          ValueError: the number of channels is unknown, or the data format.
        """
        axis = self._channel_axis()
        channels = tf.compat.dimension_value(tf.TensorShape(input_shape)[axis])
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self.input_spec = tf.layers.InputSpec(min_ndim=3, max_ndim=5, axes={axis: channels})
        pedestal = self._offset**2

        def start_beta(shape, dtype=None, partition_info=None):
            return tf.sqrt(tf.ones(shape, dtype) + pedestal)

        def start_gamma(shape, dtype=None, partition_info=None):
            return tf.sqrt(self._gamma_init * tf.eye(shape[0], dtype=dtype) + pedestal)

        lowest = (self._beta_min + pedestal) ** 0.5
        self.beta = self._add_squared("reparam_beta", [channels], start_beta, lowest)
        shape = [channels, channels]
        self.gamma = self._add_squared("reparam_gamma", shape, start_gamma, self._offset)
        self.built = True

    def _add_squared(self, name, shape, initializer, lowest):
        """Creates the variable of a square root; returns the square, a tensor of its shape."""
        root = self.add_variable(name, shape=shape, initializer=initializer)
        root = tf.convert_to_tensor(root)
        bounded = _at_least(root, tf.constant(lowest, root.dtype))
        return tf.square(bounded) - self._offset**2

    def call(self, inputs):
        """Returns the normalized inputs, a tensor of their shape.

        Args:
          inputs: floating tensor [batch, ..., channels], or [batch, channels, ...], of rank 3 to 5.
        """
        inputs = tf.convert_to_tensor(inputs)
        axes = list(range(inputs.shape.ndims))
        first = self._channel_axis() == 1
        # The convolution with channels first has no kernel on processors.
        values = tf.transpose(inputs, [0, *axes[2:], 1]) if first else inputs
        kernel = self.gamma[(None,) * (len(axes) - 2)]
        norms = tf.nn.convolution(tf.square(values), kernel, "VALID")
        norms = tf.sqrt(tf.nn.bias_add(norms, self.beta))
        outputs = values * norms if self.inverse else values / norms
        if first:
            outputs = tf.transpose(outputs, [0, axes[-1], *axes[1:-1]])
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape):
        """Returns the shape of the outputs, which is that of the inputs.

        Args:
          input_shape: shape of the inputs.
        """
        return tf.TensorShape(input_shape)


def gdn(
    inputs,
    inverse=False,
    beta_min=1e-6,
    gamma_init=0.1,
    reparam_offset=2**-18,
    data_format="channels_last",
    activity_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """Returns the outputs of a `GDN` layer.

    Args:
      inputs: floating tensor [batch, ..., channels], or [batch, channels, ...], of rank 3 to 5.
      inverse: whether to multiply by the norm instead.
      beta_min: number, lower bound of beta.
      gamma_init: number on the diagonal of the first gamma.
      reparam_offset: number, lower bound of the square roots of beta and gamma.
      data_format: `channels_last` or `channels_first`.
      activity_regularizer: function of the outputs that returns a loss, or None.
      trainable: whether the variables are trainable.
      name: name of the layer; the default is `gdn`.
      reuse: whether to reuse the variables of a layer of this name.

    Returns:
      Tensor of the shape of the inputs.

    Raises:
      ValueError: the rank, the data format or the number of channels is not valid.
    """
    inputs = tf.convert_to_tensor(inputs)
    layer = GDN(
        *(inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer),
        *(trainable, name),
        dtype=inputs.dtype.base_dtype.name,
        _scope=name,
        _reuse=reuse,
    )
    return layer.apply(inputs)
