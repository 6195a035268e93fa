"""LSTM cells of `tf.nn.rnn_cell` whose kernel has a mask."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.model_pruning.masks import collect_masked

__all__ = ["MaskedBasicLSTMCell", "MaskedLSTMCell"]


class _MaskedKernel:
    """Mixin that multiplies the kernel of a cell by the variable `mask`.

    It also creates the scalar variable `threshold`, and adds both to the collections of masks.
    """

    def build(self, inputs_shape):
        """Creates the variables.

        Args:
          inputs_shape: shape of the inputs, [batch, size].

        Raises:
          ValueError: the size is unknown.
        """
        super().build(inputs_shape)
        # The layer takes variables only while it is not built.
        self.built = False
        kernel = self._kernel
        options = {"dtype": kernel.dtype.base_dtype, "trainable": False}
        mask = self.add_variable(
            "mask", shape=kernel.shape, initializer=tf.ones_initializer(), **options
        )
        threshold = self.add_variable(
            "threshold", shape=[], initializer=tf.zeros_initializer(), **options
        )
        # The cell multiplies its inputs and states by this attribute.
        self._kernel = collect_masked(kernel, mask, threshold)
        self.built = True


class MaskedBasicLSTMCell(_MaskedKernel, tf.nn.rnn_cell.BasicLSTMCell):
    """BasicLSTMCell (Zaremba et al., 2014) with a mask on its kernel.

    Variables: `kernel` and `mask` [inputs + num_units, 4 num_units], `bias` [4 num_units], and
    `threshold`, a scalar.

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate's bias.
      state_is_tuple: whether the state is (c, h), or both in one tensor.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
      name: name of the layer.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
    ):
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
        )


class MaskedLSTMCell(_MaskedKernel, tf.nn.rnn_cell.LSTMCell):
    """LSTMCell (Sak et al., 2014) with a mask on its kernel; the projection has none.

    Variables: those of LSTMCell, `mask`, of the shape of the kernel, and `threshold`, a scalar.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on the cell state.
      cell_clip: number to which the cell state is clipped, or None.
      initializer: initializer of the kernel and the projection.
      num_proj: int, size of the projected output, or None for no projection.
      proj_clip: number to which the projected output is clipped, or None.
      num_unit_shards: int, number of variables that the kernel consists of.
      num_proj_shards: int, number of variables that the projection consists of.
      forget_bias: number added to the forget gate's bias.
      state_is_tuple: whether the state is (c, h), or both in one tensor.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
    ):
        super().__init__(
            num_units,
            use_peepholes=use_peepholes,
            cell_clip=cell_clip,
            initializer=initializer,
            num_proj=num_proj,
            proj_clip=proj_clip,
            num_unit_shards=num_unit_shards,
            num_proj_shards=num_proj_shards,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
        )
