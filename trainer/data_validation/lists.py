"""Whether texts hold several values each, and what is between them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

# In the order in which they are tried. A blank is no candidate: it is in every text of words.
SEPARATORS = ("|", ";", ",")
# Share of the different texts that must have a separator.
SEPARATED_SHARE = 0.3
# Single values come again in other texts: of at least so many texts there are half as many.
FEWEST_TEXTS = 8
MOST_VALUES_SHARE = 0.5
# Words of a single value, on average; the clauses of a sentence have more.
MOST_WORDS = 2.0


class Several(NamedTuple):
    """Texts of several values, apart.

    Attributes:
        separator: between them.
        counts: single value → how often it is there.
        most: values in the longest text.
    """

    separator: str
    counts: Counter
    most: int


def find_separator(texts: Sequence[tuple[str, int]]) -> Optional[Several]:
    """Takes texts apart, if they look like several values each.

    Args:
        texts: (different text, its rows).

    Returns:
        None where they are single values, or prose.
    """
    for separator in SEPARATORS:
        separated = sum(separator in text for text, _ in texts)
        if len(texts) < FEWEST_TEXTS or separated < SEPARATED_SHARE * len(texts):
            continue
        counts: Counter = Counter()
        most = 0
        for text, rows in texts:
            pieces = [piece.strip() for piece in text.split(separator)]
            most = max(most, len(pieces))
            for piece in pieces:
                counts[piece] += rows
        del counts[""]
        if not counts:
            continue
        words = sum(rows * len(piece.split()) for piece, rows in counts.items())
        comes_again = len(counts) <= MOST_VALUES_SHARE * len(texts)
        if (comes_again or are_numbers(counts)) and words <= MOST_WORDS * sum(counts.values()):
            return Several(separator, counts, most)
    return None


def choose_separator(values: Iterable[str]) -> Optional[str]:
    """One that stands in none of the values; None where each does."""
    together = "\0".join(values)
    return next((each for each in SEPARATORS if each not in together), None)


def are_numbers(values: Iterable[str], kind: type = float) -> bool:
    """Whether each of the texts is a number (kind int: a whole one)."""
    try:
        for value in values:
            kind(value)
    except ValueError:
        return False
    return True
