"""`tf.keras.utils.HDF5Matrix`, which TensorFlow had until 2.3."""

import numpy as np

__all__ = ["HDF5Matrix"]


class HDF5Matrix:
    """A part of a dataset in an HDF5 file, of which Keras reads a batch at a time.

    Args:
      datapath: the file.
      dataset: name of the dataset.
      start: int, its first row.
      end: int, the row after the last; None for all.
      normalizer: function of the rows that are read; None for none.

    Attributes:
      refs: path -> the file, open for all objects of this class.
    """

    refs: dict = {}

    def __init__(self, datapath, dataset, start=0, end=None, normalizer=None):
        import h5py

        if datapath not in self.refs:
            self.refs[datapath] = h5py.File(datapath, "r")
        self.data = self.refs[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer
        first = self.data[0:1]
        self._example = first if normalizer is None else normalizer(first)

    def __len__(self):
        return self.end - self.start

    def __getitem__(self, key):
        """Returns rows.

        Args:
          key: int, slice whose step is ignored, or increasing numbers of rows.

        Raises:
          IndexError: there are no such rows.
        """
        if isinstance(key, slice):
            first, stop = key.start or 0, len(self) if key.stop is None else key.stop
            last, chosen = stop + self.start, slice(first + self.start, stop + self.start)
        elif isinstance(key, (int, np.integer)):
            chosen = key + self.start
            last = chosen + 1
        else:
            chosen = [number + self.start for number in key]
            last = max(chosen) + 1
        if last > self.end:
            raise IndexError(f"HDF5Matrix: row {last - 1 - self.start} of {len(self)} rows")
        rows = self.data[chosen]
        return rows if self.normalizer is None else self.normalizer(rows)

    @property
    def shape(self):
        """The shape of all rows."""
        return (len(self), *self._example.shape[1:])

    @property
    def dtype(self):
        """The type of the values."""
        return self._example.dtype

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._example.ndim

    @property
    def size(self):
        """The number of values."""
        return int(np.prod(self.shape))
