"""Features that a model computes from raw texts before its feature columns read them.

This module does not import TensorFlow.
"""

from typing import Any, NamedTuple, Optional, Union

__all__ = [
    "DatePart",
    "Derived",
    "Filled",
    "IsMissing",
    "Renamed",
    "SplitText",
    "Words",
    "dtype_of",
    "is_from_text",
]


class SplitText(NamedTuple):
    """The values of a text that contains several, split at a separator and stripped of blanks.

    Attributes:
      name: name of the derived feature.
      source: raw feature with the text.
      separator: text between two values.
      dtype: string, int64 or float32.
      ordered: True for a sequence, in which an empty value is a step ("" for strings, -1 for
        integers); False if empty values are dropped.
      weighted_text: if this feature contains weights, the (raw feature, separator) of the weighted
        values; otherwise None.
    """

    name: str
    source: str
    separator: str
    dtype: str
    ordered: bool
    weighted_text: Optional[tuple[str, str]] = None


class Words(NamedTuple):
    """The words of a free text and its n-grams, which are sequences of words joined by a blank.

    A word consists of letters, digits, combining marks and apostrophes.

    Attributes:
      name: name of the derived feature.
      source: raw feature with the text.
      ngrams: number of words in the longest sequence.
      lower: whether words are lowercased.
      max_words: number of words that are kept; None keeps all.
    """

    name: str
    source: str
    ngrams: int
    lower: bool
    max_words: Optional[int]


class DatePart(NamedTuple):
    """One part of an ISO date as an integer; -1 if the text is not a date.

    Attributes:
      name: name of the derived feature.
      source: raw feature with the text.
      part: year, month, day, weekday (Monday is 0) or hour.
    """

    name: str
    source: str
    part: str


class Renamed(NamedTuple):
    """A feature under the changed name of its column: graph scopes do not allow every name.

    Attributes:
      name: name of the derived feature.
      source: raw feature.
    """

    name: str
    source: str


class Filled(NamedTuple):
    """A number whose missing values, which are NaN, are replaced.

    Attributes:
      name: name of the derived feature.
      source: raw feature.
      value: replaces NaN.
    """

    name: str
    source: str
    value: float


class IsMissing(NamedTuple):
    """0 where a number is missing, which is NaN, and -1, no value, elsewhere.

    Attributes:
      name: name of the derived feature.
      source: raw feature.
    """

    name: str
    source: str


Derived = Union[SplitText, Words, DatePart, Renamed, Filled, IsMissing]


def is_from_text(derived: Any) -> bool:
    """Returns whether the feature is computed from the characters of a text.

    Args:
      derived: a derived feature.
    """
    return not isinstance(derived, (Renamed, Filled, IsMissing))


def dtype_of(derived: Any) -> str:
    """Returns the dtype of a feature that is computed from a text.

    Args:
      derived: a derived feature for which is_from_text returns True.
    """
    if isinstance(derived, SplitText):
        return derived.dtype
    return "int64" if isinstance(derived, DatePart) else "string"
