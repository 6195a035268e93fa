"""Convolutional LSTM cells of `tf.contrib.rnn` (Shi et al., 2015)."""

import tensorflow.compat.v1 as tf

__all__ = ["Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell"]

_State = tf.nn.rnn_cell.LSTMStateTuple


class ConvLSTMCell(tf.nn.rnn_cell.RNNCell):
    """An LSTM whose linear maps are convolutions with stride 1 that keep the spatial size.

    Inputs are [batch, *input_shape]. The state is a pair of tensors [batch, *input_shape[:-1],
    output_channels]. The outputs have that shape too; with `skip_connection` the inputs' channels
    follow. Variables: `kernel` [*kernel_shape, input and output channels, 4 output_channels] and,
    with `use_bias`, `biases` [4 output_channels].

    Args:
      conv_ndims: number of spatial axes: 1, 2 or 3.
      input_shape: spatial sizes and channels of an input.
      output_channels: int, number of channels of the state.
      kernel_shape: conv_ndims ints.
      use_bias: whether the convolution has a bias.
      skip_connection: whether to append the inputs to the outputs.
      forget_bias: number added to the forget gate's bias.
      initializers: ignored, as in 1.x.
      name: name of the layer.

    Raises:
      ValueError: a shape does not fit `conv_ndims`.
    """

    def __init__(
        self,
        conv_ndims,
        input_shape,
        output_channels,
        kernel_shape,
        use_bias=True,
        skip_connection=False,
        forget_bias=1.0,
        initializers=None,
        name="conv_lstm_cell",
    ):
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(
                f"input_shape: expected {conv_ndims} sizes and the channels, got {input_shape}"
            )
        if len(kernel_shape) != conv_ndims:
            raise ValueError(f"kernel_shape: expected {conv_ndims} sizes, got {kernel_shape}")
        self._sizes, self._input_channels = list(input_shape[:-1]), input_shape[-1]
        self._channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._skip = skip_connection
        self._forget_bias = forget_bias

    @property
    def state_size(self):
        shape = tf.TensorShape([*self._sizes, self._channels])
        return _State(shape, shape)

    @property
    def output_size(self):
        skipped = self._input_channels if self._skip else 0
        return tf.TensorShape([*self._sizes, self._channels + skipped])

    def call(self, inputs, state, scope=None):
        """Computes one step; returns (outputs, (c, h)).

        Args:
          inputs: floating tensor [batch, *spatial sizes, channels].
          state: (c, h), each a floating tensor [batch, *spatial sizes, output_channels].
          scope: not used.
        """
        c, h = state
        args = tf.concat([inputs, h], -1)
        channels = tf.compat.dimension_value(args.shape[-1])
        shape = [*self._kernel_shape, channels, 4 * self._channels]
        gates = tf.nn.convolution(
            args, tf.get_variable("kernel", shape, args.dtype), padding="SAME"
        )
        if self._use_bias:
            gates += tf.get_variable("biases", shape[-1:], args.dtype, tf.zeros_initializer())
        i, j, f, o = tf.split(gates, 4, axis=-1)
        c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        outputs = tf.concat([h, inputs], -1) if self._skip else h
        return outputs, _State(c, h)


class Conv1DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over [batch, length, channels].

    Args:
      name: name of the layer.
      **kwargs: further arguments of ConvLSTMCell.
    """

    def __init__(self, name="conv_1d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over [batch, height, width, channels].

    Args:
      name: name of the layer.
      **kwargs: further arguments of ConvLSTMCell.
    """

    def __init__(self, name="conv_2d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over [batch, depth, height, width, channels].

    Args:
      name: name of the layer.
      **kwargs: further arguments of ConvLSTMCell.
    """

    def __init__(self, name="conv_3d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=3, name=name, **kwargs)
