"""The errors that the bridge raises, and those of the operating system in one line."""

import errno
import os
import shutil

from .output.terminal import escape

__all__ = ["BridgeError", "describe_os_error"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


class BridgeError(RuntimeError):
    """The bridge cannot perform a request. The message names the reason and the remedy.

    Args:
      message: the message; unprintable characters in it are escaped.
    """

    def __init__(self, message: str):
        super().__init__(escape(message))


def describe_os_error(error: OSError) -> str:
    """Returns an error of the operating system on one line: the file, the reason and the remedy.

    Args:
      error: the error; raised again if it is not one of files.
    """
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        # Of a folder that was copied: (source, target, reason) of each file.
        return escape(f"{error.args[0][0][2]}; check the place")
    if error.errno is None or isinstance(error, (ConnectionError, TimeoutError)):
        raise error
    parts = [os.fsdecode(error.filename)] if isinstance(error.filename, (str, bytes)) else []
    remedy = "check the path"
    if error.errno in _FULL:
        remedy = "make room, or name another place, and give the same command again"
    elif error.errno in _CLOSED:
        remedy = "change its permissions, or name another place"
    return escape(": ".join([*parts, f"{os.strerror(error.errno)}; {remedy}"]))
