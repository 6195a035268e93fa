"""LSTM cells of `tf.contrib.rnn` that are not fused."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import linear

__all__ = [
    "CoupledInputForgetGateLSTMCell",
    "LayerNormBasicLSTMCell",
    "LSTMStateCell",
    "LayerNormLSTMCell",
    "clip",
    "sharded",
]

_State = tf.nn.rnn_cell.LSTMStateTuple


def clip(values, limit):
    """Returns values between -limit and limit; None is no limit.

    Args:
      values: floating tensor.
      limit: number, or None.
    """
    return values if limit is None else tf.clip_by_value(values, -limit, limit)


def sharded(name, shape, dtype, shards):
    """Returns a matrix made of the variables `<name>_0`, `<name>_1`, ..., split by rows.

    Args:
      name: start of their names.
      shape: (rows, columns) of the matrix.
      dtype: dtype of the variables.
      shards: int, number of variables.

    Raises:
      ValueError: there are more shards than rows.
    """
    rows, columns = shape
    if shards > rows:
        raise ValueError(f"{name}: {rows} rows cannot be split into {shards} shards")
    parts = [
        tf.get_variable(f"{name}_{i}", [rows // shards + (i < rows % shards), columns], dtype)
        for i in range(shards)
    ]
    if shards == 1:
        return parts[0]
    whole = tf.concat(parts, 0, name=f"{name}/concat")
    # As in 1.x, whose cells looked there for it.
    tf.add_to_collection("concatenated_variables", whole)
    return whole


class LSTMStateCell(tf.nn.rnn_cell.RNNCell):
    """A cell whose output is h of its state (c, h).

    They are [batch, num_units] and [batch, num_proj or num_units].

    Args:
      num_units: int, number of units.
      num_proj: int, size to which the outputs are projected; None for no projection.
      reuse: whether to reuse the variables.
      name: name of the scope; None for that of the class.
    """

    def __init__(self, num_units, num_proj, reuse, name=None):
        super().__init__(_reuse=reuse, name=name)
        self._num_units, self._num_proj = num_units, num_proj

    @property
    def state_size(self):
        return _State(self._num_units, self.output_size)

    @property
    def output_size(self):
        return self._num_proj or self._num_units


class _NormalizedCell(LSTMStateCell):
    """An LSTM whose gates may be normalized.

    Args:
      num_units: int, number of units.
      num_proj: int, size to which the outputs are projected; None for no projection.
      layer_norm: whether to normalize.
      norm_gain: initial value of `gamma`.
      norm_shift: initial value of `beta`.
      reuse: whether to reuse the variables.
    """

    def __init__(self, num_units, num_proj, layer_norm, norm_gain, norm_shift, reuse):
        super().__init__(num_units, num_proj, reuse)
        self._layer_norm = layer_norm
        self._gain, self._shift = norm_gain, norm_shift

    def _norm(self, values, name):
        """Normalizes [batch, units] over the units; creates `<name>/gamma` and `<name>/beta`."""
        if not self._layer_norm:
            return values
        units = tf.compat.dimension_value(values.shape[-1])
        with tf.variable_scope(name):
            gamma = tf.get_variable(
                "gamma", [units], values.dtype, tf.constant_initializer(self._gain)
            )
            beta = tf.get_variable(
                "beta", [units], values.dtype, tf.constant_initializer(self._shift)
            )
        mean, variance = tf.nn.moments(values, [1], keep_dims=True)
        return tf.nn.batch_normalization(values, mean, variance, beta, gamma, 1e-12)


class LayerNormBasicLSTMCell(_NormalizedCell):
    """An LSTM with layer normalization and recurrent dropout.

    Sources: Ba et al. (2016) and Semeniuta et al. (2016). Variables: `kernel`; with layer
    normalization `{input,transform,forget,output,state}/{gamma,beta}`, else `bias`.

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate's bias.
      input_size: ignored.
      activation: activation function of the cell.
      layer_norm: whether to normalize.
      norm_gain: initial value of `gamma`.
      norm_shift: initial value of `beta`.
      dropout_keep_prob: probability to keep an element of the new candidate.
      dropout_prob_seed: seed of the dropout.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        input_size=None,
        activation=tf.tanh,
        layer_norm=True,
        norm_gain=1.0,
        norm_shift=0.0,
        dropout_keep_prob=1.0,
        dropout_prob_seed=None,
        reuse=None,
    ):
        super().__init__(num_units, None, layer_norm, norm_gain, norm_shift, reuse)
        if input_size is not None:
            tf.logging.warning("%s: The input_size parameter is deprecated.", self)
        self._forget_bias = forget_bias
        self._activation = activation
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size].
          state: (c, h), each a floating tensor [batch, num_units].
        """
        c, h = state
        args = tf.concat([inputs, h], 1)
        size = tf.compat.dimension_value(args.shape[-1])
        gates = tf.matmul(args, tf.get_variable("kernel", [size, 4 * self._num_units], args.dtype))
        if not self._layer_norm:
            gates = tf.nn.bias_add(
                gates, tf.get_variable("bias", [4 * self._num_units], args.dtype)
            )
        i, j, f, o = tf.split(gates, 4, axis=1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, keep_prob=self._keep_prob, seed=self._seed)
        c = self._norm(c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g, "state")
        h = self._activation(c) * tf.sigmoid(o)
        return h, _State(c, h)


class LayerNormLSTMCell(_NormalizedCell):
    """LSTMCell with layer normalization (Ba et al., 2016).

    The state is (c [batch, num_units], h [batch, num_proj or num_units]); the output is h.
    Variables: `kernel`, `bias`, the peepholes `w_{f,i,o}_diag` and `projection/kernel`. With layer
    normalization also `{input,transform,forget,output,state}/{gamma,beta}`; `bias` is then not
    used.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on the cell state.
      cell_clip: number to which the cell state is clipped, or None.
      initializer: initializer of the kernels and peepholes.
      num_proj: int, size to which the outputs are projected; None for no projection.
      proj_clip: number to which the projected outputs are clipped, or None.
      forget_bias: number added to the forget gate's bias.
      activation: activation function of the cell; None for tanh.
      layer_norm: whether to normalize.
      norm_gain: initial value of `gamma`.
      norm_shift: initial value of `beta`.
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
        forget_bias=1.0,
        activation=None,
        layer_norm=False,
        norm_gain=1.0,
        norm_shift=0.0,
        reuse=None,
    ):
        super().__init__(num_units, num_proj, layer_norm, norm_gain, norm_shift, reuse)
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer = initializer
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or tf.tanh

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size].
          state: (c [batch, num_units], h [batch, output size]), floating tensors.
        """
        c, h = state
        units, dtype = self._num_units, inputs.dtype
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            total = linear([inputs, h], 4 * units, not self._layer_norm)
            if self._layer_norm:
                # It exists in the checkpoints of 1.x, and is not used.
                tf.get_variable("bias", [4 * units], dtype, tf.zeros_initializer())
            i, j, f, o = tf.split(total, 4, axis=1)
            i, j = self._norm(i, "input"), self._norm(j, "transform")
            f, o = self._norm(f, "forget"), self._norm(o, "output")
            if self._use_peepholes:
                w_f, w_i, w_o = (
                    tf.get_variable(f"w_{gate}_diag", [units], dtype) for gate in "fio"
                )
                f, i = f + w_f * c, i + w_i * c
            c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * self._activation(j)
            c = clip(self._norm(c, "state"), self._cell_clip)
            if self._use_peepholes:
                o = o + w_o * c
            h = tf.sigmoid(o) * self._activation(c)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    h = clip(linear(h, self._num_proj, False), self._proj_clip)
        return h, _State(c, h)


class CoupledInputForgetGateLSTMCell(_NormalizedCell):
    """An LSTM whose input gate is one minus its forget gate (Greff et al., 2015).

    Variables: `W_0` [inputs + outputs, 3 units], `B` [3 units], the peepholes `W_{F,O}_diag`, and
    `W_P_0` [units, num_proj]. With layer normalization also
    `{transform,forget,output,state}/{gamma,beta}`; `B` is then not used.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on the cell state.
      initializer: ignored, as in 1.x; the variables have the initializer of the enclosing scope.
      num_proj: int, size to which the outputs are projected; None for no projection.
      proj_clip: number to which the projected outputs are clipped, or None.
      num_unit_shards: int, number of variables that `W` consists of.
      num_proj_shards: int, number of variables that `W_P` consists of.
      forget_bias: number added to the forget gate's bias.
      state_is_tuple: whether the state is a pair; else one tensor [batch, units + outputs].
      activation: activation function of the cell.
      reuse: whether to reuse the variables.
      layer_norm: whether to normalize.
      norm_gain: initial value of `gamma`.
      norm_shift: initial value of `beta`.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=1,
        num_proj_shards=1,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=tf.tanh,
        reuse=None,
        layer_norm=False,
        norm_gain=1.0,
        norm_shift=0.0,
    ):
        super().__init__(num_units, num_proj, layer_norm, norm_gain, norm_shift, reuse)
        del initializer  # 1.x accepted and ignored it.
        if not state_is_tuple:
            tf.logging.warn("%s: a state in one tensor is slower; use state_is_tuple=True", self)
        self._use_peepholes = use_peepholes
        self._proj_clip = proj_clip
        self._unit_shards, self._proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation

    @property
    def state_size(self):
        size = super().state_size
        return size if self._state_is_tuple else sum(size)

    def call(self, inputs, state):
        """Computes one step; returns (outputs, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: (c, h), [batch, num_units] and [batch, output size], or both in one tensor.
        """
        units = self._num_units
        c, h = state if self._state_is_tuple else tf.split(state, [units, self.output_size], 1)
        args = tf.concat([inputs, h], 1)
        size = tf.compat.dimension_value(args.shape[-1])
        kernel = sharded("W", [size, 3 * units], args.dtype, self._unit_shards)
        bias = tf.get_variable("B", [3 * units], args.dtype, tf.zeros_initializer())
        gates = tf.matmul(args, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(gates, bias)
        j, f, o = tf.split(gates, 3, axis=1)
        j, f, o = self._norm(j, "transform"), self._norm(f, "forget"), self._norm(o, "output")
        if self._use_peepholes:
            f = f + tf.get_variable("W_F_diag", [units], args.dtype) * c
            w_o = tf.get_variable("W_O_diag", [units], args.dtype)
        forget = tf.sigmoid(f + self._forget_bias)
        c = self._norm(forget * c + (1 - forget) * self._activation(j), "state")
        if self._use_peepholes:
            o = o + w_o * c
        h = tf.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            shape = [units, self._num_proj]
            h = tf.matmul(h, sharded("W_P", shape, args.dtype, self._proj_shards))
            h = clip(h, self._proj_clip)
        return h, _State(c, h) if self._state_is_tuple else tf.concat([c, h], 1)
