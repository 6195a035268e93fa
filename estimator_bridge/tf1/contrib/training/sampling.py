"""Batches with a wanted share of each class, built with queues: `stratified_sample`."""

import tensorflow.compat.v1 as tf

__all__ = ["stratified_sample"]

# Each class counts as seen so often before the first example.
_FIRST_COUNT = 10
# From this share of rejected examples on, the log says so, a few times.
_MANY, _TIMES = 0.5, 10
_ROUNDING = 1e-6


def stratified_sample(
    tensors,
    labels,
    target_probs,
    batch_size,
    init_probs=None,
    enqueue_many=False,
    queue_capacity=16,
    threads_per_queue=1,
    name=None,
):
    """Returns batches in which each class has its share; queue runners fill them.

    Examples are rejected at random. Without `init_probs`, the shares of the classes are counted, in
    the variable `class_count`.

    Args:
      tensors: list of tensors of one example, or of several with `enqueue_many`.
      labels: the class of the example, an integer scalar; or of the examples, [n].
      target_probs: the share of each class in the batches, [classes].
      batch_size: int.
      init_probs: the share of each class in the examples, [classes]; None to count them.
      enqueue_many: whether the tensors are several examples.
      queue_capacity: int, examples that wait.
      threads_per_queue: int, threads that fill the queues.
      name: name of the operations.

    Returns:
      The batches of the tensors, and the classes [batch_size].

    Raises:
      ValueError: the shares do not have the same length, or the tensors do not have the same
        number of examples.
    """
    with tf.name_scope(name, "stratified_sample", [*tensors, labels]):
        tensors = [tf.convert_to_tensor(one) for one in tensors]
        labels = tf.convert_to_tensor(labels)
        target = tf.convert_to_tensor(target_probs, dtype=tf.float32)
        target.shape.assert_has_rank(1)
        if not enqueue_many:
            tensors = [tf.expand_dims(one, 0) for one in tensors]
            labels = tf.expand_dims(labels, 0)
        for one in tensors:
            one.shape[:1].assert_is_compatible_with(labels.shape)
        if init_probs is None:
            initial = _count(labels, int(target.shape[0]))
        else:
            initial = tf.convert_to_tensor(init_probs, dtype=tf.float32)
            if not initial.shape.is_compatible_with(target.shape):
                raise ValueError("Probability parameters must have the same length.")
        accepted = _find_accepted(*_checked(initial, target))
        *example, label = tf.train.batch(
            [*tensors, labels],
            batch_size=1,
            num_threads=threads_per_queue,
            capacity=queue_capacity,
            enqueue_many=True,
        )
        example = [tf.squeeze(one, [0]) for one in example]
        label = tf.squeeze(label, [0])
        keeps = tf.random_uniform([]) < tf.gather(accepted, label)
        *batches, classes = tf.train.maybe_batch(
            [*example, label], keeps, batch_size, num_threads=threads_per_queue
        )
        return batches, classes


def _count(labels, classes):
    """Returns the share of each class among the labels until now, [classes]."""
    counts = tf.Variable(
        [_FIRST_COUNT] * classes, trainable=False, name="class_count", dtype=tf.int64
    )
    seen = tf.reduce_sum(tf.one_hot(labels, classes, dtype=tf.int64), axis=0)
    counted = tf.assign_add(counts, seen)
    return tf.cast(counted / tf.reduce_sum(counted), tf.float32)


def _checked(initial, target):
    """Returns the shares, which are an error when they are computed and are none."""
    # Known shares are refused here, where the others are checked by operations.
    checks = [tf.debugging.assert_non_negative(shares) for shares in (initial, target)]
    for shares in (initial, target):
        away = tf.abs(tf.reduce_sum(shares) - 1.0)
        checks.append(tf.Assert(away < _ROUNDING, ["the shares do not add up to 1", shares]))
    never = "All classes with zero initial probability must also have zero target probability: "
    possible = tf.reduce_all((initial > 0.0) | tf.equal(target, 0.0))
    checks.append(tf.Assert(possible, [never, initial, target]))
    with tf.control_dependencies([one for one in checks if one is not None]):
        return tf.identity(initial), tf.identity(target)


def _find_accepted(initial, target):
    """Returns the probability with which an example of each class is kept, [classes]."""
    ratio = tf.math.divide_no_nan(target, initial)
    accepted = ratio / tf.reduce_max(ratio)
    rejected = tf.reduce_sum((1.0 - accepted) * initial)
    said = "Proportion of examples rejected by sampler is high."
    return tf.cond(
        rejected > _MANY,
        lambda: tf.Print(accepted, [accepted], message=said, first_n=_TIMES),
        lambda: accepted,
    )
