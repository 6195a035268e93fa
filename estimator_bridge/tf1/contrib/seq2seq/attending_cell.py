"""`tf.contrib.seq2seq.AttentionWrapper`: a cell with attention."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = ["AttentionWrapper", "AttentionWrapperState"]


class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        "cell_state attention time alignments alignment_history attention_state",
    )
):
    """The state of an AttentionWrapper."""

    def clone(self, **kwargs):
        """Returns a copy with some fields replaced.

        Args:
          **kwargs: fields and their values.

        Returns:
          AttentionWrapperState.
        """
        return self._replace(**kwargs)


class AttentionWrapper(tf.nn.rnn_cell.RNNCell):
    """A cell that reads the memory of attention mechanisms at each step.

    Variables: `attention_layer/kernel` with `attention_layer_size`.

    Args:
      cell: an RNNCell.
      attention_mechanism: AttentionMechanism, or a list of them.
      attention_layer_size: int (or list), size of the attention; None for the context itself.
      alignment_history: whether the state records the alignments of all steps.
      cell_input_fn: function from (inputs, attention) to the cell's input; None concatenates them.
      output_attention: whether to return the attention; else the cell's output.
      initial_cell_state: initial state of the cell for `zero_state`, or None.
      name: name of the cell.
      attention_layer: layer (or list) in place of `attention_layer_size`.
      attention_fn: function from (mechanism, output of the cell, state of the attention, layer or
        None) to (attention, alignments, next state of the attention); None for `attend`.
      dtype: type of the cell, or None.

    Raises:
      ValueError: both attention_layer_size and attention_layer are given.
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
        attention_fn=None,
        dtype=None,
    ):
        super().__init__(name=name, dtype=dtype)
        self._attend = attention_fn or attend
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._attention_mechanisms = (
            attention_mechanism if self._is_multi else (attention_mechanism,)
        )
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError(
                "AttentionWrapper: pass either attention_layer_size or attention_layer"
            )
        count = len(self._attention_mechanisms)
        self._attention_layers = None
        if attention_layer is not None:
            layers = attention_layer
            self._attention_layers = layers if isinstance(layers, (list, tuple)) else (layers,)
        elif attention_layer_size is not None:
            sizes = attention_layer_size
            sizes = sizes if isinstance(sizes, (list, tuple)) else (sizes,) * count
            self._attention_layers = tuple(
                tf.layers.Dense(size, name="attention_layer", use_bias=False) for size in sizes
            )
        self._cell = cell
        self._cell_input_fn = cell_input_fn or (
            lambda inputs, attention: tf.concat([inputs, attention], -1)
        )
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state = initial_cell_state
        if self._attention_layers is None:
            self._attention_layer_size = sum(
                m.values.shape[-1].value for m in self._attention_mechanisms
            )
        else:
            self._attention_layer_size = sum(
                layer.compute_output_shape([None, cell.output_size + m.values.shape[-1].value])[
                    -1
                ].value
                if not hasattr(layer, "units")
                else layer.units
                for layer, m in zip(self._attention_layers, self._attention_mechanisms)
            )

    # Programs that derive from this class use the private names of 1.x.
    def _batch_size_checks(self, batch_size, error_message):
        return [
            tf.assert_equal(batch_size, m.batch_size, message=error_message)
            for m in self._attention_mechanisms
        ]

    def _item_or_tuple(self, values):
        values = tuple(values)
        return values if self._is_multi else values[0]

    @property
    def output_size(self):
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self):
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(m.alignments_size for m in self._attention_mechanisms),
            attention_state=self._item_or_tuple(m.state_size for m in self._attention_mechanisms),
            alignment_history=self._item_or_tuple(
                m.alignments_size if self._alignment_history else ()
                for m in self._attention_mechanisms
            ),
        )

    def zero_state(self, batch_size, dtype):
        """Returns the initial state.

        Args:
          batch_size: int or scalar tensor; with beam search that of the tiled memory.
          dtype: dtype of the state.

        Returns:
          AttentionWrapperState.
        """
        cell_state = self._initial_cell_state
        if cell_state is None:
            cell_state = self._cell.zero_state(batch_size, dtype)
        cell_state = nest.map_structure(tf.identity, cell_state)
        first = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]

        def history(alignments):
            if not self._alignment_history:
                return ()
            return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignments.shape)

        return AttentionWrapperState(
            cell_state=cell_state,
            time=tf.zeros([], tf.int32),
            attention=tf.zeros(tf.stack([batch_size, self._attention_layer_size]), dtype),
            alignments=self._item_or_tuple(first),
            attention_state=self._item_or_tuple(
                m.initial_state(batch_size, dtype) for m in self._attention_mechanisms
            ),
            alignment_history=self._item_or_tuple(history(a) for a in first),
        )

    def call(self, inputs, state):
        """Computes one step; returns (attention or cell output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: AttentionWrapperState.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"state: expected an AttentionWrapperState, got {type(state).__name__}")
        outputs, cell_state = self._cell(
            self._cell_input_fn(inputs, state.attention), state.cell_state
        )
        before = state.attention_state if self._is_multi else (state.attention_state,)
        histories = state.alignment_history if self._is_multi else (state.alignment_history,)
        attentions, alignments, states, written = [], [], [], []
        for i, mechanism in enumerate(self._attention_mechanisms):
            layer = self._attention_layers and self._attention_layers[i]
            context, alignment, after = self._attend(mechanism, outputs, before[i], layer)
            attentions.append(context)
            alignments.append(alignment)
            states.append(after)
            written.append(
                histories[i].write(state.time, alignment) if self._alignment_history else ()
            )
        attention = tf.concat(attentions, 1)
        new = AttentionWrapperState(
            cell_state=cell_state,
            time=state.time + 1,
            attention=attention,
            alignments=self._item_or_tuple(alignments),
            attention_state=self._item_or_tuple(states),
            alignment_history=self._item_or_tuple(written),
        )
        return (attention if self._output_attention else outputs), new


def attend(mechanism, output, state, layer):
    """Returns the attention, the alignments, and the next state of an attention.

    Args:
      mechanism: AttentionMechanism.
      output: floating tensor [batch, size], the output of the cell.
      state: state of the mechanism.
      layer: layer of the attention, or None for the context itself.
    """
    alignments, state = mechanism(output, state)
    context = tf.squeeze(tf.matmul(tf.expand_dims(alignments, 1), mechanism.values), [1])
    if layer is not None:
        context = layer(tf.concat([output, context], 1))
    return context, alignments, state
