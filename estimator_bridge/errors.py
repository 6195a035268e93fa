"""The errors that the bridge raises."""

__all__ = ["BridgeError"]


class BridgeError(RuntimeError):
    """The bridge cannot do what was requested. The message names the reason and the remedy."""
