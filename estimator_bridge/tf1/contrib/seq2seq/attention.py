"""Attention of `tf.contrib.seq2seq` (Bahdanau et al., 2014; Luong et al., 2015)."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
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
    """Returns a one-hot of the highest logit."""
    with tf.name_scope(name, "Hardmax", [logits]):
        return tf.one_hot(tf.argmax(logits, -1), tf.shape(logits)[-1], dtype=logits.dtype)


def maybe_mask_score(score, memory_sequence_length, score_mask_value):
    """Returns scores [batch, length] with `score_mask_value` beyond the lengths [batch], if any."""
    if memory_sequence_length is None:
        return score
    mask = tf.sequence_mask(memory_sequence_length, tf.shape(score)[1])
    return tf.where(mask, score, tf.fill(tf.shape(score), score_mask_value))


class AttentionMechanism:
    """What AttentionWrapper asks for `alignments_size`, `state_size` and, called, alignments."""

    @property
    def alignments_size(self):
        """How many places the memory has."""
        raise NotImplementedError

    @property
    def state_size(self):
        """Size of the state that goes from step to step."""
        raise NotImplementedError


class BaseAttentionMechanism(AttentionMechanism):
    """A memory [batch, length, size], and how well a query fits each of its places.

    Variables: `memory_layer/kernel` [size, units] where the keys are projected.

    Args of the constructor:
      query_layer: a layer for the queries, or None. It is for the subclass to apply.
      memory: [batch, length, size].
      probability_fn: (masked scores [batch, length], state of the last step) -> alignments.
      memory_sequence_length: [batch]; the memory counts up to there only.
      memory_layer: a layer that makes the keys of the memory, or None.
      check_inner_dims_defined: unused.
      score_mask_value: score beyond the lengths; default: minus infinity.
      name: of the variable scope in which scores are made.
    """

    def __init__(
        self,
        query_layer,
        memory,
        probability_fn,
        memory_sequence_length=None,
        memory_layer=None,
        check_inner_dims_defined=True,
        score_mask_value=None,
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

        # Mechanisms that people wrote call it by this name.
        self._probability_fn = probabilities
        if memory_sequence_length is not None:
            mask = tf.sequence_mask(memory_sequence_length, tf.shape(memory)[1], memory.dtype)
            memory = memory * tf.expand_dims(mask, -1)
        self._values = memory
        self._keys = memory_layer(memory) if memory_layer else memory
        self._batch_size = memory.shape[0].value or tf.shape(self._keys)[0]
        self._alignments_size = self._keys.shape[1].value or tf.shape(self._keys)[1]

    @property
    def keys(self):
        """[batch, length, units]."""
        return self._keys

    @property
    def values(self):
        """[batch, length, size], zero beyond the lengths."""
        return self._values

    @property
    def batch_size(self):
        """int, or a scalar tensor."""
        return self._batch_size

    @property
    def alignments_size(self):
        """int, or a scalar tensor."""
        return self._alignments_size

    @property
    def state_size(self):
        """The same as alignments_size."""
        return self._alignments_size

    def initial_alignments(self, batch_size, dtype):
        """Zeros [batch, length]."""
        zeros = tf.zeros(tf.stack([batch_size, self._alignments_size]), dtype)
        if isinstance(self._alignments_size, int):
            zeros.set_shape([None, self._alignments_size])
        return zeros

    def initial_state(self, batch_size, dtype):
        """Zeros [batch, length]."""
        return self.initial_alignments(batch_size, dtype)

    def _score(self, query):
        """Returns [batch, length]."""
        raise NotImplementedError

    def __call__(self, query, state):
        with tf.variable_scope(None, self._name, [query]):
            alignments = self._probability_fn(self._score(query), state)
        return alignments, alignments


def regardless_of_state(probability_fn):
    """Returns scores [batch, length] -> alignments (default: softmax) as a function of both."""
    probability_fn = probability_fn or tf.nn.softmax
    return lambda score, state: probability_fn(score)


def luong_score(query, keys, scale):
    """Returns the products [batch, length] of the query [batch, units] and keys [batch, length,
    units], times the variable `attention_g` with scale.
    """
    if query.shape[-1].value != keys.shape[-1].value:
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys: {query.shape} and "
            f"{keys.shape}. Set num_units to the query's size"
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    if scale:
        score *= tf.get_variable("attention_g", [], query.dtype, tf.ones_initializer())
    return score


def bahdanau_score(processed_query, keys, normalize):
    """Returns the scores [batch, length] of a query [batch, units] that has gone through its layer
    and keys [batch, length, units]. Variables as those of BahdanauAttention.
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
    return tf.layers.Dense(units, name=name, use_bias=False, dtype=dtype)


