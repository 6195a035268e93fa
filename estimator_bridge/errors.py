"""The errors that the bridge raises."""

from .terminal import escape

__all__ = ["BridgeError"]


class BridgeError(RuntimeError):
    """The bridge cannot perform a request. The message names the reason and the remedy.

    Args:
      message: the message; unprintable characters in it are escaped.
    """

    def __init__(self, message: str):
        super().__init__(escape(message))
