"""Rows with the scores of a model, in parts that other processes may have made."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Optional, Protocol, TypeVar

import numpy as np

from trainer.metrics.slices import Predictions


class _Mergeable(Protocol):
    """Takes the rows of later parts."""

    def merge(self, later: Any, /) -> None: ...


Sorter = TypeVar("Sorter", bound=_Mergeable)


@dataclass
class ScoredRows(Generic[Sorter]):
    """Rows with the scores of a model, of which only numbers are kept.

    Attributes:
        predictions: labels, scores and weights.
        places: where each row belongs.
    """

    predictions: Predictions
    places: Sorter


def join_scored(parts: Iterable[ScoredRows[Sorter]]) -> ScoredRows[Sorter]:
    """Returns the rows of several parts, in their order.

    Args:
        parts: at least one; must not be used afterwards.
    """
    labels, scores, weights = [], [], []
    places: Optional[Sorter] = None
    for part in parts:
        labels.append(part.predictions.labels)
        scores.append(part.predictions.scores)
        if part.predictions.weights is not None:
            weights.append(part.predictions.weights)
        if places is None:
            places = part.places
        else:
            places.merge(part.places)
    assert places is not None
    joined = Predictions(
        np.concatenate(labels),
        np.concatenate(scores),
        np.concatenate(weights) if weights else None,
    )
    return ScoredRows(joined, places)
