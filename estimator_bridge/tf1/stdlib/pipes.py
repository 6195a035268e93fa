"""`pipes`, of which programs used `quote`."""

from shlex import quote

__all__ = ["quote"]
