"""Monotonic attention of `tf.contrib.seq2seq`.

The source is Raffel et al. (2017), "Online and Linear-Time Attention by Enforcing Monotonic
Alignments".
"""

import functools

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.seq2seq.attention import (
    BaseAttentionMechanism,
    bahdanau_score,
    bias_free_layer,
    luong_score,
)

__all__ = [
    "BahdanauMonotonicAttention",
    "LuongMonotonicAttention",
    "monotonic_attention",
    "safe_cumprod",
]


def safe_cumprod(x, *args, **kwargs):
    """Returns tf.cumprod of numbers in [0, 1], computed stably as a sum of logarithms.

    Args:
      x: floating tensor.
      *args: positional arguments of tf.cumsum.
      **kwargs: keyword arguments of tf.cumsum.

    Returns:
      Tensor of the shape of `x`.
    """
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return tf.exp(tf.cumsum(tf.log(tf.clip_by_value(x, tiny, 1)), *args, **kwargs))


def _recursive(choose, before):
    """Computes q[j] = (1 - p[j - 1]) q[j - 1] + before[j] step by step; the attention is p q."""
    passed = tf.concat([tf.ones_like(choose[:, :1]), 1 - choose[:, :-1]], 1)
    reached = tf.scan(
        lambda q, step: step[0] * q + step[1],
        (tf.transpose(passed), tf.transpose(before)),
        initializer=tf.zeros_like(choose[:, 0]),
    )
    return choose * tf.transpose(reached)


def _parallel(choose, before):
    """Computes the recursion in closed form; inexact where a product of (1 - p) is near zero."""
    passed = safe_cumprod(1 - choose, axis=1, exclusive=True)
    return choose * passed * tf.cumsum(before / tf.clip_by_value(passed, 1e-10, 1.0), axis=1)


def _hard(choose, before):
    """Returns the first chosen step that is not before the step of the last attention."""
    choose *= tf.cumsum(before, axis=1)
    return choose * tf.cumprod(1 - choose, axis=1, exclusive=True)


_MODES = {"recursive": _recursive, "parallel": _parallel, "hard": _hard}


def monotonic_attention(p_choose_i, previous_attention, mode):
    """Returns the attention of a decoding step, which never moves backwards in the memory.

    Args:
      p_choose_i: tensor [batch, length], probability that a step is chosen once it is reached.
      previous_attention: tensor [batch, length], attention of the previous step; 1, 0, 0, ... at
        first.
      mode: `recursive` (exact), `parallel` (faster, inexact for long memories) or `hard` (for
        probabilities of 0 or 1).

    Returns:
      Tensor [batch, length].

    Raises:
      ValueError: the mode is unknown.
    """
    if mode not in _MODES:
        raise ValueError(f"mode: {mode!r} is unknown; use 'recursive', 'parallel' or 'hard'")
    choose = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    before = tf.convert_to_tensor(previous_attention, name="previous_attention")
    return _MODES[mode](choose, before)


def monotonic_probability_fn(score, previous_alignments, sigmoid_noise, mode, seed=None):
    """Returns the alignments of scores, given those of the previous step.

    Args:
      score: tensor [batch, length].
      previous_alignments: tensor [batch, length].
      sigmoid_noise: standard deviation of normal noise on the scores; it favors extreme scores.
      mode: `recursive`, `parallel` or `hard`; see monotonic_attention.
      seed: seed of the noise.

    Returns:
      Tensor [batch, length].
    """
    if sigmoid_noise > 0:
        score += sigmoid_noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
    choose = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(choose, previous_alignments, mode)


class MonotonicAttentionMechanism(BaseAttentionMechanism):
    """A mechanism whose attention starts at the first step of the memory."""

    def initial_alignments(self, batch_size, dtype):
        """Returns 1 at the first step, 0 at the others.

        Args:
          batch_size: int or scalar tensor.
          dtype: dtype of the alignments.

        Returns:
          Tensor [batch, length].
        """
        return tf.one_hot(
            tf.zeros([batch_size], dtype=tf.int32), self._alignments_size, dtype=dtype
        )


def _score_bias(start, dtype):
    return tf.get_variable("attention_score_bias", [], dtype, tf.constant_initializer(start))


class BahdanauMonotonicAttention(MonotonicAttentionMechanism):
    """BahdanauAttention that never moves backwards.

    Variables: those of BahdanauAttention, and `attention_score_bias`.

    Args:
      num_units: int, size of queries and keys.
      memory: tensor [batch, length, size].
      memory_sequence_length: integer tensor [batch], number of valid steps of the memory; None for
        all.
      normalize: whether to normalize the weights (Salimans and Kingma, 2016).
      score_mask_value: score of the steps beyond the length; None for minus infinity.
      sigmoid_noise: standard deviation of normal noise on the scores; it favors extreme scores.
      sigmoid_noise_seed: seed of the noise.
      score_bias_init: initial value of the scores' bias.
      mode: `recursive`, `parallel` or `hard`; see monotonic_attention.
      dtype: dtype of the layers; None for float32.
      name: ignored; it is not in the names of the variables.
    """

    _scope_name = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        score_mask_value=None,
        sigmoid_noise=0.0,
        sigmoid_noise_seed=None,
        score_bias_init=0.0,
        mode="parallel",
        dtype=None,
        name="BahdanauMonotonicAttention",
    ):
        dtype = dtype or tf.float32
        super().__init__(
            bias_free_layer(num_units, "query_layer", dtype),
            memory,
            functools.partial(
                monotonic_probability_fn,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length,
            bias_free_layer(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._normalize = normalize
        self._bias_start = score_bias_init

    def _score(self, query):
        score = bahdanau_score(self.query_layer(query), self._keys, self._normalize)
        return score + _score_bias(self._bias_start, query.dtype)


class LuongMonotonicAttention(MonotonicAttentionMechanism):
    """LuongAttention that never moves backwards.

    Variables: those of LuongAttention, and `attention_score_bias`.

    Args:
      num_units: int, size of queries and keys.
      memory: tensor [batch, length, size].
      memory_sequence_length: integer tensor [batch], number of valid steps of the memory; None for
        all.
      scale: whether to multiply the scores by a learned number.
      score_mask_value: score of the steps beyond the length; None for minus infinity.
      sigmoid_noise: standard deviation of normal noise on the scores; it favors extreme scores.
      sigmoid_noise_seed: seed of the noise.
      score_bias_init: initial value of the scores' bias.
      mode: `recursive`, `parallel` or `hard`; see monotonic_attention.
      dtype: dtype of the layers; None for float32.
      name: ignored; it is not in the names of the variables.
    """

    _scope_name = "luong_monotonic_attention"

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        score_mask_value=None,
        sigmoid_noise=0.0,
        sigmoid_noise_seed=None,
        score_bias_init=0.0,
        mode="parallel",
        dtype=None,
        name="LuongMonotonicAttention",
    ):
        super().__init__(
            None,
            memory,
            functools.partial(
                monotonic_probability_fn,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length,
            bias_free_layer(num_units, "memory_layer", dtype or tf.float32),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._scale = scale
        self._bias_start = score_bias_init

    def _score(self, query):
        score = luong_score(query, self._keys, self._scale)
        return score + _score_bias(self._bias_start, query.dtype)
