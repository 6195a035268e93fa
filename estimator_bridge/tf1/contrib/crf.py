"""`tf.contrib.crf`: linear-chain conditional random fields.

The source is Lafferty, McCallum and Pereira (2001).
"""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())


def _lengths(sequence_lengths):
    # Lengths below zero count as zero.
    return tf.maximum(tf.constant(0, tf.int32), tf.cast(sequence_lengths, tf.int32))


def _mask(sequence_lengths, length, dtype):
    return tf.sequence_mask(_lengths(sequence_lengths), maxlen=length, dtype=dtype)


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    """Returns the sum of the unary scores of tag sequences.

    Args:
      tag_indices: integer tensor [batch, length].
      sequence_lengths: integer tensor [batch].
      inputs: float32 tensor [batch, length, tags], the unary scores.

    Returns:
      float32 tensor [batch].
    """
    # A reference variable has a type of its own.
    inputs = tf.convert_to_tensor(inputs)
    picked = tf.reduce_sum(
        inputs * tf.one_hot(tag_indices, tf.shape(inputs)[2], dtype=inputs.dtype), axis=2
    )
    return tf.reduce_sum(
        picked * _mask(sequence_lengths, tf.shape(inputs)[1], inputs.dtype), axis=1
    )


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """Returns the sum of the transition scores of tag sequences.

    Args:
      tag_indices: integer tensor [batch, length].
      sequence_lengths: integer tensor [batch].
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.

    Returns:
      float32 tensor [batch].
    """
    tag_indices = tf.cast(tag_indices, tf.int32)
    pairs = tf.stack([tag_indices[:, :-1], tag_indices[:, 1:]], axis=-1)
    scores = tf.gather_nd(tf.convert_to_tensor(transition_params), pairs)
    # A sequence of n tags has n - 1 transitions.
    mask = _mask(_lengths(sequence_lengths) - 1, tf.shape(scores)[1], scores.dtype)
    return tf.reduce_sum(scores * mask, axis=1)


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    """Returns the unnormalized score of tag sequences; zero for empty sequences.

    Args:
      inputs: float32 tensor [batch, length, tags], the unary scores.
      tag_indices: integer tensor [batch, length].
      sequence_lengths: integer tensor [batch].
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.

    Returns:
      float32 tensor [batch].
    """
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
        tag_indices, sequence_lengths, transition_params
    )


def crf_multitag_sequence_score(inputs, tag_bitmap, sequence_lengths, transition_params):
    """Returns the log of the summed scores of all sequences allowed by a bitmap.

    Args:
      inputs: float32 tensor [batch, length, tags], the unary scores.
      tag_bitmap: bool tensor [batch, length, tags].
      sequence_lengths: integer tensor [batch].
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.

    Returns:
      float32 tensor [batch].
    """
    inputs = tf.convert_to_tensor(inputs)
    allowed = tf.where(
        tag_bitmap, inputs, tf.fill(tf.shape(inputs), inputs.dtype.as_numpy_dtype(-np.inf))
    )
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def _time_major(inputs):
    return tf.transpose(inputs, [1, 0, 2])


