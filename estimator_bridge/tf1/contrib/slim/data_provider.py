"""`tf.contrib.slim.data_provider`."""

__all__ = ["DataProvider"]


class DataProvider:
    """The named tensors of one example, and the number of examples.

    Args:
      items_to_tensors: {item: tensor}.
      num_samples: int, or None if unknown.
    """

    def __init__(self, items_to_tensors, num_samples):
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items):
        """Returns the tensors of items.

        Args:
          items: list of item names.

        Returns:
          List of tensors.

        Raises:
          ValueError: an item does not exist.
        """
        unknown = [item for item in items if item not in self._items_to_tensors]
        if unknown:
            raise ValueError(f"items: {unknown} do not exist; the items are {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self):
        return list(self._items_to_tensors)

    def num_samples(self):
        return self._num_samples
