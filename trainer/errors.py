"""What is the user's to mend, and how to say it."""

import difflib

# Exit status of every command after a UserError.
USER_ERROR_STATUS = 2
# Exit status of a process that ends because another has: to be started again with that one.
FOLLOWED_STATUS = 75


class UserError(ValueError):
    """Something the user gave is wrong: a flag, a file, a column, a value, a cluster, a checkpoint.

    The message is one line which names what was wrong, the value received and the remedy. Entry
    points print it without a traceback and end with exit status 2. What it quotes of files and
    flags cannot break the line: characters that do not print are shown escaped.
    """

    def __init__(self, message: str):
        super().__init__(
            "".join(each if each.isprintable() else repr(each)[1:-1] for each in message)
        )


class JobEnded(Exception):
    """This process ends because another one of the cluster has, and not well.

    Attributes:
        status: exit status of this process.
    """

    def __init__(self, line: str, status: int = FOLLOWED_STATUS):
        super().__init__(line)
        self.status = status


def nearest(name: str, known) -> str:
    """ "; did you mean x?" where something known resembles `name`, else ""."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {match[0]}?" if match else ""
