"""`tf.contrib.slim.dataset_data_provider`."""

from estimator_bridge.tf1.contrib.slim.data_provider import DataProvider
from estimator_bridge.tf1.contrib.slim.parallel_reader import parallel_read

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """Decoded examples of a `dataset.Dataset`, one after the other.

    Args:
      dataset: the Dataset.
      num_readers, reader_kwargs, shuffle, num_epochs, seed, scope: as for
        `parallel_reader.parallel_read`.
      common_queue_capacity, common_queue_min: its `capacity` and `min_after_dequeue`.
      record_key: the item under which a record's key is.

    Raises:
      ValueError: the data set has an item of the name `record_key`.
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
            raise ValueError(f"The data set has an item {record_key!r}; choose another record_key")
        tensors = dataset.decoder.decode(record, items)
        super().__init__({**dict(zip(items, tensors)), record_key: key}, dataset.num_samples)
