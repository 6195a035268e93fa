"""Attention mechanisms of `tf.contrib.seq2seq` (Bahdanau et al., 2014; Luong et al., 2015)."""

from typing import Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = [
    "AttentionMechanism",
    "BahdanauAttention",
    "BaseAttentionMechanism",
    "LuongAttention",
    "bahdanau_score",
    "bias_free_layer",
    "hardmax",
    "luong_score",
    "maybe_mask_score",
]


def hardmax(logits, name=None):
    """Returns the one-hot encoding of the largest logit.

    Args:
      logits: floating tensor [batch, depth].
      name: name of the name scope.

    Returns:
      Tensor of the shape and dtype of `logits`.
    """
    with tf.name_scope(name, "Hardmax", [logits]):
        # A reference variable has a type of its own.
        logits = tf.convert_to_tensor(logits)
        return tf.one_hot(tf.argmax(logits, -1), tf.shape(logits)[-1], dtype=logits.dtype)


def maybe_mask_score(score, memory_sequence_length, score_mask_value):
    """Replaces the scores beyond the memory's length.

    Args:
      score: floating tensor [batch, length].
      memory_sequence_length: integer tensor [batch], or None.
      score_mask_value: number that replaces the scores.

    Returns:
      Tensor [batch, length].
    """
    if memory_sequence_length is None:
        return score
    mask = tf.sequence_mask(memory_sequence_length, tf.shape(score)[1])
    return tf.where(mask, score, tf.fill(tf.shape(score), score_mask_value))


class AttentionMechanism:
    """Interface of attention mechanisms: two sizes, and a call that returns alignments."""

    @property
    def alignments_size(self):
        """The length of the memory."""
        raise NotImplementedError

    @property
    def state_size(self):
        """The size of the state that is passed from step to step."""
        raise NotImplementedError


class BaseAttentionMechanism(AttentionMechanism):
    """A memory [batch, length, size] whose steps are scored against a query.

    Variables: `memory_layer/kernel` [size, units] if the keys are projected.

    Args:
      query_layer: layer for the queries, applied by the subclass, or None.
      memory: tensor [batch, length, size].
      probability_fn: function from (masked scores [batch, length], previous state) to alignments.
      memory_sequence_length: integer tensor [batch], number of valid steps of the memory; None for
        all.
      memory_layer: layer that computes the keys from the memory, or None.
      check_inner_dims_defined: ignored.
      score_mask_value: score of the steps beyond the length; None for minus infinity.
      custom_key_value_fn: function from (keys, values) to the same, or None.
      name: name of the variable scope of the scores, unless the class has a fixed one.
    """

    # The mechanisms of 1.x have a fixed scope: their argument `name` is not in it.
    _scope_name: Optional[str] = None

    def __init__(
        self,
        query_layer,
        memory,
        probability_fn,
        memory_sequence_length=None,
        memory_layer=None,
        check_inner_dims_defined=True,
        score_mask_value=None,
        custom_key_value_fn=None,
        name=None,
    ):
        self._name = name
        self.query_layer, self.memory_layer = query_layer, memory_layer
        memory = nest.map_structure(lambda m: tf.convert_to_tensor(m, name="memory"), memory)
        if score_mask_value is None:
            score_mask_value = memory.dtype.as_numpy_dtype(-float("inf"))

        def probabilities(score, state):
            masked = maybe_mask_score(score, memory_sequence_length, score_mask_value)
            return probability_fn(masked, state)

        # Custom mechanisms use this private name.
        self._probability_fn = probabilities
        if memory_sequence_length is not None:
            mask = tf.sequence_mask(memory_sequence_length, tf.shape(memory)[1], memory.dtype)
            memory = memory * tf.expand_dims(mask, -1)
        self._values = memory
        self._keys = memory_layer(memory) if memory_layer else memory
        if custom_key_value_fn is not None:
            self._keys, self._values = custom_key_value_fn(self._keys, self._values)
        self._batch_size = memory.shape[0].value or tf.shape(self._keys)[0]
        self._alignments_size = self._keys.shape[1].value or tf.shape(self._keys)[1]

    @property
    def keys(self):
        """The keys, a tensor [batch, length, units]."""
        return self._keys

    @property
    def values(self):
        """The memory [batch, length, size], zero beyond its lengths."""
        return self._values

    @property
    def batch_size(self):
        """The batch size, an int or a scalar tensor."""
        return self._batch_size

    @property
    def alignments_size(self):
        """The length of the memory, an int or a scalar tensor."""
        return self._alignments_size

    @property
    def state_size(self):
        """The size of the state, equal to `alignments_size`."""
        return self._alignments_size

    def initial_alignments(self, batch_size, dtype):
        """Returns zeros [batch, length].

        Args:
          batch_size: int or scalar tensor.
          dtype: dtype of the alignments.

        Returns:
          Tensor [batch, length].
        """
        zeros = tf.zeros(tf.stack([batch_size, self._alignments_size]), dtype)
        if isinstance(self._alignments_size, int):
            zeros.set_shape([None, self._alignments_size])
        return zeros

    def initial_state(self, batch_size, dtype):
        """Returns the initial alignments as the state.

        Args:
          batch_size: int or scalar tensor.
          dtype: dtype of the state.

        Returns:
          Tensor [batch, length].
        """
        return self.initial_alignments(batch_size, dtype)

    def _score(self, query):
        """Returns the scores of a query, [batch, length]."""
        raise NotImplementedError

    def __call__(self, query, state):
        with tf.variable_scope(None, self._scope_name or self._name, [query]):
            alignments = self._probability_fn(self._score(query), state)
        return alignments, alignments


