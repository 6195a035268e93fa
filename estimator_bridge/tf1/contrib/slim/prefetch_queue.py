"""`tf.contrib.slim.prefetch_queue`."""

import tensorflow.compat.v1 as tf

__all__ = ["prefetch_queue"]


def prefetch_queue(
    tensors, capacity=8, num_threads=1, dynamic_pad=False, shared_name=None, name=None
):
    """Returns a queue that background threads fill with tensors.

    `dequeue()` returns a list of tensors, or a dict.

    Args:
      tensors: list or dict of tensors.
      capacity: int, capacity of the queue.
      num_threads: int, number of threads.
      dynamic_pad: whether shapes may differ; `dequeue_many` then pads them.
      shared_name: name under which sessions share the queue.
      name: name of the name scope.

    Returns:
      tf.QueueBase.
    """
    names = list(tensors) if isinstance(tensors, dict) else None
    listed = list(tensors.values()) if names else list(tensors)
    with tf.name_scope(name, "prefetch_queue", listed):
        listed = [tf.convert_to_tensor(tensor) for tensor in listed]
        queue = (tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue)(
            capacity,
            [tensor.dtype for tensor in listed],
            shapes=[tensor.shape for tensor in listed],
            names=names,
            shared_name=shared_name,
            name="fifo_queue",
        )
        enqueue = queue.enqueue(dict(zip(names, listed)) if names else listed)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * num_threads))
        tf.summary.scalar(
            f"fraction_of_{capacity}_full", tf.to_float(queue.size()) * (1.0 / capacity)
        )
        return queue
