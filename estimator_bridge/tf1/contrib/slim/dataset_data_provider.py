"""`tf.contrib.slim.dataset_data_provider`."""

from estimator_bridge.tf1.contrib.slim.data_provider import DataProvider
from estimator_bridge.tf1.contrib.slim.parallel_reader import parallel_read

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """The decoded examples of a `dataset.Dataset`, one at a time.

    Args:
      dataset: dataset.Dataset.
      num_readers: int, number of parallel readers.
      reader_kwargs: keyword arguments of the readers, or None.
      shuffle: whether to shuffle files and records.
      num_epochs: int, number of passes over the files; None repeats forever.
      common_queue_capacity: int, capacity of the queue.
      common_queue_min: int, records that stay in the queue for shuffling.
      record_key: item name of a record's key.
      seed: seed of the shuffling.
      scope: name of the name scope.

    Raises:
      ValueError: the data set already has an item `record_key`.
    """

    def __init__(
        self,
        dataset,
        num_readers=1,
        reader_kwargs=None,
        shuffle=True,
        num_epochs=None,
        common_queue_capacity=256,
        common_queue_min=128,
        record_key="record_key",
        seed=None,
        scope=None,
    ):
        key, record = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(
                f"record_key: the data set already has an item {record_key!r}; choose another "
                "record_key"
            )
        tensors = dataset.decoder.decode(record, items)
        super().__init__({**dict(zip(items, tensors)), record_key: key}, dataset.num_samples)
