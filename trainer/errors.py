"""Errors that the user can fix, errors that pass by themselves, and exit statuses."""

import difflib
import sys
import threading
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Optional

from estimator_bridge.output.terminal import escape

# Exit status of every command after an error that only the user can correct.
USER_ERROR_STATUS = 2
# Exit status of every command after an error that may pass by itself (EX_TEMPFAIL of sysexits.h):
# the same command may succeed later.
TEMPORARY_STATUS = 75
# Exit status of a process that ends because another one has ended. They are restarted together.
FOLLOWED_STATUS = TEMPORARY_STATUS


# Secret values, and what messages show instead. Ordinary text may contain a short value, so short
# values are not replaced.
_SECRETS: dict[str, str] = {}
MIN_SECRET = 6


def conceal(value: str, shown: str) -> None:
    """Makes messages and tracebacks show a name instead of a secret value from now on.

    Args:
        value: the secret.
        shown: the text that is shown.
    """
    if len(value) >= MIN_SECRET:
        _SECRETS[value] = shown
        sys.excepthook = _show_uncaught
        threading.excepthook = _show_uncaught_of_thread


def _show_uncaught(kind: Any, error: BaseException, trace: Optional[TracebackType]) -> None:
    """`sys.excepthook` that shows names instead of secret values."""
    print(hide_secrets("".join(traceback.format_exception(kind, error, trace))), file=sys.stderr)


def _show_uncaught_of_thread(uncaught: threading.ExceptHookArgs) -> None:
    """`threading.excepthook` that shows names instead of secret values."""
    if uncaught.exc_type is not SystemExit and uncaught.exc_value is not None:
        _show_uncaught(uncaught.exc_type, uncaught.exc_value, uncaught.exc_traceback)


def hide_secrets(text: str) -> str:
    """Returns a text with each secret value that `conceal` knows replaced.

    Args:
        text: a message.
    """
    for value, shown in _SECRETS.items():
        text = text.replace(value, shown)
    return text


# Whether messages show types of values of the data in place of the values.
_redacts = [False]


def redact_data(enabled: bool) -> None:
    """Decides whether messages show types of values of the data in place of the values.

    Args:
        enabled: True for types only.
    """
    _redacts[0] = enabled


def redacts_data() -> bool:
    """Returns what `redact_data` has decided; False by default."""
    return _redacts[0]


class UserError(ValueError):
    """An error in the user's input: a flag, a file, a column, a value or a checkpoint.

    Commands print the message without a traceback and end with `status`. The message is one line;
    unprintable characters are escaped, and secret values are replaced.

    Args:
        message: what is wrong, the value received, and the remedy.

    Attributes:
        status: exit status of the command.
    """

    status = USER_ERROR_STATUS

    def __init__(self, message: str):
        super().__init__(escape(hide_secrets(message)))


class TemporaryError(UserError):
    """An error that may pass by itself, so that the same command may succeed later.

    Args:
        message: what is wrong, and what to do if it does not pass.
    """

    status = TEMPORARY_STATUS


class JobEnded(Exception):
    """This process ends because another process of the cluster has failed.

    Args:
        line: the reason, one line.
        status: exit status of this process.
    """

    def __init__(self, line: str, status: int = FOLLOWED_STATUS):
        super().__init__(escape(line))
        self.status = status


def require_column(name: str, columns: Iterable[str], option: str) -> None:
    """Raises if a schema has no such column.

    Args:
        name: the column.
        columns: names of the columns of the schema.
        option: what names the column, for the message.

    Raises:
        UserError: there is none.
    """
    known = list(columns)
    if name not in known:
        raise UserError(f"{option}: the schema has no column {name!r}{nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean x?" if a known name resembles `name`, else "".

    Args:
        name: an unknown name.
        known: the known names.
    """
    names = list(known)
    same = [each for each in names if each.lower() == name.lower()]
    match = same or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {match[0]}?" if match else ""
