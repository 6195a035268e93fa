"""Errors that the user can fix, and exit statuses."""

import difflib
from collections.abc import Iterable

# Exit status of every command after a UserError.
USER_ERROR_STATUS = 2
# Exit status of a process that ends because another one has ended. They are restarted together.
FOLLOWED_STATUS = 75


class UserError(ValueError):
    """An error in the user's input: a flag, a file, a column, a value or a checkpoint.

    Commands print the message without a traceback and end with exit status 2. The message is one
    line; unprintable characters are escaped.

    Args:
        message: what is wrong, the value received, and the remedy.
    """

    def __init__(self, message: str):
        super().__init__(
            "".join(each if each.isprintable() else repr(each)[1:-1] for each in message)
        )


class JobEnded(Exception):
    """This process ends because another process of the cluster has failed.

    Args:
        line: the reason, one line.
        status: exit status of this process.
    """

    def __init__(self, line: str, status: int = FOLLOWED_STATUS):
        super().__init__(line)
        self.status = status


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean x?" if a known name resembles `name`, else "".

    Args:
        name: an unknown name.
        known: the known names.
    """
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {match[0]}?" if match else ""
