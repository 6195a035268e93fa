"""Helpers of `tf.contrib.seq2seq`: what a decoder reads next, and when it is finished."""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = [
    "CustomHelper",
    "GreedyEmbeddingHelper",
    "Helper",
    "InferenceHelper",
    "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "TrainingHelper",
]


class Helper(abc.ABC):
    """Three functions of a decoder's step, each called within the graph."""

    @property
    @abc.abstractmethod
    def batch_size(self):
        """Scalar, int32."""

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
        """Returns (finished [batch], first inputs)."""

    @abc.abstractmethod
    def sample(self, time, outputs, state, name=None):
        """Returns the sample ids [batch] of a step's outputs."""

    @abc.abstractmethod
    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns (finished [batch], next inputs, next state)."""


class CustomHelper(Helper):
    """A helper of three functions."""

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
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self):
        return self._shape

    @property
    def sample_ids_dtype(self):
        return self._dtype

    def initialize(self, name=None):
        finished, inputs = self._initialize_fn()
        if self._batch_size is None:
            self._batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """Reads the given inputs, [batch, length, ...] (or time first), whatever the decoder says."""

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
                "Expected sequence_length to be a vector, but received shape: "
                f"{sequence_length.shape}"
            )
        self._zeros = nest.map_structure(lambda value: tf.zeros_like(value[0]), inputs)
        self._batch_size = tf.size(self._sequence_length)

    @property
    def inputs(self):
        """The inputs, time first."""
        return self._inputs

    @property
    def sequence_length(self):
        """[batch], int32."""
        return self._sequence_length

    @property
    def batch_size(self):
        return self._batch_size

    def _at(self, time, finished):
        # A step beyond the longest sequence reads zeros.
        return tf.cond(
            tf.reduce_all(finished),
            lambda: self._zeros,
            lambda: nest.map_structure(lambda value: value[time], self._inputs),
        )

    def initialize(self, name=None):
        finished = tf.equal(0, self._sequence_length)
        return finished, self._at(0, finished)

    def sample(self, time, outputs, state, name=None):
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(self, time, outputs, state, sample_ids=None, name=None):
        next_time = time + 1
        finished = next_time >= self._sequence_length
        return finished, self._at(next_time, finished), state


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """As TrainingHelper, but with a probability reads the embedding of what was sampled instead.

    A sample id of -1 says that none was drawn.
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
        self._embed = _embedding_fn(embedding)
        self._probability = tf.convert_to_tensor(sampling_probability)
        self._seed, self._scheduling_seed = seed, scheduling_seed
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time, outputs, state, name=None):
        chosen = (
            tf.random_uniform([self.batch_size], seed=self._scheduling_seed) < self._probability
        )
        ids = tf.cast(tf.multinomial(outputs, 1, seed=self._seed)[:, 0], tf.int32)
        return tf.where(chosen, ids, tf.fill([self.batch_size], -1))

    def next_inputs(self, time, outputs, state, sample_ids=None, name=None):
        finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)
        sampled = self._embed(tf.maximum(sample_ids, 0))
        return finished, tf.where(sample_ids > -1, sampled, given), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """As TrainingHelper, but with a probability reads the decoder's last outputs instead.

    A sample id (bool) says whether they were read.

    Args of the constructor:
      inputs, sequence_length, time_major: as those of TrainingHelper.
      sampling_probability: scalar or [batch].
      next_inputs_fn: makes inputs of outputs; default: the outputs as they are.
      auxiliary_inputs: like the inputs; appended to what is read of the outputs.
      seed: of the choice.
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
                "sampling_probability must be either a scalar or a vector. saw shape: "
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
        return tf.bool

    def sample(self, time, outputs, state, name=None):
        return tf.random_uniform([self.batch_size], seed=self._seed) < self._probability

    def next_inputs(self, time, outputs, state, sample_ids=None, name=None):
        finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)
        read = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
        if self._auxiliary is not None:
            _, more, _ = self._auxiliary.next_inputs(time, outputs, state)
            read = nest.map_structure(lambda one, more: tf.concat([one, more], -1), read, more)
        inputs = nest.map_structure(lambda own, one: tf.where(sample_ids, own, one), read, given)
        return finished, inputs, state


def _embedding_fn(embedding):
    if callable(embedding):
        return embedding
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of the most likely id, until the end token."""

    def __init__(self, embedding, start_tokens, end_token):
        self._embed = _embedding_fn(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(self._start_tokens)

    @property
    def batch_size(self):
        return self._batch_size

    def initialize(self, name=None):
        return tf.tile([False], [self._batch_size]), self._embed(self._start_tokens)

    def sample(self, time, outputs, state, name=None):
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        return tf.equal(sample_ids, self._end_token), self._embed(sample_ids), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of an id drawn by its probability, until the end token."""

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state, name=None):
        logits = outputs if self._temperature is None else outputs / self._temperature
        return tf.cast(tf.multinomial(logits, 1, seed=self._seed)[:, 0], tf.int32)


class InferenceHelper(Helper):
    """Reads what a function samples."""

    def __init__(
        self,
        sample_fn,
        sample_shape,
        sample_dtype,
        start_inputs,
        end_fn,
        next_inputs_fn=None,
    ):
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._shape, self._dtype = tf.TensorShape(sample_shape), sample_dtype
        self._start_inputs = tf.convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = tf.shape(self._start_inputs)[0]

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def sample_ids_shape(self):
        return self._shape

    @property
    def sample_ids_dtype(self):
        return self._dtype

    def initialize(self, name=None):
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample_fn(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
