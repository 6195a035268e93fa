"""Random choices of examples in `tf.contrib.training`, by rates, weights or acceptance."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import moving_averages as _moving_averages

__all__ = ["rejection_sample", "resample_at_rate", "weighted_resample"]


def rejection_sample(
    tensors,
    accept_prob_fn,
    batch_size,
    queue_threads=1,
    enqueue_many=False,
    prebatch_capacity=16,
    prebatch_threads=1,
    runtime_checks=False,
    name=None,
):
    """Returns batches of the examples that are accepted; queue runners fill them.

    Args:
      tensors: list of tensors of one example, or of several with `enqueue_many`.
      accept_prob_fn: function of the list of tensors of one example that returns the probability
        with which it is accepted, a float32 scalar.
      batch_size: int.
      queue_threads: int, threads that fill the queue of the batches.
      enqueue_many: whether the tensors are several examples.
      prebatch_capacity: int, examples that wait; for `enqueue_many`.
      prebatch_threads: int, threads that separate examples; for `enqueue_many`.
      runtime_checks: whether to check, when the graph runs, that probabilities are in [0, 1].
      name: name of the operations.

    Returns:
      List of tensors [batch_size, ...].

    Raises:
      ValueError: the tensors do not have the same number of examples.
    """
    with tf.name_scope(name, "rejection_sample", tensors):
        tensors = [tf.convert_to_tensor(one) for one in tensors]
        if enqueue_many:
            for one in tensors[1:]:
                one.shape[:1].assert_is_compatible_with(tensors[0].shape[:1])
            examples = tf.train.batch(
                tensors,
                batch_size=1,
                num_threads=prebatch_threads,
                capacity=prebatch_capacity,
                enqueue_many=True,
            )
            examples = examples if isinstance(examples, list) else [examples]
            tensors = [tf.squeeze(one, [0]) for one in examples]
        accepted = tf.convert_to_tensor(accept_prob_fn(tensors))
        if runtime_checks:
            checks = [
                tf.assert_less_equal(tf.constant(0.0), accepted),
                tf.assert_less_equal(accepted, tf.constant(1.0)),
            ]
            with tf.control_dependencies([one for one in checks if one is not None]):
                accepted = tf.identity(accepted)
        batches = tf.train.maybe_batch(
            tensors, tf.random_uniform([]) < accepted, batch_size, num_threads=queue_threads
        )
        return batches if isinstance(batches, list) else [batches]


def resample_at_rate(inputs, rates, scope=None, seed=None, back_prop=False):
    """Repeats each example a random number of times, which has a Poisson distribution.

    Args:
      inputs: list of tensors [batch, ...].
      rates: floating tensor [batch], the mean number of each example's copies.
      scope: name of the operations.
      seed: int, seed of the random operation.
      back_prop: ignored: the numbers have no gradient; the inputs always do.

    Returns:
      List of tensors [copies, ...], the copies of an example side by side.
    """
    del back_prop
    with tf.name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = tf.convert_to_tensor(rates, name="rates")
        copies = tf.cast(tf.random_poisson(rates, [], rates.dtype, seed=seed), tf.int32)
        chosen = tf.repeat(tf.range(tf.shape(copies)[0]), copies)
        return [tf.gather(one, chosen) for one in inputs]


def weighted_resample(inputs, weights, overall_rate, scope=None, mean_decay=0.999, seed=None):
    """Repeats examples at random, in proportion to their weights.

    The rate of an example is its weight times `overall_rate`, divided by a moving average of the
    mean weight. The average is the local variable `estimate_mean/estimated_mean` [] (or
    `<scope>/estimated_mean`); two more variables correct its bias towards zero.

    Args:
      inputs: list of tensors [batch, ...].
      weights: float32 tensor [batch].
      overall_rate: number or scalar, the mean number of an example's copies.
      scope: name of the operations and of the variable scope.
      mean_decay: number, decay of the moving average.
      seed: int, seed of the random operation.

    Returns:
      List of tensors [copies, ...], and float32 tensor [copies], the rates of the copied examples.
    """
    with tf.name_scope(scope, "weighted_resample", inputs):
        with tf.variable_scope(scope, "estimate_mean", [weights]):
            average = tf.get_variable(
                *("estimated_mean", [], weights.dtype, tf.zeros_initializer()),
                trainable=False,
                collections=[tf.GraphKeys.LOCAL_VARIABLES],
            )
            average = _moving_averages.assign_moving_average(
                average, tf.reduce_mean(weights), mean_decay
            )
        rates = weights * overall_rate / average
        *copies, rates = resample_at_rate([*inputs, rates], rates, seed=seed)
        return copies, rates
