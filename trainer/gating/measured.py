"""How models are measured, and the metrics of one for some rows."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np

OTHER_ROWS = "it reads other rows or other labels from the data"


class Measured(NamedTuple):
    """The metrics of one model for some rows.

    Attributes:
        values: metric → value.
        samples: metric → values of the samples, [samples].
    """

    values: dict[str, float]
    samples: dict[str, np.ndarray]


class Settings(NamedTuple):
    """How models are measured.

    Attributes:
        task: binary, multiclass or regression.
        threshold: decision threshold of the scores.
        sliced: metrics that slices are measured by.
        groups: group of each row, int64 [rows]; None: each row is a group.
        seed: of the samples.
    """

    task: str
    threshold: float
    sliced: Sequence[str]
    groups: Optional[np.ndarray] = None
    seed: int = 0
