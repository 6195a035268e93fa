"""The kinds of value that an option can have, and what text is accepted for each.

Text is accepted wherever a flag or a tuning service would give text ("64,32" for a list, "none" for
no value).
"""

import re
from typing import Annotated, Any, Optional

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field


def split(value: Any) -> Any:
    """Turns "a,b" (a flag's form of a list) into ["a", "b"]; one scalar into a list of one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, (int, float)) else value


def none(value: Any) -> Any:
    return (
        None if isinstance(value, str) and value.strip().lower() in ("", "none", "null") else value
    )


def yes_or_no(value: Any) -> Any:
    # YAML reads an unquoted yes or no as a boolean.
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


_SWITCHES = {
    **dict.fromkeys(("true", "yes", "on", "auto"), "auto"),
    **dict.fromkeys(("false", "no", "off", "none"), "off"),
}


def auto_or_off(value: Any) -> Any:
    """The path that a switch may also be; a folder of such a name is ./false."""
    # YAML reads an unquoted on or off as a boolean.
    if isinstance(value, (bool, str)):
        return _SWITCHES.get(str(value).strip().lower(), value)
    return value


def check_delimiter(value: Any) -> Any:
    if value in ("\\t", "tab"):
        # A tab is hard to type in a shell.
        return "\t"
    if isinstance(value, str) and len(value) == 1 and (value in '"\r\n\0' or not value.isascii()):
        raise ValueError(f"got {value!r}: it is one ASCII character, no quote and no line end")
    return value


def _check_code(value: str) -> str:
    if not CODE_REFERENCE.fullmatch(value):
        raise ValueError(f"got {value!r}: write package.module:name")
    return value


def parse_steps(text: str) -> tuple[int, int]:
    """The first and the last of the steps A:B.

    Raises:
        ValueError: that is not what it is.
    """
    match = re.fullmatch(r"(\d+):(\d+)", text.strip())
    first, last = map(int, match.groups()) if match else (0, 0)
    if not 1 <= first <= last:
        raise ValueError(
            f"got {text!r}: write FIRST:LAST, two global steps from 1 on, as in 200:210"
        )
    return first, last


def _check_steps(value: str) -> str:
    parse_steps(value)
    return value.strip()


def _refuse_yaml_time(value: Any) -> Any:
    if isinstance(value, int):
        # Unquoted in YAML, 10:20 is the number of seconds of that time.
        raise ValueError(f"got {value!r}: write FIRST:LAST, in quotes where it is YAML")
    return value


StrList = Annotated[tuple[str, ...], BeforeValidator(split)]
Layers = Annotated[tuple[Annotated[int, Field(gt=0)], ...], BeforeValidator(split)]
Ints = Annotated[tuple[Annotated[int, Field(gt=0)], ...], BeforeValidator(split)]
Floats = Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(split)]
OptionalInt = Annotated[Optional[Annotated[int, Field(gt=0)]], BeforeValidator(none)]
OptionalFloat = Annotated[Optional[Annotated[float, Field(gt=0)]], BeforeValidator(none)]
OptionalStr = Annotated[Optional[str], BeforeValidator(none)]
# Global steps A:B, both included.
OptionalSteps = Annotated[
    Optional[Annotated[str, AfterValidator(_check_steps)]],
    BeforeValidator(none),
    BeforeValidator(_refuse_yaml_time),
]
# package.module:name, an object in code that is not ours.
CODE_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
CodeName = Annotated[str, AfterValidator(_check_code)]
OptionalCode = Annotated[Optional[CodeName], BeforeValidator(none)]


class Section(pydantic.BaseModel):
    """A frozen group of options; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
