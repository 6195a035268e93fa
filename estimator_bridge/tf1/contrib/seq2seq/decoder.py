"""Decoders of `tf.contrib.seq2seq` and the loop that runs them."""

import abc
import collections
import contextlib

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = ["BasicDecoder", "BasicDecoderOutput", "Decoder", "dynamic_decode"]

BasicDecoderOutput = collections.namedtuple("BasicDecoderOutput", ["rnn_output", "sample_id"])


class Decoder(abc.ABC):
    """Interface of a decoder for dynamic_decode."""

    @property
    @abc.abstractmethod
    def batch_size(self):
        """The batch size, a scalar int32 tensor."""

    @property
    @abc.abstractmethod
    def output_size(self):
        """The shapes of a step's outputs without the batch axis, a structure."""

    @property
    @abc.abstractmethod
    def output_dtype(self):
        """The dtypes of a step's outputs, a structure."""

    @abc.abstractmethod
    def initialize(self, name=None):
        """Returns the start of the decoding.

        Args:
          name: name of the name scope.

        Returns:
          (finished [batch], first inputs, first state).
        """

    @abc.abstractmethod
    def step(self, time, inputs, state, name=None):
        """Runs one step.

        Args:
          time: scalar int32 tensor, number of the step.
          inputs: inputs of the step.
          state: state before the step.
          name: name of the name scope.

        Returns:
          (outputs, next state, next inputs, finished [batch]).
        """

    def finalize(self, outputs, final_state, sequence_lengths):
        """Computes the results from the outputs of all steps.

        Args:
          outputs: structure of tensors [length, batch, ...].
          final_state: state after the last step.
          sequence_lengths: int32 tensor [batch].

        Returns:
          (outputs, final state).
        """
        raise NotImplementedError

    @property
    def tracks_own_finished(self):
        """Whether `finished` may become False again, for example when beams are reordered."""
        return False


class BasicDecoder(Decoder):
    """A decoder that consists of a cell, a helper and an optional output layer.

    Args:
      cell: an RNNCell.
      helper: Helper that samples and selects the next inputs.
      initial_state: state of the cell before the first step.
      output_layer: layer applied to the cell's outputs, or None.
    """

    def __init__(self, cell, helper, initial_state, output_layer=None):
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self):
        return self._helper.batch_size

    def _rnn_output_size(self):
        size = self._cell.output_size
        if self._output_layer is None:
            return size
        shapes = nest.map_structure(lambda s: tf.TensorShape([None]).concatenate(s), size)
        computed = self._output_layer.compute_output_shape(shapes)
        return nest.map_structure(lambda s: tf.TensorShape(s)[1:], computed)

    @property
    def output_size(self):
        return BasicDecoderOutput(self._rnn_output_size(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self):
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            nest.map_structure(lambda _: dtype, self._rnn_output_size()),
            self._helper.sample_ids_dtype,
        )

    def initialize(self, name=None):
        """Returns (finished [batch], first inputs, first state).

        Args:
          name: not used.
        """
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time, inputs, state, name=None):
        """Runs one step; returns (outputs, next state, next inputs, finished [batch]).

        Args:
          time: scalar int32 tensor, number of the step.
          inputs: structure of tensors [batch, ...], the inputs of the step.
          state: state of the cell before the step.
          name: name of the name scope.
        """
        with tf.name_scope(name, "BasicDecoderStep", [time, inputs, state]):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), state, inputs, finished


def _zero_outputs(size, dtype, batch_size):
    def zeros(shape, kind):
        return tf.zeros(tf.stack([batch_size, *tf.TensorShape(shape).as_list()]), kind)

    return nest.map_structure(zeros, nest.map_structure(lambda s: tf.TensorShape(s), size), dtype)


