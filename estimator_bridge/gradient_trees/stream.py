"""The quantiles of one feature, as checkpoints keep them."""

import numpy as np

from ..boosted_trees.quantiles import MAX_ELEMENTS, Levels, select_boundaries, summarize
from .messages import StreamState

__all__ = ["Stream"]

_FIELDS = ("value", "weight", "min_rank", "max_rank")


class Stream:
    """Collects the quantiles of a feature, whose boundaries count from the next layer on.

    Args:
      epsilon: the error that is allowed.
      num_quantiles: how many boundaries are wanted.

    Attributes:
      is_ready: whether there are boundaries.
      boundaries: float32 [n], the largest value of each bucket.
    """

    def __init__(self, epsilon: float, num_quantiles: int):
        self._epsilon = epsilon
        self._num_quantiles = num_quantiles
        self.is_ready = False
        self.boundaries = np.zeros(0, np.float32)
        self._clear()

    def _clear(self) -> None:
        self._levels = Levels(self._epsilon, MAX_ELEMENTS)

    def add(self, values: np.ndarray, weights: np.ndarray) -> None:
        """Adds the values of a batch.

        Args:
          values: float32 [n].
          weights: float32 [n].
        """
        # The summary of a batch may have half of the error.
        self._levels.add(summarize(values, weights, float(np.float32(self._epsilon / 2))))

    def flush(self) -> None:
        """Makes the boundaries of the next layer, and begins anew."""
        self.boundaries = select_boundaries(self._levels.merge(), self._num_quantiles, None)
        self.is_ready = True
        self._clear()

    def bucketize(self, values: np.ndarray) -> np.ndarray:
        """Returns the first boundary that is not below each value, or the last one: int64 [n].

        Args:
          values: float32 [n].
        """
        found = np.searchsorted(self.boundaries, values, side="left")
        return np.minimum(found, len(self.boundaries) - 1)

    @property
    def state(self) -> bytes:
        """What was collected, as a checkpoint keeps it."""
        message = StreamState()
        for level in self._levels.levels:
            entries = message.summaries.add().entries
            for line in level.tolist():
                entries.add(**dict(zip(_FIELDS, line)))
        # Values that wait for a summary; there are none between steps.
        message.summaries.add()
        return bytes(message.SerializeToString())

    @state.setter
    def state(self, serialized: bytes) -> None:
        self._clear()
        message = StreamState.FromString(serialized)
        for summary in message.summaries[:-1]:
            lines = [[getattr(entry, field) for field in _FIELDS] for entry in summary.entries]
            self._levels.levels.append(np.array(lines, np.float32).reshape(-1, len(_FIELDS)))
