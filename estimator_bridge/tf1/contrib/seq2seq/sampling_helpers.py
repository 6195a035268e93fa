"""Helpers of `tf.contrib.seq2seq` that use the samples of a decoder as its next inputs."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.seq2seq.helpers import Helper, embedding_fn

__all__ = ["GreedyEmbeddingHelper", "InferenceHelper", "SampleEmbeddingHelper"]


class GreedyEmbeddingHelper(Helper):
    """A helper that reads the embedding of the most likely id.

    Args:
      embedding: function of ids, or the params of tf.nn.embedding_lookup.
      start_tokens: int32 tensor [batch].
      end_token: scalar int32 tensor that ends a sequence.

    Raises:
      ValueError: start_tokens is not a vector, or end_token is not a scalar.
    """

    def __init__(self, embedding, start_tokens, end_token):
        self._embed = embedding_fn(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens: expected a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token: expected a scalar")
        self._batch_size = tf.size(self._start_tokens)

    @property
    def batch_size(self):
        return self._batch_size

    def initialize(self, name=None):
        """Returns (finished [batch], embeddings of the start tokens).

        Args:
          name: not used.
        """
        return tf.tile([False], [self._batch_size]), self._embed(self._start_tokens)

    def sample(self, time, outputs, state, name=None):
        """Returns the ids of the largest logits, int32 [batch].

        Args:
          time: not used.
          outputs: floating tensor [batch, ids], the logits of the step.
          state: not used.
          name: not used.
        """
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns (finished [batch], embeddings of the sample ids, state).

        Args:
          time: not used.
          outputs: not used.
          state: state after the step.
          sample_ids: int32 tensor [batch] from `sample`.
          name: not used.
        """
        return tf.equal(sample_ids, self._end_token), self._embed(sample_ids), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper that reads the embedding of an id drawn from the output distribution.

    Args:
      embedding: function of ids, or the params of tf.nn.embedding_lookup.
      start_tokens: int32 tensor [batch].
      end_token: scalar int32 tensor that ends a sequence.
      softmax_temperature: number that divides the logits; None for 1.
      seed: seed of the random operation.
    """

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state, name=None):
        """Returns ids drawn from the output distribution, int32 [batch].

        Args:
          time: not used.
          outputs: floating tensor [batch, ids], the logits of the step.
          state: not used.
          name: not used.
        """
        logits = outputs if self._temperature is None else outputs / self._temperature
        return tf.cast(tf.multinomial(logits, 1, seed=self._seed)[:, 0], tf.int32)


class InferenceHelper(Helper):
    """A helper that reads the values returned by a sampling function.

    Args:
      sample_fn: function from outputs to samples.
      sample_shape: shape of a sample, without the batch axis.
      sample_dtype: dtype of a sample.
      start_inputs: tensor [batch, ...], the first inputs.
      end_fn: function from samples to bool [batch], whether a sequence ends.
      next_inputs_fn: function from samples to inputs; None for the samples themselves.
    """

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
        """Returns (finished [batch], the start inputs).

        Args:
          name: not used.
        """
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        """Returns the result of `sample_fn`, [batch, ...].

        Args:
          time: not used.
          outputs: outputs of the step, [batch, ...].
          state: not used.
          name: not used.
        """
        return self._sample_fn(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns (finished [batch], next inputs, state).

        Args:
          time: not used.
          outputs: not used.
          state: state after the step.
          sample_ids: samples [batch, ...] from `sample`.
          name: not used.
        """
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
