"""Rows with the scores of a model, in parts that other processes may have made."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Optional, Protocol, TypeVar

import numpy as np

from trainer.inputs.bad_rows import BadRows
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
        dropped: the rows that were left out; None: no row may be.
    """

    predictions: Predictions
    places: Sorter
    dropped: Optional[BadRows] = None


def join_scored(parts: Iterable[ScoredRows[Sorter]]) -> ScoredRows[Sorter]:
    """Returns the rows of several parts, in their order.

    Args:
        parts: at least one; must not be used afterwards.

    Raises:
        UserError: more rows were left out than may be.
    """
    labels, scores, weights = [], [], []
    places: Optional[Sorter] = None
    dropped: Optional[BadRows] = None
    for part in parts:
        if dropped is None:
            dropped = part.dropped
        elif part.dropped is not None:
            dropped.merge(part.dropped)
            # Each part has fewer than may be.
            dropped.drop(0)
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
    return ScoredRows(joined, places, dropped)
