"""`tf.contrib.slim.data_provider`."""

__all__ = ["DataProvider"]


class DataProvider:
    """Named tensors of one example, and how many examples there are.

    Args:
      items_to_tensors: {item: tensor}.
      num_samples: an int, or None where it is not known.
    """

    def __init__(self, items_to_tensors, num_samples):
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items):
        """Returns the tensors of the named items. ValueError: there is no such item."""
        unknown = [item for item in items if item not in self._items_to_tensors]
        if unknown:
            raise ValueError(f"Items {unknown} are not among {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self):
        return list(self._items_to_tensors)

    def num_samples(self):
        return self._num_samples
