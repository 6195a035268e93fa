"""The errors that the bridge raises."""

__all__ = ["BridgeError"]


class BridgeError(RuntimeError):
    """The bridge cannot serve this process. The message says why and names the remedy."""
