"""`tf.contrib.slim.parallel_reader`: records of files, read by several readers into a queue."""

import tensorflow.compat.v1 as tf

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader(tf.ReaderBase):
    """Readers side by side that fill one queue.

    Args:
      reader_class: makes a reader; tf.TFRecordReader and such.
      common_queue: of (key, record).
      num_readers: how many.
      reader_kwargs: for each.
    """

    def __init__(self, reader_class, common_queue, num_readers=4, reader_kwargs=None):
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def common_queue(self):
        return self._common_queue

    def read(self, queue, name=None):
        """Returns (key, record) of one record of the files whose names are in `queue`."""
        reads = [reader.read(queue) for reader in self._readers]
        self._fill(self._common_queue.enqueue(read) for read in reads)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue, num_records, name=None):
        """Returns (keys, records), [num_records] each."""
        reads = [reader.read_up_to(queue, num_records) for reader in self._readers]
        self._fill(self._common_queue.enqueue_many(read) for read in reads)
        return self._common_queue.dequeue_up_to(num_records, name=name)

    def _fill(self, enqueue_ops):
        tf.train.add_queue_runner(tf.train.QueueRunner(self._common_queue, list(enqueue_ops)))

    def num_records_produced(self, name=None):
        return tf.add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name=None):
        return tf.add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(
    data_sources,
    reader_class,
    num_epochs=None,
    num_readers=4,
    reader_kwargs=None,
    shuffle=True,
    dtypes=None,
    capacity=256,
    min_after_dequeue=128,
    seed=None,
    scope=None,
):
    """Returns [key, record], scalars, of one record after the other; queue runners read them.

    Args:
      data_sources: files, or patterns.
      reader_class: makes a reader.
      num_epochs: None: for ever.
      dtypes: of key and record; strings if None.
      capacity, min_after_dequeue: of the queue in between; the second only with `shuffle`.
    """
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "parallel_read"):
        names = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        dtypes = dtypes or [tf.string, tf.string]
        if shuffle:
            queue = tf.RandomShuffleQueue(
                capacity, min_after_dequeue, dtypes, seed=seed, name="common_queue"
            )
        else:
            queue = tf.FIFOQueue(capacity, dtypes, name="common_queue")
        tf.summary.scalar(
            f"fraction_of_{capacity}_full", tf.to_float(queue.size()) * (1.0 / capacity)
        )
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(data_sources, reader_class, reader_kwargs=None, scope=None):
    """Returns [key, record] of each record once, in the files' order."""
    with tf.name_scope(scope, "single_pass_read"):
        names = tf.train.string_input_producer(
            get_data_files(data_sources), num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources):
    """Returns the files of a pattern, or of a list of patterns.

    Raises: ValueError: there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [name for source in data_sources for name in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = tf.gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
