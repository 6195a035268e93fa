"""Helpers of `tf.contrib.seq2seq`, which select the next inputs of a decoder and its end."""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = [
    "CustomHelper",
    "Helper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "TrainingHelper",
    "embedding_fn",
]


class Helper(abc.ABC):
    """Interface of the helpers: three functions of a decoding step."""

    @property
    @abc.abstractmethod
    def batch_size(self):
        """The batch size, a scalar int32 tensor."""

    @property
    def sample_ids_shape(self):
        """The shape of one sample id."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self):
        """The dtype of sample ids."""
        return tf.int32

    @abc.abstractmethod
    def initialize(self, name=None):
        """Returns the start of the decoding.

        Args:
          name: name of the name scope.

        Returns:
          (finished [batch], first inputs).
        """

    @abc.abstractmethod
    def sample(self, time, outputs, state, name=None):
        """Returns the sample ids of a step.

        Args:
          time: scalar int32 tensor, number of the step.
          outputs: outputs of the step.
          state: state after the step.
          name: name of the name scope.

        Returns:
          Tensor [batch].
        """

    @abc.abstractmethod
    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns the inputs of the next step.

        Args:
          time: scalar int32 tensor, number of the step.
          outputs: outputs of the step.
          state: state after the step.
          sample_ids: sample ids of the step.
          name: name of the name scope.

        Returns:
          (finished [batch], next inputs, next state).
        """


