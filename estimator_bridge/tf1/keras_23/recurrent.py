"""The base class of recurrent layers that a program of Keras 2.0 to 2.3 writes itself."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1 import private_keras

__all__ = ["Recurrent", "_time_distributed_dense"]

_backend = tf.keras.backend
_generic_utils = private_keras.load_source("utils.generic_utils")
InputSpec = tf.keras.layers.InputSpec


class Recurrent(tf.keras.layers.Layer):
    """A layer that calls the method `step` for each step of a sequence.

    A subclass has `units`, and sets `states` in `build` to a list with as many elements as there
    are states, each None.

    Args:
      return_sequences: bool, whether the output has all steps.
      return_state: bool, whether the last states follow the output.
      go_backwards: bool, whether the last step comes first.
      stateful: bool, whether a batch begins with the last states of the batch before.
      unroll: bool, whether the graph contains each step.
      implementation: int, which of the implementations of Keras's own layers.
      **kwargs: of every layer; `input_dim` and `input_length` of Keras 1 are accepted.
    """

    def __init__(  # noqa: PLR0913
        self,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        implementation=0,
        **kwargs,
    ):
        self.input_length = kwargs.pop("input_length", None)
        depth = kwargs.pop("input_dim", None)
        if depth and not {"input_shape", "batch_input_shape"} & set(kwargs):
            kwargs["input_shape"] = (self.input_length, depth)
        super().__init__(**kwargs)
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.implementation = implementation
        self.supports_masking = True
        self.input_spec = [InputSpec(ndim=3)]
        self.state_spec = None
        self.dropout = self.recurrent_dropout = 0

    def step(self, inputs, states):
        """Returns the output of a step, and the list of new states; a subclass has it.

        Args:
          inputs: float [batch, depth].
          states: list of states, and then of constants.

        Raises:
          NotImplementedError: the subclass lacks it.
        """
        raise NotImplementedError

    def get_constants(self, inputs, training=None):
        """Returns a list of tensors that `step` gets after the states.

        Args:
          inputs: float [batch, steps, depth].
          training: bool, tensor, or None.
        """
        return []

    def get_initial_state(self, inputs):
        """Returns the first states: zeros, float [batch, units] each.

        Args:
          inputs: float [batch, steps, depth].
        """
        zeros = tf.reduce_sum(tf.zeros_like(inputs), axis=(1, 2))
        return [tf.tile(zeros[:, None], [1, self.units])] * len(self.states)

    def preprocess_input(self, inputs, training=None):
        """Returns what `step` gets the steps of.

        Args:
          inputs: float [batch, steps, depth].
          training: bool, tensor, or None.
        """
        return inputs

    def compute_output_shape(self, input_shape):
        """Returns the shape of the output, or a list with those of the states.

        Args:
          input_shape: [batch, steps, depth], or a list that begins with it.
        """
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        batch, steps = input_shape[0], input_shape[1]
        of_step = tf.TensorShape([batch, self.units])
        shape = tf.TensorShape([batch, steps, self.units]) if self.return_sequences else of_step
        return [shape, *[of_step] * len(self.states)] if self.return_state else shape

    def compute_mask(self, inputs, mask=None):
        """Returns the mask of the output.

        Args:
          inputs: as those of `call`.
          mask: bool [batch, steps], or a list that begins with it.
        """
        mask = mask[0] if isinstance(mask, list) else mask
        output = mask if self.return_sequences else None
        return [output, *[None] * len(self.states)] if self.return_state else output

    def __call__(self, inputs, initial_state=None, **kwargs):
        """Returns the output.

        Args:
          inputs: float [batch, steps, depth], or a list with that and the first states.
          initial_state: the first states, a tensor or a list; None for zeros.
          **kwargs: of `call`.
        """
        if isinstance(inputs, (list, tuple)) and len(inputs) > 1 and initial_state is None:
            inputs, initial_state = inputs[0], list(inputs[1:])
        if initial_state is None:
            return super().__call__(inputs, **kwargs)
        states = _generic_utils.to_list(initial_state)
        spec = _generic_utils.to_list(self.input_spec)
        shapes = [InputSpec(shape=_backend.int_shape(state)) for state in states]
        self.input_spec = [spec[0], *shapes]
        outputs = super().__call__([inputs, *states], **kwargs)
        self.input_spec = spec
        return outputs

    def call(self, inputs, mask=None, training=None, initial_state=None):
        """Returns the output, float [batch, units] or [batch, steps, units].

        Args:
          inputs: float [batch, steps, depth], or a list with that and the first states.
          mask: bool [batch, steps], or a list that begins with it.
          training: bool, tensor, or None.
          initial_state: list of the first states, or None.
        """
        if isinstance(inputs, (list, tuple)):
            inputs, *initial_state = inputs
        if not initial_state:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        mask = mask[0] if isinstance(mask, list) else mask
        last, outputs, states = _backend.rnn(
            self.step,
            self.preprocess_input(inputs, training=None),
            initial_state,
            go_backwards=self.go_backwards,
            mask=mask,
            constants=self.get_constants(inputs, training=None),
            unroll=self.unroll,
            input_length=_backend.int_shape(inputs)[1],
        )
        if self.stateful:
            self.add_update([tf.assign(old, new) for old, new in zip(self.states, states)])
        output = outputs if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def reset_states(self, states=None):
        """Sets the states of a stateful layer.

        Args:
          states: an array [batch, units], or a list with one for each state; None for zeros.

        Raises:
          AttributeError: the layer is not stateful.
          ValueError: the batch size is not known, or a state has another shape.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        batch = _generic_utils.to_list(self.input_spec)[0].shape[0]
        if not batch:
            raise ValueError(
                f"layer {self.name}: a stateful layer must know its batch size; pass it in "
                "`batch_input_shape` of the first layer, or in `batch_shape` of Input"
            )
        if self.states[0] is None:
            self.states = [_backend.zeros((batch, self.units)) for _ in self.states]
        if states is None:
            values = [np.zeros((batch, self.units))] * len(self.states)
        else:
            values = _generic_utils.to_list(states)
        if len(values) != len(self.states):
            raise ValueError(
                f"layer {self.name} has {len(self.states)} states, but {len(values)} were given"
            )
        for number, value in enumerate(values):
            if value.shape != (batch, self.units):
                raise ValueError(
                    f"layer {self.name}: state {number} has shape {value.shape} instead of "
                    f"{(batch, self.units)}"
                )
        _backend.batch_set_value(list(zip(self.states, values)))

    def get_config(self):
        """Returns the arguments of the layer."""
        return {
            **super().get_config(),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "unroll": self.unroll,
            "implementation": self.implementation,
        }


def _time_distributed_dense(  # noqa: PLR0913
    x,
    w,
    b=None,
    dropout=None,
    input_dim=None,
    output_dim=None,
    timesteps=None,
    training=None,
):
    """Returns `x w + b` for each step.

    Args:
      x: float [batch, timesteps, input_dim].
      w: float [input_dim, output_dim].
      b: float [output_dim], or None.
      dropout: float, the share of the inputs that is dropped in training, alike in all steps.
      input_dim: int; None for that of `x`.
      output_dim: int; None for that of `w`.
      timesteps: int; None for that of `x`.
      training: bool, tensor, or None.
    """
    input_dim = input_dim or _backend.int_shape(x)[2]
    timesteps = timesteps or _backend.int_shape(x)[1]
    output_dim = output_dim or _backend.int_shape(w)[1]
    if dropout is not None and 0 < dropout < 1:
        kept = _backend.dropout(tf.ones_like(x[:, :1]), dropout)
        x = _backend.in_train_phase(x * kept, x, training=training)
    y = tf.matmul(tf.reshape(x, [-1, input_dim]), w)
    y = y if b is None else tf.nn.bias_add(y, b)
    return tf.reshape(y, [-1, timesteps or tf.shape(x)[1], output_dim])