class LuongAttention(BaseAttentionMechanism):
    """Scores by the product of query and key, scaled if asked for. Variable then: `attention_g`."""

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        name="LuongAttention",
    ):
        super().__init__(
            None,
            memory,
            regardless_of_state(probability_fn),
            memory_sequence_length,
            bias_free_layer(num_units, "memory_layer", dtype or tf.float32),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._scale = scale

    def _score(self, query):
        return luong_score(query, self._keys, self._scale)


class BahdanauAttention(BaseAttentionMechanism):
    """Scores by a small network of query and key.

    Variables: `query_layer/kernel`, `attention_v` [units]; normalized `attention_g`, `attention_b`.
    """

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
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
            name=name,
        )
        self._normalize = normalize

    def _score(self, query):
        return bahdanau_score(self.query_layer(query), self._keys, self._normalize)


class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        "cell_state attention time alignments alignment_history attention_state",
    )
):
    """The state of an AttentionWrapper."""

    def clone(self, **kwargs):
        """Returns a copy with some fields replaced."""
        return self._replace(**kwargs)


class AttentionWrapper(tf.nn.rnn_cell.RNNCell):
    """A cell that reads an attention mechanism's memory at each step.

    Variables: `attention_layer/kernel` where `attention_layer_size` is given.
    """

    def __init__(
        self,
        cell,
        attention_mechanism,
        attention_layer_size=None,
        alignment_history=False,
        cell_input_fn=None,
        output_attention=True,
        initial_cell_state=None,
        name=None,
        attention_layer=None,
    ):
        super().__init__(name=name)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = attention_mechanism if self._is_multi else (attention_mechanism,)
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        count = len(self._mechanisms)
        self._layers_of_attention = None
        if attention_layer is not None:
            layers = attention_layer
            self._layers_of_attention = layers if isinstance(layers, (list, tuple)) else (layers,)
        elif attention_layer_size is not None:
            sizes = attention_layer_size
            sizes = sizes if isinstance(sizes, (list, tuple)) else (sizes,) * count
            self._layers_of_attention = tuple(
                tf.layers.Dense(size, name="attention_layer", use_bias=False) for size in sizes
            )
        self._cell = cell
        self._cell_input_fn = cell_input_fn or (
            lambda inputs, attention: tf.concat([inputs, attention], -1)
        )
        self._output_attention = output_attention
        self._history = alignment_history
        self._initial_cell_state = initial_cell_state
        if self._layers_of_attention is None:
            self._attention_size = sum(m.values.shape[-1].value for m in self._mechanisms)
        else:
            self._attention_size = sum(
                layer.compute_output_shape([None, cell.output_size + m.values.shape[-1].value])[
                    -1
                ].value
                if not hasattr(layer, "units")
                else layer.units
                for layer, m in zip(self._layers_of_attention, self._mechanisms)
            )

    def _one_or_all(self, values):
        values = tuple(values)
        return values if self._is_multi else values[0]

    @property
    def output_size(self):
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self):
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_size,
            alignments=self._one_or_all(m.alignments_size for m in self._mechanisms),
            attention_state=self._one_or_all(m.state_size for m in self._mechanisms),
            alignment_history=self._one_or_all(
                m.alignments_size if self._history else () for m in self._mechanisms
            ),
        )

    def zero_state(self, batch_size, dtype):
        """The first state. With beam search, `batch_size` is that of the tiled memory."""
        cell_state = self._initial_cell_state
        if cell_state is None:
            cell_state = self._cell.zero_state(batch_size, dtype)
        cell_state = nest.map_structure(tf.identity, cell_state)
        first = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]

        def history(alignments):
            if not self._history:
                return ()
            return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignments.shape)

        return AttentionWrapperState(
            cell_state=cell_state,
            time=tf.zeros([], tf.int32),
            attention=tf.zeros(tf.stack([batch_size, self._attention_size]), dtype),
            alignments=self._one_or_all(first),
            attention_state=self._one_or_all(
                m.initial_state(batch_size, dtype) for m in self._mechanisms
            ),
            alignment_history=self._one_or_all(history(a) for a in first),
        )

    def call(self, inputs, state):
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        outputs, cell_state = self._cell(
            self._cell_input_fn(inputs, state.attention), state.cell_state
        )
        before = state.attention_state if self._is_multi else (state.attention_state,)
        histories = state.alignment_history if self._is_multi else (state.alignment_history,)
        attentions, alignments, states, written = [], [], [], []
        for i, mechanism in enumerate(self._mechanisms):
            alignment, after = mechanism(outputs, before[i])
            context = tf.squeeze(tf.matmul(tf.expand_dims(alignment, 1), mechanism.values), [1])
            if self._layers_of_attention is not None:
                context = self._layers_of_attention[i](tf.concat([outputs, context], 1))
            attentions.append(context)
            alignments.append(alignment)
            states.append(after)
            written.append(histories[i].write(state.time, alignment) if self._history else ())
        attention = tf.concat(attentions, 1)
        new = AttentionWrapperState(
            cell_state=cell_state,
            time=state.time + 1,
            attention=attention,
            alignments=self._one_or_all(alignments),
            attention_state=self._one_or_all(states),
            alignment_history=self._one_or_all(written),
        )
        return (attention if self._output_attention else outputs), new
