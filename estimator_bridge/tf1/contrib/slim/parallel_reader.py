"""`tf.contrib.slim.parallel_reader`: several readers that fill one queue with records."""

import tensorflow.compat.v1 as tf

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader(tf.ReaderBase):
    """Parallel readers that fill one queue.

    Args:
      reader_class: class that reads the files, such as tf.TFRecordReader.
      common_queue: queue of (key, record).
      num_readers: int, number of parallel readers.
      reader_kwargs: keyword arguments of the readers, or None.
    """

    def __init__(self, reader_class, common_queue, num_readers=4, reader_kwargs=None):
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def common_queue(self):
        return self._common_queue

    def read(self, queue, name=None):
        """Returns the next record.

        Args:
          queue: queue of file names.
          name: name of the operations.

        Returns:
          (key, record), scalar string tensors.
        """
        reads = [reader.read(queue) for reader in self._readers]
        self._fill(self._common_queue.enqueue(read) for read in reads)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue, num_records, name=None):
        """Returns the next records.

        Args:
          queue: queue of file names.
          num_records: int, number of records.
          name: name of the operations.

        Returns:
          (keys, records), string tensors [num_records].
        """
        reads = [reader.read_up_to(queue, num_records) for reader in self._readers]
        self._fill(self._common_queue.enqueue_many(read) for read in reads)
        return self._common_queue.dequeue_up_to(num_records, name=name)

    def _fill(self, enqueue_ops):
        tf.train.add_queue_runner(tf.train.QueueRunner(self._common_queue, list(enqueue_ops)))

    def num_records_produced(self, name=None):
        """Returns the number of records that all readers have read, an int64 scalar.

        Args:
          name: name of the operation, or None.
        """
        return tf.add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name=None):
        """Returns the number of files that all readers have finished, an int64 scalar.

        Args:
          name: name of the operation, or None.
        """
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
    """Returns one record at a time, read by queue runners.

    Args:
      data_sources: paths, or glob patterns.
      reader_class: class that reads the files, such as tf.TFRecordReader.
      num_epochs: int, number of passes over the files; None repeats forever.
      num_readers: int, number of parallel readers.
      reader_kwargs: keyword arguments of the readers, or None.
      shuffle: whether to shuffle files and records.
      dtypes: dtypes of key and record; None for strings.
      capacity: int, capacity of the queue.
      min_after_dequeue: int, records that stay in the queue for shuffling.
      seed: seed of the shuffling.
      scope: name of the name scope.

    Returns:
      [key, record], scalar tensors.
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
    """Returns each record once, in the order of the files.

    Args:
      data_sources: paths, or glob patterns.
      reader_class: class that reads the files, such as tf.TFRecordReader.
      reader_kwargs: keyword arguments of the readers, or None.
      scope: name of the name scope.

    Returns:
      [key, record], scalar tensors.
    """
    with tf.name_scope(scope, "single_pass_read"):
        names = tf.train.string_input_producer(
            get_data_files(data_sources), num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources):
    """Returns the files that match patterns.

    Args:
      data_sources: paths, or glob patterns.

    Returns:
      List of paths.

    Raises:
      ValueError: no file matches.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [name for source in data_sources for name in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = tf.gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"data_sources: no file matches {data_sources}")
    return files
