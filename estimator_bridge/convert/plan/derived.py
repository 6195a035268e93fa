"""Features that a model makes of raw texts before its columns see them, as plain values.

Nothing here imports TensorFlow.
"""

from typing import Any, NamedTuple, Optional, Union

__all__ = ["DatePart", "Derived", "Pieces", "Renamed", "Words", "dtype_of", "is_of_text"]


class Pieces(NamedTuple):
    """The values of a text that holds several, without blanks around them.

    Attributes:
      name: the feature's.
      source: raw feature with the text.
      separator: between the values.
      dtype: string, int64 or float32.
      ordered: whether an empty piece is a step of a sequence ("", or -1 of integers); otherwise it
        is no value.
      beside: (text, separator) of the values whose weights these are; None if they are none.
    """

    name: str
    source: str
    separator: str
    dtype: str
    ordered: bool
    beside: Optional[tuple[str, str]] = None


class Words(NamedTuple):
    """The words of a free text, and sequences of words with a blank between them.

    A word is of letters, digits, marks on letters and apostrophes.

    Attributes:
      name: the feature's.
      source: raw feature with the text.
      ngrams: words in the longest sequence.
      lower: whether in small letters.
      max_words: words after these are left out; None: none are.
    """

    name: str
    source: str
    ngrams: int
    lower: bool
    max_words: Optional[int]


class DatePart(NamedTuple):
    """A part of an ISO date as an integer; -1 where the text is no date.

    Attributes:
      name: the feature's.
      source: raw feature with the text.
      part: year, month, day, weekday (Monday is 0) or hour.
    """

    name: str
    source: str
    part: str


class Renamed(NamedTuple):
    """A feature under the name that its column has: scopes of a graph do not take every name."""

    name: str
    source: str


Derived = Union[Pieces, Words, DatePart, Renamed]


def is_of_text(derived: Any) -> bool:
    """Whether a text has to be taken apart for it."""
    return not isinstance(derived, Renamed)


def dtype_of(derived: Any) -> str:
    """Type of the values that are made of a text."""
    if isinstance(derived, Pieces):
        return derived.dtype
    return "int64" if isinstance(derived, DatePart) else "string"
