"""`pipes`, with the function `quote`."""

from shlex import quote

__all__ = ["quote"]