def crf_log_norm(inputs, sequence_lengths, transition_params):
    """Returns the log of the summed scores of all tag sequences; zero for empty sequences.

    Args:
      inputs: float32 tensor [batch, length, tags], the unary scores.
      sequence_lengths: integer tensor [batch].
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.

    Returns:
      float32 tensor [batch].
    """
    lengths = _lengths(sequence_lengths)
    transition_params = tf.convert_to_tensor(transition_params)
    steps = _time_major(inputs)
    count = tf.shape(steps)[0]

    def forward(time, alphas):
        scores = tf.expand_dims(alphas, 2) + tf.expand_dims(transition_params, 0)
        new = steps[time] + tf.reduce_logsumexp(scores, axis=1)
        return time + 1, tf.where(time < lengths, new, alphas)

    _, alphas = tf.while_loop(
        lambda time, _: time < count, forward, [tf.constant(1), steps[0]], name="crf_forward"
    )
    norm = tf.reduce_logsumexp(alphas, axis=1)
    return tf.where(lengths > 0, norm, tf.zeros_like(norm))


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    """Returns the log-likelihood of tag sequences.

    Creates the variable `transitions` [tags, tags] without `transition_params`.

    Args:
      inputs: float32 tensor [batch, length, tags], the unary scores.
      tag_indices: integer tensor [batch, length].
      sequence_lengths: integer tensor [batch].
      transition_params: float32 tensor [tags, tags], or None.

    Returns:
      float32 tensor [batch], and the transitions.
    """
    num_tags = tf.compat.dimension_value(inputs.shape[2])
    if transition_params is None:
        transition_params = tf.get_variable("transitions", [num_tags, num_tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    norm = crf_log_norm(inputs, sequence_lengths, transition_params)
    return score - norm, transition_params


def crf_decode(potentials, transition_params, sequence_length):
    """Returns the best tag sequences, by the Viterbi algorithm.

    Args:
      potentials: float32 tensor [batch, length, tags], the unary scores.
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.
      sequence_length: integer tensor [batch].

    Returns:
      int32 tensor [batch, length], 0 beyond a sequence's length, and the scores, float32 [batch].
    """
    # An empty sequence is decoded as one of one step, as in 1.x.
    lengths = tf.maximum(_lengths(sequence_length), 1)
    potentials = tf.convert_to_tensor(potentials)
    transition_params = tf.convert_to_tensor(transition_params)
    steps = _time_major(potentials)
    count, batch, num_tags = tf.unstack(tf.shape(steps))
    identity = tf.tile(tf.expand_dims(tf.range(num_tags), 0), [batch, 1])

    def forward(time, scores, pointers):
        candidates = tf.expand_dims(scores, 2) + tf.expand_dims(transition_params, 0)
        alive = time < lengths
        best = tf.cast(tf.argmax(candidates, axis=1), tf.int32)
        scores = tf.where(alive, steps[time] + tf.reduce_max(candidates, axis=1), scores)
        # Beyond its end, a sequence keeps its last tag. The backtracking starts from this tag.
        return time + 1, scores, pointers.write(time, tf.where(alive, best, identity))

    pointers = tf.TensorArray(
        tf.int32, size=count, clear_after_read=False, element_shape=[None, None]
    )
    pointers = pointers.write(0, identity)
    _, scores, pointers = tf.while_loop(
        lambda time, *_: time < count, forward, [tf.constant(1), steps[0], pointers], name="viterbi"
    )
    rows = tf.range(batch)

    def backward(time, tags, path):
        path = path.write(time, tags)
        tags = tf.gather_nd(pointers.read(time), tf.stack([rows, tags], axis=1))
        return time - 1, tags, path

    last = tf.cast(tf.argmax(scores, axis=1), tf.int32)
    path = tf.TensorArray(tf.int32, size=count, element_shape=[None])
    _, _, path = tf.while_loop(
        lambda time, *_: time >= 0, backward, [count - 1, last, path], name="viterbi_path"
    )
    tags = tf.transpose(path.stack()) * _mask(lengths, count, tf.int32)
    tags.set_shape(potentials.shape[:2])
    return tags, tf.reduce_max(scores, axis=1)


def viterbi_decode(score, transition_params):
    """Returns the best tag sequence of one sentence, computed with NumPy.

    Args:
      score: array [length, tags].
      transition_params: array [tags, tags].

    Returns:
      List of tags, and the score.
    """
    best = np.array(score[0])
    pointers = []
    for unary in score[1:]:
        candidates = best[:, None] + transition_params
        pointers.append(candidates.argmax(axis=0))
        best = unary + candidates.max(axis=0)
    path = [int(best.argmax())]
    for pointer in reversed(pointers):
        path.append(int(pointer[path[-1]]))
    return path[::-1], best.max()


class CrfForwardRnnCell(tf.nn.rnn_cell.RNNCell):
    """The forward recursion as a cell, with the log of the summed scores as state [batch, tags].

    Args:
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.
    """

    def __init__(self, transition_params):
        super().__init__()
        self._transition_params = tf.expand_dims(transition_params, 0)
        self._num_tags = tf.compat.dimension_value(transition_params.shape[0])

    @property
    def state_size(self):
        return self._num_tags

    @property
    def output_size(self):
        return self._num_tags

    def __call__(self, inputs, state, scope=None):
        scores = tf.expand_dims(state, 2) + self._transition_params
        alphas = inputs + tf.reduce_logsumexp(scores, axis=1)
        return alphas, alphas


class CrfDecodeForwardRnnCell(tf.nn.rnn_cell.RNNCell):
    """A step of the Viterbi recursion (Forney, 1973), from the first position to the last.

    The state is the score of the best tags until now that end with each tag, [batch, tags]; the
    output is the tag before it in these, int32 [batch, tags].

    Args:
      transition_params: float32 tensor [tags, tags], from the tag of a row to the tag of a column.
    """

    def __init__(self, transition_params):
        super().__init__()
        self._transitions = tf.expand_dims(transition_params, 0)
        self._num_tags = tf.compat.dimension_value(self._transitions.shape[1])

    @property
    def state_size(self):
        return self._num_tags

    @property
    def output_size(self):
        return self._num_tags

    def __call__(self, inputs, state, scope=None):
        """Computes one step; returns (previous tags, new scores).

        Args:
          inputs: floating tensor [batch, tags], the unary scores of the position.
          state: floating tensor [batch, tags], the scores until now.
          scope: ignored.
        """
        paths = tf.expand_dims(state, 2) + self._transitions
        return tf.cast(tf.argmax(paths, 1), tf.int32), inputs + tf.reduce_max(paths, 1)


class CrfDecodeBackwardRnnCell(tf.nn.rnn_cell.RNNCell):
    """A step that reads the best tags from the outputs of `CrfDecodeForwardRnnCell`, backwards.

    State and output are the best tag, int32 [batch, 1].

    Args:
      num_tags: int, number of tags.
    """

    def __init__(self, num_tags):
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self):
        return 1

    @property
    def output_size(self):
        return 1

    def __call__(self, inputs, state, scope=None):
        """Computes one step; returns the tag before, twice.

        Args:
          inputs: int32 tensor [batch, tags], the previous tag of each tag.
          state: int32 tensor [batch, 1], the tag of the position.
          scope: ignored.
        """
        tags = tf.gather(inputs, tf.squeeze(state, [1]), batch_dims=1)
        previous = tf.expand_dims(tags, -1)
        return previous, previous
