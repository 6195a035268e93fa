"""Parses and checks the texts of environment variables; each error is one line."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn, Optional

from trainer.errors import UserError

# Characters of a received value that a message shows.
SHOWN = 60
HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]")
NUMBER = re.compile("[0-9]{1,9}")
NAME = re.compile("[A-Za-z0-9_-]{1,100}")
PRINTABLE = re.compile("[ -~]{1,200}")


def load_object(environ: Mapping[str, str], name: str) -> dict[str, Any]:
    """Returns the JSON object in a variable; {} if the variable is empty or not set.

    Args:
        environ: variable → text.
        name: the variable.

    Raises:
        UserError: the text is not a JSON object.
    """
    text = environ.get(name, "").strip()
    if not text:
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise UserError(f"{name}: not JSON: {error}; received {text[:SHOWN]!r}") from error
    except RecursionError:
        raise UserError(
            f"{name}: its brackets are nested too deeply; it is not a cluster"
        ) from None
    if not isinstance(value, dict):
        raise UserError(f"{name}: expected an object, received {text[:SHOWN]!r}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


def get_object(config: dict[str, Any], key: str, source: str) -> dict[str, Any]:
    """Returns an entry of an object that is itself an object; {} if it is missing or empty.

    Args:
        config: the object.
        key: the entry.
        source: the variable, for messages.

    Raises:
        UserError: the entry is not an object.
    """
    value = config.get(key) or {}
    if not isinstance(value, dict):
        raise UserError(f"{source}: {key}: expected an object, received {show(value)}")
    return value


def get_name(value: Any, what: str, pattern: re.Pattern[str] = NAME) -> Optional[str]:
    """Returns the name or number that a variable gives to a run or a trial; None if it is empty.

    Args:
        value: a text or a whole number.
        what: the variable and the entry, for messages.
        pattern: what the text must match.

    Raises:
        UserError: the text does not match.
    """
    if value is None or value == "":
        return None
    is_text = isinstance(value, (str, int)) and not isinstance(value, bool)
    if is_text and pattern.fullmatch(str(value)):
        return str(value)
    allowed = "letters, digits, _ and -" if pattern is NAME else "a text of printable characters"
    raise UserError(f"{what}: expected {allowed}, received {show(value)}")


def parse_number(value: Any) -> Optional[int]:
    """Returns a whole number of at most nine digits, given as a number or as text; else None.

    Args:
        value: any value that JSON can contain.
    """
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        text = str(value)
        return int(text) if NUMBER.fullmatch(text) else None
    return None


def list_addresses(addresses: Any, role: str, source: str) -> list[str]:
    """Returns the checked addresses of one role.

    Args:
        addresses: a list of "host:port", or an object index → "host:port".
        role: the role, for messages.
        source: the variable, for messages.

    Raises:
        UserError: this is no list, or an address is invalid.
    """
    if isinstance(addresses, dict):
        # TensorFlow also accepts index → address.
        by_index = {parse_number(key): address for key, address in addresses.items()}
        if len(by_index) != len(addresses) or set(by_index) != set(range(len(by_index))):
            raise UserError(
                f"{source}: {role}: the processes are not numbered 0, 1, 2, ...: "
                f"received {show(addresses)}"
            )
        addresses = [by_index[index] for index in range(len(by_index))]
    if not isinstance(addresses, list):
        raise UserError(
            f"{source}: {role}: expected a list of host:port, received {show(addresses)}"
        )
    for address in addresses:
        _check_address(address, role, source)
    return list(addresses)


def _check_address(address: Any, role: str, source: str) -> None:
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not (HOST.fullmatch(host) and port.isascii() and port.isdigit()):
        raise UserError(f"{source}: {role}: {show(address)} is not host:port")
    number = parse_number(port)
    if number is None or not 0 < number < 65536:
        raise UserError(f"{source}: {role}: {show(address)}: the port must lie between 1 and 65535")


def check_path(text: str, name: str) -> str:
    """Returns the text of a variable that names a folder, a file or an address.

    Args:
        text: the text.
        name: the variable.

    Raises:
        UserError: the text has an unprintable character, for example a byte that is not UTF-8.
    """
    if not text.isprintable():
        raise UserError(f"{name}: unprintable character in {text[:SHOWN]!r}; correct the variable")
    return text


def show(value: Any) -> str:
    """Returns the beginning of a value for a message.

    Args:
        value: any value that JSON can contain.
    """
    try:
        shown = repr(value)
    except RecursionError:
        return "a value with deeply nested brackets"
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