def regardless_of_state(probability_fn):
    """Returns a probability function that ignores the state.

    Args:
      probability_fn: function from scores [batch, length] to alignments; None for softmax.

    Returns:
      Function from (scores [batch, length], state) to alignments [batch, length].
    """
    probability_fn = probability_fn or tf.nn.softmax
    return lambda score, state: probability_fn(score)


def luong_score(query, keys, scale):
    """Returns the dot products of a query with the keys.

    Creates the variable `attention_g` if `scale` is set.

    Args:
      query: tensor [batch, units].
      keys: tensor [batch, length, units].
      scale: whether to multiply by `attention_g`.

    Returns:
      Tensor [batch, length].

    Raises:
      ValueError: the sizes of query and keys differ or are unknown.
    """
    if query.shape[-1].value != keys.shape[-1].value:
        raise ValueError(
            f"query and keys: the last dimensions of {query.shape} and {keys.shape} must be "
            "known and equal; set num_units to the query's size"
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    if scale:
        score *= tf.get_variable("attention_g", [], query.dtype, tf.ones_initializer())
    return score


def bahdanau_score(processed_query, keys, normalize):
    """Returns the scores that a small network computes from a projected query and the keys.

    Creates the variables described in BahdanauAttention.

    Args:
      processed_query: tensor [batch, units].
      keys: tensor [batch, length, units].
      normalize: whether to normalize the weights.

    Returns:
      Tensor [batch, length].
    """
    dtype = processed_query.dtype
    units = keys.shape[2].value or tf.shape(keys)[2]
    total = keys + tf.expand_dims(processed_query, 1)
    v = tf.get_variable("attention_v", [units], dtype)
    if normalize:
        g = tf.get_variable("attention_g", [], dtype, tf.constant_initializer(units**-0.5))
        b = tf.get_variable("attention_b", [units], dtype, tf.zeros_initializer())
        v = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v)))
        total += b
    return tf.reduce_sum(v * tf.tanh(total), [2])


def bias_free_layer(units, name, dtype):
    """Returns a dense layer without bias.

    Args:
      units: int, size of the outputs.
      name: name of the layer.
      dtype: dtype of the layer; None for float32.

    Returns:
      tf.layers.Dense.
    """
    return tf.layers.Dense(units, name=name, use_bias=False, dtype=dtype)


class LuongAttention(BaseAttentionMechanism):
    """Attention with the dot product of query and key as the score (Luong et al., 2015).

    Variables: `memory_layer/kernel`, and `attention_g` with `scale`.

    Args:
      num_units: int, size of queries and keys.
      memory: tensor [batch, length, size].
      memory_sequence_length: integer tensor [batch], number of valid steps of the memory; None for
        all.
      scale: whether to multiply the scores by a learned number.
      probability_fn: function from scores [batch, length] to alignments; None for softmax.
      score_mask_value: score of the steps beyond the length; None for minus infinity.
      dtype: dtype of the layers; None for float32.
      custom_key_value_fn: function from (keys, values) to the same, or None.
      name: ignored; it is not in the names of the variables.
    """

    _scope_name = "luong_attention"

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        custom_key_value_fn=None,
        name="LuongAttention",
    ):
        super().__init__(
            None,
            memory,
            regardless_of_state(probability_fn),
            memory_sequence_length,
            bias_free_layer(num_units, "memory_layer", dtype or tf.float32),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._scale = scale

    def _score(self, query):
        return luong_score(query, self._keys, self._scale)


class BahdanauAttention(BaseAttentionMechanism):
    """Attention with scores that a small network computes (Bahdanau et al., 2014).

    Variables: `memory_layer/kernel`, `query_layer/kernel` and `attention_v` [units]; with
    `normalize` also `attention_g` and `attention_b`.

    Args:
      num_units: int, size of queries and keys.
      memory: tensor [batch, length, size].
      memory_sequence_length: integer tensor [batch], number of valid steps of the memory; None for
        all.
      normalize: whether to normalize the weights (Salimans and Kingma, 2016).
      probability_fn: function from scores [batch, length] to alignments; None for softmax.
      score_mask_value: score of the steps beyond the length; None for minus infinity.
      dtype: dtype of the layers; None for float32.
      custom_key_value_fn: function from (keys, values) to the same, or None.
      name: ignored; it is not in the names of the variables.
    """

    _scope_name = "bahdanau_attention"

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        custom_key_value_fn=None,
        name="BahdanauAttention",
    ):
        dtype = dtype or tf.float32
        super().__init__(
            bias_free_layer(num_units, "query_layer", dtype),
            memory,
            regardless_of_state(probability_fn),
            memory_sequence_length,
            bias_free_layer(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._normalize = normalize

    def _score(self, query):
        return bahdanau_score(self.query_layer(query), self._keys, self._normalize)