def dynamic_decode(
    decoder,
    output_time_major=False,
    impute_finished=False,
    maximum_iterations=None,
    parallel_iterations=32,
    swap_memory=False,
    scope=None,
    **kwargs,
):
    """Runs a decoder until all sequences are finished.

    Args:
      decoder: Decoder.
      output_time_major: whether outputs are [length, batch, ...], not [batch, length, ...].
      impute_finished: whether to zero the outputs of finished sequences and keep their states.
      maximum_iterations: scalar int32, maximum number of steps, or None.
      parallel_iterations: number of loop iterations that may run in parallel.
      swap_memory: whether to swap tensors of the loop from GPU to host memory.
      scope: name of the variable scope, or a VariableScope.
      **kwargs: ignored; only the decoders of later packages take them.

    Returns:
      The outputs, the final state, and the int32 lengths [batch].

    Raises:
      TypeError: `decoder` is not a Decoder.
      ValueError: `maximum_iterations` is not a scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"decoder: expected a Decoder, got {type(decoder).__name__}")
    with tf.variable_scope(scope, "decoder") as variable_scope:
        if variable_scope.caching_device is None:
            variable_scope.set_caching_device(lambda op: op.device)
        maximum_iterations = _scalar_limit(maximum_iterations)
        finished, inputs, state = decoder.initialize()
        zeros = _zero_outputs(decoder.output_size, decoder.output_dtype, decoder.batch_size)
        if maximum_iterations is not None:
            finished = tf.logical_or(finished, maximum_iterations <= 0)
        lengths = tf.zeros_like(finished, dtype=tf.int32)

        def body(time, arrays, state, inputs, finished, lengths):
            outputs, next_state, next_inputs, now_finished = decoder.step(time, inputs, state)
            if decoder.tracks_own_finished:
                next_finished = now_finished
            else:
                next_finished = tf.logical_or(now_finished, finished)
            if maximum_iterations is not None:
                next_finished = tf.logical_or(next_finished, time + 1 >= maximum_iterations)
            next_lengths = _next_lengths(decoder, time, lengths, finished, next_finished)
            nest.assert_same_structure(state, next_state)
            if impute_finished:
                outputs = nest.map_structure(
                    lambda value, zero: tf.where(finished, zero, value), outputs, zeros
                )
                next_state = nest.map_structure(
                    lambda new, old: _keep_finished(finished, new, old), next_state, state
                )
            arrays = nest.map_structure(lambda a, value: a.write(time, value), arrays, outputs)
            return time + 1, arrays, next_state, next_inputs, next_finished, next_lengths

        _, arrays, state, _, _, lengths = tf.while_loop(
            lambda time, a, s, i, finished, n: tf.logical_not(tf.reduce_all(finished)),
            body,
            [tf.constant(0), _output_arrays(decoder), state, inputs, finished, lengths],
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda a: a.stack(), arrays)
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(_batch_major, outputs)
    return outputs, state, lengths


def _scalar_limit(maximum_iterations):
    """Returns the limit as an int32 tensor, or None."""
    if maximum_iterations is None:
        return None
    limit = tf.convert_to_tensor(maximum_iterations, tf.int32, name="maximum_iterations")
    if limit.shape.ndims != 0:
        raise ValueError("maximum_iterations: expected a scalar")
    return limit


def _output_arrays(decoder):
    """Returns an empty TensorArray for each output of a step."""
    static_batch = tf.get_static_value(tf.convert_to_tensor(decoder.batch_size))

    def array(shape, dtype):
        shape = tf.TensorShape([static_batch]).concatenate(shape)
        return tf.TensorArray(
            dtype, size=0, dynamic_size=True, element_shape=shape, clear_after_read=False
        )

    shapes = nest.map_structure(lambda s: tf.TensorShape(s), decoder.output_size)
    return nest.map_structure(array, shapes, decoder.output_dtype)


def _next_lengths(decoder, time, lengths, finished, next_finished):
    """Returns the lengths after a step; the length of a sequence is the step at which it ended."""
    changed = tf.logical_not(finished)
    if not decoder.tracks_own_finished:
        changed = tf.logical_and(changed, next_finished)
    return tf.where(changed, tf.fill(tf.shape(lengths), time + 1), lengths)


def _batch_major(value):
    """Swaps the first two axes of [length, batch, ...]."""
    if value.shape.ndims is None:
        return tf.transpose(value, tf.concat([[1, 0], tf.range(2, tf.rank(value))], 0))
    return tf.transpose(value, [1, 0, *range(2, value.shape.ndims)])


def _keep_finished(finished, new, old):
    """Returns `old` for finished sequences, else `new`; for arrays and scalars always `new`."""
    if isinstance(old, tf.TensorArray) or new.shape.ndims == 0:
        return new
    new.set_shape(old.shape)
    return tf.where(finished, old, new)
