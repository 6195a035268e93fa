"""Settings of the measurement, and the metrics of a model for some rows."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np

OTHER_ROWS = "it does not have the same rows and labels as the candidate"


class Measured(NamedTuple):
    """The metrics of one model for some rows.

    Attributes:
        values: metric → value.
        samples: metric → its values for the resampled rows, [samples].
    """

    values: dict[str, float]
    samples: dict[str, np.ndarray]


class Settings(NamedTuple):
    """How models are measured.

    Attributes:
        task: binary, multiclass or regression.
        threshold: decision threshold of the scores.
        sliced: names of the metrics that are measured for slices.
        groups: group of each row, int64 [rows]; None: each row is a group.
        seed: seed of the resampling.
    """

    task: str
    threshold: float
    sliced: Sequence[str]
    groups: Optional[np.ndarray] = None
    seed: int = 0
