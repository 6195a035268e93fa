"""Beam search of `tf.contrib.seq2seq`.

Each sequence of the batch keeps the `beam_width` beams with the highest sums of log probabilities.
States and inputs of the cell contain the beams in the batch axis, [batch * beam_width, ...],
ordered by sequence. A finished beam continues with end_token at no cost.
"""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge import contrib_operations
from estimator_bridge.private_tf import nest
from estimator_bridge.tf1.contrib.seq2seq import decoder as _decoder
from estimator_bridge.tf1.contrib.seq2seq.attending_cell import AttentionWrapperState

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "gather_tree",
    "tile_batch",
]

# log_probs float, finished bool and lengths int64, all [batch, beams].
BeamSearchDecoderState = collections.namedtuple(
    "BeamSearchDecoderState",
    ["cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"],
)
# Per step, [batch, beams]: scores, tokens, and the previous beam of each token.
BeamSearchDecoderOutput = collections.namedtuple(
    "BeamSearchDecoderOutput", ["scores", "predicted_ids", "parent_ids"]
)
# predicted_ids [batch, length, beams], the best beam first, padded with end_token.
FinalBeamSearchDecoderOutput = collections.namedtuple(
    "FinalBeamSearchDecoderOutput", ["predicted_ids", "beam_search_decoder_output"]
)


def tile_batch(t, multiplier, name=None):
    """Repeats each row of the tensors in a structure.

    Args:
      t: structure of tensors [batch, ...].
      multiplier: int, number of copies of each row.
      name: name of the name scope.

    Returns:
      Structure of tensors [batch * multiplier, ...].

    Raises:
      ValueError: the rank of a tensor is unknown.
    """

    def tile(value):
        value = tf.convert_to_tensor(value)
        if value.shape.ndims is None:
            raise ValueError("t: the rank of the tensors must be known")
        shape = tf.shape(value)
        tiled = tf.tile(tf.expand_dims(value, 1), [1, multiplier] + [1] * (value.shape.ndims - 1))
        tiled = tf.reshape(tiled, tf.concat([[shape[0] * multiplier], shape[1:]], 0))
        batch = tf.compat.dimension_value(value.shape[0])
        first = None if batch is None else batch * multiplier
        tiled.set_shape(tf.TensorShape([first]).concatenate(value.shape[1:]))
        return tiled

    with tf.name_scope(name, "tile_batch"):
        return nest.map_structure(tile, t)


def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):
    """Follows the beams back from their ends.

    Args:
      step_ids: int32 tensor [length, batch, beams], the token of each step.
      parent_ids: int32 tensor [length, batch, beams], the previous beam of each step.
      max_sequence_lengths: int32 tensor [batch].
      end_token: scalar int32 tensor; fills the steps after a beam's end.
      name: name of the name scope.

    Returns:
      int32 tensor [length, batch, beams], the tokens of each beam.
    """
    with tf.name_scope(name, "gather_tree"):
        step_ids, parent_ids = tf.convert_to_tensor(step_ids), tf.convert_to_tensor(parent_ids)
        result = contrib_operations.gather_tree(
            step_ids,
            parent_ids,
            tf.to_int32(max_sequence_lengths),
            tf.cast(end_token, step_ids.dtype),
        )
        result.set_shape(step_ids.shape)
        return result


