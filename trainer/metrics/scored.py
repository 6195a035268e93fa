"""Rows with the scores of a model, in parts that other processes may have made."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trainer.metrics.slices import Predictions, join_predictions


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
    first, *others = parts
    for other in others:
        first.places.merge(other.places)
    joined = join_predictions([first.predictions, *(other.predictions for other in others)])
    return ScoredRows(joined, first.places)
