"""Which values there can be: lists of known ones, numbers that fit, counts of ids."""

from collections.abc import Sequence
from typing import Annotated, Any, Optional

from pydantic import BeforeValidator, Field

# The largest number that a float32 holds, and the smallest one above 0 with all of its digits.
MAX_FLOAT = 3.4028234663852886e38
MIN_FLOAT = 1.2e-38
INTS = range(-(2**63), 2**63)
# A table of more rows than this no machine holds; ids are kept as int32.
MAX_IDS = 2**31 - 1


def _refuse_bool(value: Any) -> Any:
    # YAML reads an unquoted yes or on as true, which Python would count as 1.
    if isinstance(value, bool):
        raise ValueError(f"{value} is no number")
    return value


Number = Annotated[
    float, BeforeValidator(_refuse_bool), Field(ge=-MAX_FLOAT, le=MAX_FLOAT, allow_inf_nan=False)
]
Factor = Annotated[
    float, BeforeValidator(_refuse_bool), Field(ge=MIN_FLOAT, le=MAX_FLOAT, allow_inf_nan=False)
]
Count = Annotated[int, BeforeValidator(_refuse_bool), Field(gt=0, le=MAX_IDS)]
CountOrZero = Annotated[int, BeforeValidator(_refuse_bool), Field(ge=0, le=MAX_IDS)]
# Dimensions of an embedding.
Width = Annotated[int, BeforeValidator(_refuse_bool), Field(gt=0, le=65_536)]


def find_problem(value: Any, kind: str) -> Optional[str]:
    """Why a value is none of type float, int or string; None where it is one."""
    if isinstance(value, bool):
        return f"{value} is no {kind}; put it in quotes if it is text"
    if kind == "string":
        return None if isinstance(value, str) else f"{value!r} is not a string; put it in quotes"
    if not isinstance(value, int if kind == "int" else (int, float)):
        return f"{value!r} is not {'an int' if kind == 'int' else 'a float'}"
    if kind == "int":
        return None if value in INTS else f"{value!r:.40} does not fit into an int64"
    # Whatever is compared with NaN is false.
    return None if abs(value) <= MAX_FLOAT else f"{value!r:.40} does not fit into a float32"


def refuse_no_value(vocabulary: Sequence[Any]) -> None:
    """Refuses what TensorFlow's feature columns drop as "no value" before they look it up.

    Raises:
        ValueError: the vocabulary of a feature holds "" or -1.
    """
    for value in ("", -1):
        if value in vocabulary:
            raise ValueError(
                f"vocabulary: {value!r} means no value in a feature; leave it out"
                f"{', or read the column as type string' if value == -1 else ''}"
            )


def check_vocabulary(vocabulary: Sequence[Any], kind: str) -> None:
    """Refuses a vocabulary that is empty, mixed in type or says a value twice.

    Raises:
        ValueError: says what is wrong with it.
    """
    if not vocabulary:
        raise ValueError("the vocabulary is empty")
    for value in vocabulary:
        # YAML reads an unquoted yes, no, 1.0 or 2013 as something other than text.
        problem = find_problem(value, kind)
        if problem:
            raise ValueError(f"vocabulary: {problem}")
    if len(set(vocabulary)) != len(vocabulary):
        twice = next(value for value in vocabulary if list(vocabulary).count(value) > 1)
        raise ValueError(f"vocabulary: {twice!r} appears twice")
