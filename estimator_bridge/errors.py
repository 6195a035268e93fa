"""The errors that the bridge raises."""

__all__ = ["BridgeError"]


class BridgeError(RuntimeError):
    """The bridge cannot perform a request. The message names the reason and the remedy."""