class BeamSearchDecoder(_decoder.Decoder):
    """A decoder with beam search, for dynamic_decode.

    Args:
      cell: RNNCell; with attention, its memory must come from tile_batch.
      embedding: function of ids, or the params of tf.nn.embedding_lookup.
      start_tokens: int32 tensor [batch].
      end_token: scalar int32 tensor.
      initial_state: state of the cell, from tile_batch with `beam_width`.
      beam_width: int, number of beams per sequence.
      output_layer: layer with one unit per token; None if the cell's output has that size.
      length_penalty_weight: exponent of the penalty ((5 + length) / 6) ** weight; 0 disables it.
      coverage_penalty_weight: weight of the sum of log(attention so far, at most 1) over the memory
        in the scores of finished beams; 0 disables it.
      reorder_tensor_arrays: ignored; TensorArrays in the state keep the order of time.

    Raises:
      ValueError: start_tokens is not a vector, end_token is not a scalar, or a coverage penalty is
        requested of a cell without attention.
    """

    def __init__(
        self,
        cell,
        embedding,
        start_tokens,
        end_token,
        initial_state,
        beam_width,
        output_layer=None,
        length_penalty_weight=0.0,
        coverage_penalty_weight=0.0,
        reorder_tensor_arrays=True,
    ):
        del reorder_tensor_arrays  # Recorded alignments keep the order of time.
        self._cell, self._output_layer = cell, output_layer
        self._embed = embedding
        if not callable(embedding):
            self._embed = lambda ids: tf.nn.embedding_lookup(embedding, ids)
        start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens: expected a vector")
        if end_token.shape.ndims != 0:
            raise ValueError("end_token: expected a scalar")
        self._end_token = end_token
        self._batch_size = tf.size(start_tokens)
        self._static_batch = tf.compat.dimension_value(start_tokens.shape[0])
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._initial_state = nest.map_structure(self._split, initial_state)
        self._start = tf.tile(tf.expand_dims(start_tokens, 1), [1, beam_width])

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def tracks_own_finished(self):
        # Reordering the beams reorders `finished` too.
        return True

    @property
    def output_size(self):
        shape = tf.TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(shape, shape, shape)

    @property
    def output_dtype(self):
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BeamSearchDecoderOutput(dtype, tf.int32, tf.int32)

    def _has_beams(self, value):
        return not isinstance(value, tf.TensorArray) and value.shape.ndims != 0

    def _split(self, value):
        """Reshapes [batch * beams, ...] to [batch, beams, ...], except scalars and arrays."""
        if not self._has_beams(value):
            return value
        shape = tf.shape(value)
        split = tf.reshape(value, tf.concat([[self._batch_size, self._beam_width], shape[1:]], 0))
        split.set_shape(
            tf.TensorShape([self._static_batch, self._beam_width]).concatenate(value.shape[1:])
        )
        return split

    def _merge(self, value):
        """Reshapes [batch, beams, ...] to [batch * beams, ...]."""
        if not self._has_beams(value):
            return value
        shape = tf.shape(value)
        merged = tf.reshape(value, tf.concat([[self._batch_size * self._beam_width], shape[2:]], 0))
        rows = None if self._static_batch is None else self._static_batch * self._beam_width
        merged.set_shape(tf.TensorShape([rows]).concatenate(value.shape[2:]))
        return merged

    def initialize(self, name=None):
        """Returns (finished [batch, beams], first inputs [batch, beams, ...], first state).

        Args:
          name: not used.
        """
        dtype = nest.flatten(self._initial_state)[0].dtype
        rows = [self._batch_size, self._beam_width]
        # All beams start equal. Only the first one gets a probability above 0; otherwise all beams
        # would stay equal. The others count as finished, so that their length stays 0 until then.
        first = tf.zeros([self._batch_size], tf.int32)
        finished = tf.one_hot(
            first, self._beam_width, on_value=False, off_value=True, dtype=tf.bool
        )
        log_probs = tf.one_hot(
            first,
            self._beam_width,
            on_value=tf.constant(0.0, dtype),
            off_value=tf.constant(float("-inf"), dtype),
            dtype=dtype,
        )
        attention = self._attention(self._initial_state)
        state = BeamSearchDecoderState(
            cell_state=self._initial_state,
            log_probs=log_probs,
            finished=finished,
            lengths=tf.zeros(rows, tf.int64),
            accumulated_attention_probs=() if attention is None else tf.zeros_like(attention),
        )
        return finished, self._embed(self._start), state

    def step(self, time, inputs, state, name=None):
        """Runs one step; returns (outputs, next state, next inputs, finished [batch, beams]).

        Args:
          time: not used.
          inputs: floating tensor [batch, beams, size], the embedded tokens.
          state: BeamSearchDecoderState before the step.
          name: name of the name scope.
        """
        with tf.name_scope(name, "BeamSearchDecoderStep"):
            merged = nest.map_structure(self._merge, state.cell_state)
            outputs, cell_state = self._cell(self._merge(inputs), merged)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            cell_state = nest.map_structure(self._split, cell_state)
            output, state = self._best(self._split(outputs), cell_state, state)
            done = state.finished
            inputs = tf.cond(
                tf.reduce_all(done),
                lambda: self._embed(self._start),
                lambda: self._embed(output.predicted_ids),
            )
        return output, state, inputs, done

    def _best(self, logits, cell_state, state):
        """Selects the best beam_width continuations of logits [batch, beams, tokens]."""
        tokens = tf.compat.dimension_value(logits.shape[-1]) or tf.shape(logits)[-1]
        steps = tf.nn.log_softmax(logits)
        ending = tf.one_hot(
            self._end_token,
            tokens,
            on_value=tf.constant(0.0, steps.dtype),
            off_value=steps.dtype.min,
            dtype=steps.dtype,
        )
        finished = tf.expand_dims(tf.cast(state.finished, steps.dtype), 2)
        steps = (1 - finished) * steps + finished * ending
        totals = tf.expand_dims(state.log_probs, 2) + steps
        # The length in the penalty does not include end_token.
        grows = tf.one_hot(self._end_token, tokens, on_value=0, off_value=1, dtype=tf.int64)
        alive = tf.to_int64(tf.logical_not(state.finished))
        lengths = tf.expand_dims(state.lengths, 2) + tf.expand_dims(alive, 2) * grows
        scores = totals / self._penalty(lengths, totals.dtype)
        attended = self._attention(cell_state)
        if attended is not None:
            attended = state.accumulated_attention_probs + attended * (1 - finished)
            # What lies behind the end of the memory does not count.
            seen = tf.where(tf.equal(attended, 0), tf.ones_like(attended), attended)
            covered = tf.reduce_sum(tf.log(tf.minimum(seen, 1.0)), 2, keepdims=True)
            scores += self._coverage_penalty_weight * covered * finished

        flat = tf.reshape(scores, [self._batch_size, self._beam_width * tokens])
        best, places = tf.nn.top_k(flat, k=self._beam_width)
        best.set_shape([self._static_batch, self._beam_width])
        places.set_shape([self._static_batch, self._beam_width])
        ids = places % tokens
        parents = places // tokens
        was_finished = tf.batch_gather(state.finished, parents)
        now_finished = tf.logical_or(was_finished, tf.equal(ids, self._end_token))
        # The length in the state includes end_token.
        lengths = tf.batch_gather(state.lengths, parents)
        lengths += tf.to_int64(tf.logical_not(was_finished))
        flat_totals = tf.reshape(totals, [self._batch_size, self._beam_width * tokens])

        def follow(value):
            return tf.batch_gather(value, parents) if self._has_beams(value) else value

        cell_state = nest.map_structure(follow, cell_state)
        next_state = BeamSearchDecoderState(
            cell_state=cell_state,
            log_probs=tf.batch_gather(flat_totals, places),
            finished=now_finished,
            lengths=lengths,
            accumulated_attention_probs=()
            if attended is None
            else tf.batch_gather(attended, parents),
        )
        return BeamSearchDecoderOutput(best, ids, parents), next_state

    def _attention(self, cell_state):
        """Returns alignments [batch, beams, memory]; None without a coverage penalty."""
        if not self._coverage_penalty_weight:
            return None
        states = [cell_state]
        if isinstance(cell_state, tuple) and not isinstance(cell_state, AttentionWrapperState):
            states = cell_state
        means = [
            tf.reduce_mean(tf.stack(nest.flatten(one.alignments)), 0)
            for one in states
            if isinstance(one, AttentionWrapperState)
        ]
        if not means:
            raise ValueError("coverage_penalty_weight must be 0 if no cell has attention")
        return tf.reduce_mean(tf.stack(means), 0)

    def _penalty(self, lengths, dtype):
        if (
            isinstance(self._length_penalty_weight, (int, float))
            and not self._length_penalty_weight
        ):
            return tf.constant(1.0, dtype)
        weight = tf.cast(self._length_penalty_weight, dtype)
        return ((5.0 + tf.cast(lengths, dtype)) / 6.0) ** weight

    def finalize(self, outputs, final_state, sequence_lengths):
        """Returns the beams, read back from their ends, and the final state.

        Args:
          outputs: BeamSearchDecoderOutput of all steps, tensors [length, batch, beams].
          final_state: BeamSearchDecoderState after the last step.
          sequence_lengths: not used.
        """
        del sequence_lengths  # These lengths are not reordered with the beams.
        longest = tf.to_int32(tf.reduce_max(final_state.lengths, axis=1))
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state