class CustomHelper(Helper):
    """A helper built from three functions.

    Args:
      initialize_fn: function without arguments; see Helper.initialize.
      sample_fn: function with the arguments of Helper.sample.
      next_inputs_fn: function with the arguments of Helper.next_inputs.
      sample_ids_shape: shape of one sample id; None for scalars.
      sample_ids_dtype: dtype of sample ids; None for int32.
    """

    def __init__(
        self,
        initialize_fn,
        sample_fn,
        next_inputs_fn,
        sample_ids_shape=None,
        sample_ids_dtype=None,
    ):
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._shape = tf.TensorShape(sample_ids_shape or [])
        self._dtype = sample_ids_dtype or tf.int32
        self._batch_size = None

    @property
    def batch_size(self):
        if self._batch_size is None:
            raise ValueError("batch_size: call initialize first")
        return self._batch_size

    @property
    def sample_ids_shape(self):
        return self._shape

    @property
    def sample_ids_dtype(self):
        return self._dtype

    def initialize(self, name=None):
        """Returns the result of `initialize_fn`.

        Args:
          name: not used.
        """
        finished, inputs = self._initialize_fn()
        if self._batch_size is None:
            self._batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time, outputs, state, name=None):
        """Returns the result of `sample_fn`.

        Args:
          time: scalar int32 tensor, number of the step, from 0.
          outputs: outputs of the step, [batch, ...].
          state: state after the step.
          name: not used.
        """
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns the result of `next_inputs_fn`.

        Args:
          time: scalar int32 tensor, number of the step, from 0.
          outputs: outputs of the step, [batch, ...].
          state: state after the step.
          sample_ids: sample ids of the step, [batch, ...].
          name: not used.
        """
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """A helper that reads given inputs, independent of the decoder's outputs.

    Args:
      inputs: structure of tensors [batch, length, ...], or [length, batch, ...] with `time_major`.
      sequence_length: int32 tensor [batch], number of valid steps per sequence.
      time_major: whether the time axis comes first.
      name: name of the name scope.

    Raises:
      ValueError: sequence_length is not a vector.
    """

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        inputs = nest.map_structure(tf.convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(
                lambda value: tf.transpose(value, [1, 0, *range(2, value.shape.ndims)]), inputs
            )
        self._inputs = inputs
        self._sequence_length = tf.cast(sequence_length, tf.int32)
        if self._sequence_length.shape.ndims not in (1, None):
            raise ValueError(
                f"sequence_length: expected a vector, got shape {sequence_length.shape}"
            )
        self._zeros = nest.map_structure(lambda value: tf.zeros_like(value[0]), inputs)
        self._batch_size = tf.size(self._sequence_length)

    @property
    def inputs(self):
        """The inputs, time first."""
        return self._inputs

    @property
    def sequence_length(self):
        """The lengths, an int32 tensor [batch]."""
        return self._sequence_length

    @property
    def batch_size(self):
        return self._batch_size

    def _at(self, time, finished):
        # Steps beyond the longest sequence read zeros.
        return tf.cond(
            tf.reduce_all(finished),
            lambda: self._zeros,
            lambda: nest.map_structure(lambda value: value[time], self._inputs),
        )

    def initialize(self, name=None):
        """Returns (finished [batch], inputs of the first step).

        Args:
          name: not used.
        """
        finished = tf.equal(0, self._sequence_length)
        return finished, self._at(0, finished)

    def sample(self, time, outputs, name=None, **unused_kwargs):
        """Returns the ids of the largest logits, int32 [batch].

        Args:
          time: not used.
          outputs: floating tensor [batch, ids], the logits of the step.
          name: not used.
          **unused_kwargs: not used.
        """
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(self, time, outputs, state, name=None, **unused_kwargs):
        """Returns (finished [batch], given inputs of the next step, state).

        Args:
          time: scalar int32 tensor, number of the step, from 0.
          outputs: not used.
          state: state after the step.
          name: not used.
          **unused_kwargs: not used.
        """
        next_time = time + 1
        finished = next_time >= self._sequence_length
        return finished, self._at(next_time, finished), state


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A TrainingHelper that sometimes reads the embedding of a sampled id (Bengio et al., 2015).

    The sample id is -1 where no id was drawn.

    Args:
      inputs: structure of tensors [batch, length, ...], or [length, batch, ...] with `time_major`.
      sequence_length: int32 tensor [batch], number of valid steps per sequence.
      embedding: function of ids, or the params of tf.nn.embedding_lookup.
      sampling_probability: scalar or tensor [batch], probability to read a sampled id.
      time_major: whether the time axis comes first.
      seed: seed of the sampled ids.
      scheduling_seed: seed of the choice between inputs and samples.
      name: name of the name scope.
    """

    def __init__(
        self,
        inputs,
        sequence_length,
        embedding,
        sampling_probability,
        time_major=False,
        seed=None,
        scheduling_seed=None,
        name=None,
    ):
        self._embed = embedding_fn(embedding)
        self._probability = tf.convert_to_tensor(sampling_probability)
        self._seed, self._scheduling_seed = seed, scheduling_seed
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time, outputs, state, name=None):
        """Returns the sampled ids, int32 [batch]; -1 where none was drawn.

        Args:
          time: not used.
          outputs: floating tensor [batch, ids], the logits of the step.
          state: not used.
          name: not used.
        """
        chosen = (
            tf.random_uniform([self.batch_size], seed=self._scheduling_seed) < self._probability
        )
        ids = tf.cast(tf.multinomial(outputs, 1, seed=self._seed)[:, 0], tf.int32)
        return tf.where(chosen, ids, tf.fill([self.batch_size], -1))

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns (finished [batch], given inputs or embeddings of sampled ids, state).

        Args:
          time: scalar int32 tensor, number of the step, from 0.
          outputs: not used.
          state: state after the step.
          sample_ids: int32 tensor [batch] from `sample`.
          name: not used.
        """
        finished, given, state = super().next_inputs(time, outputs, state, name)
        sampled = self._embed(tf.maximum(sample_ids, 0))
        return finished, tf.where(sample_ids > -1, sampled, given), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A TrainingHelper that sometimes reads the decoder's last outputs (Bengio et al., 2015).

    A sample id is 1 where the outputs are read, else 0.

    Args:
      inputs: structure of tensors [batch, length, ...], or [length, batch, ...] with `time_major`.
      sequence_length: int32 tensor [batch], number of valid steps per sequence.
      sampling_probability: scalar or tensor [batch], probability to read the outputs.
      time_major: whether the time axis comes first.
      seed: seed of the choice.
      next_inputs_fn: function from outputs to inputs; None for the outputs themselves.
      auxiliary_inputs: structure like `inputs` that is appended to the outputs read, or None.
      name: name of the name scope.

    Raises:
      ValueError: sampling_probability is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs,
        sequence_length,
        sampling_probability,
        time_major=False,
        seed=None,
        next_inputs_fn=None,
        auxiliary_inputs=None,
        name=None,
    ):
        self._probability = tf.convert_to_tensor(sampling_probability)
        if self._probability.shape.ndims not in (0, 1):
            raise ValueError(
                "sampling_probability: expected a scalar or a vector, got shape "
                f"{self._probability.shape}"
            )
        self._seed, self._next_inputs_fn = seed, next_inputs_fn
        self._auxiliary = None
        if auxiliary_inputs is not None:
            self._auxiliary = TrainingHelper(auxiliary_inputs, sequence_length, time_major)
            inputs = nest.map_structure(
                lambda one, more: tf.concat([one, more], -1), inputs, auxiliary_inputs
            )
        super().__init__(inputs, sequence_length, time_major, name)

    @property
    def sample_ids_dtype(self):
        return tf.int32

    def sample(self, time, outputs, state, name=None):
        """Returns 1 where the outputs are read, else 0: int32 [batch].

        Args:
          time: not used.
          outputs: not used.
          state: not used.
          name: not used.
        """
        chosen = tf.random_uniform([self.batch_size], seed=self._seed) < self._probability
        return tf.cast(chosen, tf.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns (finished [batch], given inputs or last outputs, state).

        Args:
          time: scalar int32 tensor, number of the step, from 0.
          outputs: floating tensor [batch, size], outputs of the step.
          state: state after the step.
          sample_ids: int32 tensor [batch] from `sample`.
          name: not used.
        """
        finished, given, state = super().next_inputs(time, outputs, state, name)
        read = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
        if self._auxiliary is not None:
            _, more, _ = self._auxiliary.next_inputs(time, outputs, state)
            read = nest.map_structure(lambda one, more: tf.concat([one, more], -1), read, more)
        inputs = nest.map_structure(
            lambda own, one: tf.where(tf.cast(sample_ids, tf.bool), own, one), read, given
        )
        return finished, inputs, state


def embedding_fn(embedding):
    """Returns a function from ids to embeddings.

    Args:
      embedding: function of ids, or the params of tf.nn.embedding_lookup.

    Returns:
      Function of an integer tensor.
    """
    if callable(embedding):
        return embedding
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)
