"""The types of options, and the text that each accepts.

A flag and a tuning service give text: "64,32" for a list, "none" for no value.
"""

import os
import re
import typing
from typing import Annotated, Any, Optional

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from estimator_bridge.user_files.text_encoding import find_encoding


def refuse_bool(value: Any) -> Any:
    """Returns a value that is not a boolean.

    Args:
        value: what a file gave for a number.

    Raises:
        ValueError: it is a boolean. YAML reads an unquoted yes or on as true, which equals 1.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    return value


def split(value: Any) -> Any:
    """Converts "a,b" to ["a", "b"], and a number to a list of one; returns other values as given.

    Args:
        value: what a flag or a file gave.
    """
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, (int, float)) else value


def none(value: Any) -> Any:
    """Converts "", "none" and "null" to None; returns other values as given.

    Args:
        value: what a flag or a file gave.
    """
    if isinstance(value, str) and value.strip().lower() in ("", "none", "null"):
        return None
    return value


def yes_or_no(value: Any) -> Any:
    """Converts a boolean to "yes" or "no"; returns other values as given.

    Args:
        value: what a flag or a file gave.
    """
    # YAML reads an unquoted yes or no as a boolean.
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


_SWITCHES = {
    **dict.fromkeys(("true", "yes", "on", "auto"), "auto"),
    **dict.fromkeys(("false", "no", "off", "none"), "off"),
}


def auto_or_off(value: Any) -> Any:
    """Converts a switch to "auto" or "off"; returns a path as given.

    Args:
        value: what a flag or a file gave. A folder called `false` is written ./false.
    """
    # YAML reads an unquoted on or off as a boolean.
    if isinstance(value, (bool, str)):
        return _SWITCHES.get(str(value).strip().lower(), value)
    return value


def check_delimiter(value: Any) -> Any:
    """Converts "tab", or a backslash followed by t, to a tab, which is hard to type in a shell.

    Args:
        value: what a flag or a file gave.

    Raises:
        ValueError: the value cannot delimit CSV fields.
    """
    if value in ("\\t", "tab"):
        return "\t"
    if isinstance(value, str) and len(value) == 1 and (value in '"\r\n\0' or not value.isascii()):
        raise ValueError(
            f"got {value!r:.80}: use one ASCII character other than a quote or a line end"
        )
    return value


def check_encoding(value: Any) -> Any:
    """Converts a text encoding to Python's name of it; returns other values as given.

    Args:
        value: what a flag or a file gave.

    Raises:
        ValueError: there is no such encoding of text.
    """
    return find_encoding(value) if isinstance(value, str) else value


def _check_code(value: str) -> str:
    if not CODE_REFERENCE.fullmatch(value):
        raise ValueError(f"got {value!r:.80}: write package.module:name")
    return value


def parse_steps(text: str) -> tuple[int, int]:
    """Returns the first and the last step of "FIRST:LAST".

    Args:
        text: two global steps, both included.

    Raises:
        ValueError: the text has another form, or the last step comes before the first.
    """
    match = re.fullmatch(r"(\d+):(\d+)", text.strip())
    first, last = map(int, match.groups()) if match else (0, 0)
    if not 1 <= first <= last:
        raise ValueError(
            f"got {text!r}: write FIRST:LAST, two global steps from 1, such as 200:210"
        )
    return first, last


def _check_steps(value: str) -> str:
    parse_steps(value)
    return value.strip()


def _refuse_number(value: Any) -> Any:
    if isinstance(value, int):
        raise ValueError(f"got {value!r:.80}: write FIRST:LAST, in quotes in YAML")
    return value


StrList = Annotated[tuple[str, ...], BeforeValidator(split)]
Layers = Annotated[tuple[Annotated[int, Field(gt=0)], ...], BeforeValidator(split)]
Ints = Annotated[tuple[Annotated[int, Field(gt=0)], ...], BeforeValidator(split)]
Floats = Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(split)]
OptionalInt = Annotated[Optional[Annotated[int, Field(gt=0)]], BeforeValidator(none)]
OptionalFloat = Annotated[Optional[Annotated[float, Field(gt=0)]], BeforeValidator(none)]
OptionalStr = Annotated[Optional[str], BeforeValidator(none)]
# The shell expands ~ only at the beginning of a word, not in --job_dir=~/job.
OptionalPath = Annotated[
    Optional[Annotated[str, AfterValidator(os.path.expanduser)]], BeforeValidator(none)
]
# Global steps FIRST:LAST, both included.
OptionalSteps = Annotated[
    Optional[Annotated[str, AfterValidator(_check_steps)]],
    BeforeValidator(none),
    BeforeValidator(_refuse_number),
]
# package.module:name, an object in the user's code.
CODE_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
CodeName = Annotated[str, AfterValidator(_check_code)]
OptionalCode = Annotated[Optional[CodeName], BeforeValidator(none)]


class Section(pydantic.BaseModel):
    """A frozen group of options; unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def _refuse_bools(cls, value: Any, info: pydantic.ValidationInfo) -> Any:
        field = cls.model_fields[str(info.field_name)]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool) and _is_number(field.annotation):
                refuse_bool(one)
        return value


def _is_number(annotation: Any) -> bool:
    """Whether a type accepts numbers, and no booleans."""
    kinds, found = [annotation], set()
    while kinds:
        kind = kinds.pop()
        kinds += typing.get_args(kind)
        found |= {kind} if isinstance(kind, type) else set()
    return bool(found & {int, float}) and bool not in found
