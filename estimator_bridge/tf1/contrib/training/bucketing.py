"""Batches of similar examples, built with queues: `bucket` and `bucket_by_sequence_length`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = ["bucket", "bucket_by_sequence_length"]

# Errors that end a queue runner's thread at the end of the input.
_END = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def bucket(
    tensors,
    which_bucket,
    batch_size,
    num_buckets,
    num_threads=1,
    capacity=32,
    bucket_capacities=None,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    keep_input=True,
    shared_name=None,
    name=None,
):
    """Returns batches of examples of one bucket; tf.train.start_queue_runners fills the queues.

    Args:
      tensors: list or dict of tensors of one example.
      which_bucket: scalar int32 tensor from 0 to num_buckets - 1.
      batch_size: int, or a list with one int per bucket.
      num_buckets: int.
      num_threads: int, number of threads that fill the buckets.
      capacity: int, maximum number of queued batches; also of examples in a bucket without
        `bucket_capacities`.
      bucket_capacities: list with one int per bucket, or None.
      shapes: list of shapes of the tensors; None for their static shapes.
      dynamic_pad: whether to pad with zeros to the longest example of a batch; needs known ranks.
      allow_smaller_final_batch: whether the remaining examples form smaller batches at the end.
      keep_input: scalar bool tensor; examples are dropped where it is False.
      shared_name: name under which sessions share the queue of batches.
      name: name of the operations.

    Returns:
      Scalar int32 tensor, the bucket, and the batch, with the structure of `tensors`; of a list of
      one tensor, the tensor.

    Raises:
      ValueError: a list does not have one entry per bucket.
    """
    several = isinstance(batch_size, (list, tuple))
    sizes = list(batch_size) if several else [batch_size] * num_buckets
    capacities = bucket_capacities or [max(capacity, size) for size in sizes]
    for given, what in ((sizes, "batch_size"), (capacities, "bucket_capacities")):
        if len(given) != num_buckets:
            raise ValueError(f"{what}: expected {num_buckets} entries, got {len(given)}")
    with tf.name_scope(name, "bucket", nest.flatten(tensors)):
        flat = [tf.convert_to_tensor(tensor) for tensor in nest.flatten(tensors)]
        if shapes is None:
            shapes = [tensor.shape for tensor in flat]
        shapes = [tf.TensorShape(shape) for shape in shapes]
        dtypes = [tensor.dtype.base_dtype for tensor in flat]
        kind = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
        queues = [
            kind(each, dtypes, shapes, name=f"bucket_queue_{i}")
            for i, each in enumerate(capacities)
        ]
        batches = tf.FIFOQueue(
            capacity, [tf.int32, *dtypes], shared_name=shared_name, name="top_queue"
        )
        keep, which = tf.cast(keep_input, tf.bool), tf.cast(which_bucket, tf.int32)
        _fill(queues, flat, keep, which, num_threads)
        _gather(queues, batches, sizes, allow_smaller_final_batch)
        for queue in queues:
            tf.summary.scalar(f"bucket/{queue.name}/size", tf.cast(queue.size(), tf.float32))
        full = tf.cast(batches.size(), tf.float32) / capacity
        tf.summary.scalar(f"bucket/{batches.name}/fraction_of_{capacity}_full", full)
        number, *outputs = batches.dequeue(name="dequeue_top")
        number.set_shape([])
        same = len(set(sizes)) == 1 and not allow_smaller_final_batch
        for output, shape in zip(outputs, shapes):
            output.set_shape(tf.TensorShape([sizes[0] if same else None]).concatenate(shape))
    if isinstance(tensors, (list, tuple)) and len(outputs) == 1:
        return number, outputs[0]
    return number, nest.pack_sequence_as(tensors, outputs)


def _fill(queues, example, keep, which, num_threads):
    """Adds a queue runner that fills the buckets, and closes them at the end of the input."""
    put = tf.group(
        *[
            tf.cond(
                tf.logical_and(keep, tf.equal(which, i)),
                lambda queue=queue: queue.enqueue(example),
                tf.no_op,
            )
            for i, queue in enumerate(queues)
        ]
    )
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queues[0],
            [put] * num_threads,
            tf.group(*[queue.close() for queue in queues]),
            tf.group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            _END,
        )
    )


def _gather(queues, batches, sizes, allow_smaller):
    """Adds a queue runner with one thread per bucket that moves batches to the output queue."""
    moves = []
    for i, (queue, size) in enumerate(zip(queues, sizes)):
        take = queue.dequeue_up_to if allow_smaller else queue.dequeue_many
        taken = take(size, name=f"dequeue_bucket_{i}")
        taken = taken if isinstance(taken, (list, tuple)) else [taken]
        moves.append(batches.enqueue([tf.constant(i), *taken], name=f"enqueue_from_bucket_{i}"))
    tf.train.add_queue_runner(
        tf.train.QueueRunner(batches, moves, queue_closed_exception_types=_END)
    )


def bucket_by_sequence_length(
    input_length,
    tensors,
    batch_size,
    bucket_boundaries,
    num_threads=1,
    capacity=32,
    bucket_capacities=None,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    keep_input=True,
    shared_name=None,
    name=None,
):
    """Returns batches of examples of similar length; tf.train.start_queue_runners fills the queues.

    Args:
      input_length: scalar int32 tensor, length of the example.
      tensors: list or dict of tensors of one example.
      batch_size: int, or a list with one int per bucket.
      bucket_boundaries: increasing ints; a bucket holds lengths from one boundary (inclusive) to
        the next. There is one bucket more than boundaries.
      num_threads: int, number of threads that fill the buckets.
      capacity: int, maximum number of queued batches.
      bucket_capacities: list with one int per bucket, or None.
      shapes: list of shapes of the tensors; None for their static shapes.
      dynamic_pad: whether to pad with zeros to the longest example of a batch; needs known ranks.
      allow_smaller_final_batch: whether the remaining examples form smaller batches at the end.
      keep_input: scalar bool tensor; examples are dropped where it is False.
      shared_name: name under which sessions share the queue of batches.
      name: name of the operations.

    Returns:
      int32 tensor [batch], the lengths, and the batch, with the structure of `tensors`.

    Raises:
      TypeError: a boundary is not an int.
      ValueError: there are no boundaries, or they do not increase.
    """
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries: the list is empty")
    for one, after in zip(bucket_boundaries, [*bucket_boundaries[1:], None]):
        if not isinstance(one, int):
            raise TypeError(f"bucket_boundaries: expected integers, got {one!r}")
        if after is not None and after <= one:
            raise ValueError(f"bucket_boundaries: they must increase, got {bucket_boundaries}")
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length]):
        length = tf.convert_to_tensor(input_length, tf.int32)
        number = tf.reduce_sum(tf.cast(length >= tf.constant(bucket_boundaries), tf.int32))
        _, outputs = bucket(
            tensors={"length": length, "tensors": tensors},
            which_bucket=number,
            batch_size=batch_size,
            num_buckets=len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [[], *nest.flatten_up_to(tensors, shapes)],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
    return outputs["length"], outputs["tensors"]
