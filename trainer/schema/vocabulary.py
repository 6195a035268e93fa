"""Checks of values: vocabularies, numbers in range, and numbers of ids."""

from collections.abc import Sequence
from typing import Annotated, Any, Optional

from pydantic import BeforeValidator, Field

from trainer.config.values import refuse_bool

# The largest float32, and approximately the smallest positive normal float32.
MAX_FLOAT = 3.4028234663852886e38
MIN_FLOAT = 1.2e-38
INTS = range(-(2**63), 2**63)
# Ids are int32.
MAX_IDS = 2**31 - 1

Number = Annotated[
    float, BeforeValidator(refuse_bool), Field(ge=-MAX_FLOAT, le=MAX_FLOAT, allow_inf_nan=False)
]
Factor = Annotated[
    float, BeforeValidator(refuse_bool), Field(ge=MIN_FLOAT, le=MAX_FLOAT, allow_inf_nan=False)
]
Count = Annotated[int, BeforeValidator(refuse_bool), Field(gt=0, le=MAX_IDS)]
CountOrZero = Annotated[int, BeforeValidator(refuse_bool), Field(ge=0, le=MAX_IDS)]
# Dimensions of an embedding.
Width = Annotated[int, BeforeValidator(refuse_bool), Field(gt=0, le=65_536)]


def find_problem(value: Any, kind: str) -> Optional[str]:
    """Returns why a value does not have the type of a column; None if it has this type.

    Args:
        value: any value of a YAML file.
        kind: float, int or string.
    """
    if isinstance(value, bool):
        article = "an" if kind == "int" else "a"
        return f"{value} is not {article} {kind}; put it in quotes if it is text"
    if kind == "string":
        return (
            None if isinstance(value, str) else f"{value!r:.80} is not a string; put it in quotes"
        )
    if not isinstance(value, int if kind == "int" else (int, float)):
        return f"{value!r:.80} is not {'an int' if kind == 'int' else 'a float'}"
    if kind == "int":
        return None if value in INTS else f"{value!r:.40} does not fit into an int64"
    # NaN fails the comparison too.
    return None if abs(value) <= MAX_FLOAT else f"{value!r:.40} does not fit into a float32"


def check_feature_vocabulary(vocabulary: Sequence[Any]) -> None:
    """Checks that a feature's vocabulary contains neither "" nor -1, which mean a missing value.

    TensorFlow's feature columns drop "" and -1 before they look a value up.

    Args:
        vocabulary: the known values.

    Raises:
        ValueError: the vocabulary contains "" or -1.
    """
    for value in ("", -1):
        if value in vocabulary:
            raise ValueError(
                f"vocabulary: {value!r:.80} means no value in a feature; remove it"
                f"{', or read the column as type string' if value == -1 else ''}"
            )


def check_vocabulary(vocabulary: Sequence[Any], kind: str) -> None:
    """Checks that a vocabulary contains distinct values of one type.

    Args:
        vocabulary: the known values.
        kind: type of the column: float, int or string.

    Raises:
        ValueError: the vocabulary is empty, or contains a value of another type or a duplicate.
    """
    if not vocabulary:
        raise ValueError("the vocabulary is empty")
    for value in vocabulary:
        # YAML does not read an unquoted yes, no, 1.0 or 2013 as text.
        problem = find_problem(value, kind)
        if problem:
            raise ValueError(f"vocabulary: {problem}")
    if len(set(vocabulary)) != len(vocabulary):
        twice = next(value for value in vocabulary if list(vocabulary).count(value) > 1)
        raise ValueError(f"vocabulary: {twice!r:.80} appears twice")
