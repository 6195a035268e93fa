"""The segments of a batch, with their states, as a state saver gives them."""

import tensorflow.compat.v1 as tf

__all__ = ["NextQueuedSequenceBatch"]


class NextQueuedSequenceBatch:
    """The next segments of several examples, and the way to save their states.

    Each property is a tensor, or a dict of tensors.

    Args:
      state_saver: SequenceQueueingStateSaver.
    """

    def __init__(self, state_saver):
        self._state_saver = state_saver
        self._taken = state_saver._take()

    @property
    def batch_size(self):
        """Scalar int32, the number of segments; the last batches may have fewer."""
        return self._taken["batch_size"]

    @property
    def insertion_index(self):
        """int64 [batch], which increases from example to example, from -2^63 on."""
        return self._taken["insertion_index"]

    @property
    def key(self):
        """string [batch], `00000_of_00003:KEY`."""
        return self._taken["key"]

    @property
    def next_key(self):
        """string [batch], the key of the next segment, or `STOP:KEY`."""
        return self._taken["next_key"]

    @property
    def sequence(self):
        """int32 [batch], the number of the segment within its example."""
        return self._taken["sequence"]

    @property
    def sequence_count(self):
        """int32 [batch], the number of segments of the example."""
        return self._taken["sequence_count"]

    @property
    def total_length(self):
        """int32 [batch], the length of the example without padding."""
        return self._taken["total_length"]

    @property
    def length(self):
        """int32 [batch], how many steps of the segment are no padding."""
        return self._taken["length"]

    @property
    def sequences(self):
        """{name: tensor [batch, num_unroll, ...]}."""
        return self._taken["sequences"]

    @property
    def context(self):
        """{name: tensor [batch, ...]}."""
        return self._taken["context"]

    def state(self, state_name):
        """Returns a state at the beginning of the segments.

        Args:
          state_name: key of initial_states.

        Returns:
          Tensor [batch, ...].

        Raises:
          KeyError: there is no such state.
        """
        return self._taken["states"][state_name]

    def save_state(self, state_name, value, name=None):
        """Returns the operation that saves a state for the next segments.

        Each state must be saved in each step; without, the next segments never come.

        Args:
          state_name: key of initial_states.
          value: tensor [batch, ...].
          name: name of the scope of the operations.

        Raises:
          KeyError: there is no such state.
        """
        if state_name not in self._taken["states"]:
            raise KeyError(f"state was not declared: {state_name}")
        with tf.name_scope(name, "InputQueueingStateSaver_SaveState"):
            return self._state_saver._save(state_name, value, self.next_key)
