"""Cells of `tf.contrib.rnn` that wrap another cell."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import op_def_registry
from estimator_bridge.tf1.contrib.rnn.linear import linear

__all__ = [
    "CompiledWrapper",
    "EmbeddingWrapper",
    "HighwayWrapper",
    "InputProjectionWrapper",
    "OutputProjectionWrapper",
]


class _Wrapper(tf.nn.rnn_cell.RNNCell):
    """Base of cells that wrap another cell."""

    def __init__(self, cell, reuse=None):
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)


def _projected(values, size, activation):
    outputs = linear(values, size, True)
    return activation(outputs) if activation else outputs


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs are projected first. Variables: `kernel` [inputs, num_proj], `bias`.

    Args:
      cell: an RNNCell.
      num_proj: int, size of the projected inputs.
      activation: function applied to the projection, or None.
      input_size: ignored.
      reuse: whether to reuse the variables.
    """

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(cell, reuse)
        self._num_proj, self._projection_activation = num_proj, activation

    def call(self, inputs, state):
        """Runs the cell on the projected inputs.

        Args:
          inputs: floating tensor [batch, size].
          state: state of the cell.
        """
        return self._cell(_projected(inputs, self._num_proj, self._projection_activation), state)


class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs are projected. Variables: `kernel` [outputs, output_size], `bias`.

    Args:
      cell: an RNNCell.
      output_size: int, size of the projected outputs.
      activation: function applied to the projection, or None.
      reuse: whether to reuse the variables.

    Raises:
      ValueError: `output_size` is not positive.
    """

    def __init__(self, cell, output_size, activation=None, reuse=None):
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"output_size: {output_size} is not positive")
        self._projected, self._projection_activation = output_size, activation

    @property
    def output_size(self):
        return self._projected

    def call(self, inputs, state):
        """Runs the cell and projects its outputs.

        Args:
          inputs: floating tensor [batch, size].
          state: state of the cell.
        """
        outputs, state = self._cell(inputs, state)
        return _projected(outputs, self._projected, self._projection_activation), state


class EmbeddingWrapper(_Wrapper):
    """A cell whose inputs are ids, looked up in a table. Variable: `embedding`.

    Inputs are integers [batch] or [batch, 1].

    Args:
      cell: an RNNCell.
      embedding_classes: int, number of ids.
      embedding_size: int, size of an embedding.
      initializer: initializer of the table; None for the scope's, or uniform in +-sqrt(3).
      reuse: whether to reuse the variables.

    Raises:
      ValueError: a size is not positive.
    """

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"embedding_classes and embedding_size: {embedding_classes} and "
                f"{embedding_size} must be positive"
            )
        self._table_shape, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs, state):
        """Runs the cell on the embeddings of ids.

        Args:
          inputs: integer tensor [batch] or [batch, 1].
          state: state of the cell.
        """
        bound = math.sqrt(3)
        initializer = (
            self._initializer
            or tf.get_variable_scope().initializer
            or tf.random_uniform_initializer(-bound, bound)
        )
        table = tf.get_variable("embedding", self._table_shape, tf.float32, initializer)
        return self._cell(tf.nn.embedding_lookup(table, tf.reshape(inputs, [-1])), state)


class CompiledWrapper(_Wrapper):
    """A cell whose operations XLA compiles. It has no scope of its own.

    Args:
      cell: an RNNCell.
      compile_stateful: whether operations with a state, such as random numbers, are compiled too.
    """

    def __init__(self, cell, compile_stateful=False):
        super().__init__(cell)
        self._compiles_stateful = compile_stateful

    def __call__(self, inputs, state, scope=None):
        def is_compiled(node):
            return self._compiles_stateful or not op_def_registry.get(node.op).is_stateful

        with tf.xla.experimental.jit_scope(compile_ops=is_compiled):
            return self._cell(inputs, state, scope=scope)


class HighwayWrapper(_Wrapper):
    """A cell whose outputs are mixed with its inputs by a gate (Srivastava et al., 2015).

    Variables: `carry_w` and `carry_b`, and without coupling `transform_w` and `transform_b`. They
    are created in the caller's scope, as the inner cell's are: the wrapper has no scope.

    Args:
      cell: an RNNCell.
      couple_carry_transform_gates: whether the carry gate is one minus the transform gate.
      carry_bias_init: initial bias of the carry gate; the transform gate's is its negative.
    """

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
        super().__init__(cell)
        self._coupled = couple_carry_transform_gates
        self._carry_bias = carry_bias_init

    def __call__(self, inputs, state, scope=None):
        outputs, state = self._cell(inputs, state, scope=scope)
        size = tf.compat.dimension_value(inputs.shape[-1])

        def gate(name, bias_start):
            weight = tf.get_variable(f"{name}_w", [size, size], inputs.dtype)
            bias = tf.get_variable(
                f"{name}_b", [size], inputs.dtype, tf.constant_initializer(bias_start)
            )
            return tf.sigmoid(tf.nn.xw_plus_b(inputs, weight, bias))

        carry = gate("carry", self._carry_bias)
        transform = 1 - carry if self._coupled else gate("transform", -self._carry_bias)
        return inputs * carry + outputs * transform, state
