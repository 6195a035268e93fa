"""Detects multivalent texts, such as red|green, and their separator."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

# In the order in which they are tried. A blank also separates words, so it is not tried.
SEPARATORS = ("|", ";", ",")
# At least this share of the different texts must contain the separator.
SEPARATED_SHARE = 0.3
# The values of multivalent texts recur. Therefore there must be at least FEWEST_TEXTS different
# texts, and at most half as many different values.
FEWEST_TEXTS = 8
MOST_VALUES_SHARE = 0.5
# Maximum average number of words per value. The clauses of a sentence have more words.
MOST_WORDS = 2.0


class Multivalent(NamedTuple):
    """The values of multivalent texts.

    Attributes:
        separator: the separator of the values.
        counts: single value → number of rows.
        most: largest number of values in one text.
    """

    separator: str
    counts: Counter[str]
    most: int


def find_separator(texts: Sequence[tuple[str, int]]) -> Optional[Multivalent]:
    """Splits texts if they look multivalent.

    Args:
        texts: (different text, its number of rows).

    Returns:
        The values; None if the texts are single values or prose.
    """
    for separator in SEPARATORS:
        separated = sum(separator in text for text, _ in texts)
        if len(texts) < FEWEST_TEXTS or separated < SEPARATED_SHARE * len(texts):
            continue
        counts: Counter[str] = Counter()
        most = 0
        for text, rows in texts:
            values = [value.strip() for value in text.split(separator)]
            most = max(most, len(values))
            for value in values:
                counts[value] += rows
        del counts[""]
        if not counts:
            continue
        words = sum(rows * len(value.split()) for value, rows in counts.items())
        recurs = len(counts) <= MOST_VALUES_SHARE * len(texts)
        if (recurs or are_numbers(counts)) and words <= MOST_WORDS * sum(counts.values()):
            return Multivalent(separator, counts, most)
    return None


def choose_separator(values: Iterable[str]) -> Optional[str]:
    """Returns a separator that no value contains; None if there is none.

    Args:
        values: single values.
    """
    together = "\0".join(values)
    return next((each for each in SEPARATORS if each not in together), None)


def are_numbers(values: Iterable[str], kind: type = float) -> bool:
    """Returns whether every text is a number.

    Args:
        values: texts.
        kind: float, or int for whole numbers.
    """
    try:
        for value in values:
            kind(value)
    except ValueError:
        return False
    return True
