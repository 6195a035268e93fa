"""Ends a process of MultiWorkerMirroredStrategy whose peer has ended.

When a peer of a synchronous step ends, TensorFlow aborts the step, and from then on every exchange
with a peer fails until the process is started again. MonitoredSession treats the error as a
temporary one: it creates a new session, which fails in the same way, and repeats this for ever.
"""

import functools
from collections.abc import Callable
from typing import Any

from ..private_tf import errors_impl as errors
from ..private_tf import monitored_session

__all__ = ["CollectivesAbortedError", "apply"]

_ABORTED = "Collective ops is aborted"
_ADVICE = (
    "Another process of the cluster has ended or cannot be reached, and the others cannot train "
    "on. Start all training processes again; they resume from the last checkpoint. "
)


class CollectivesAbortedError(errors.OpError):
    """The exchange with other processes was aborted; only a new process can exchange again."""

    def __init__(self, error: Any):
        """Takes over an error of TensorFlow.

        Args:
          error: the tf.errors.OpError with which TensorFlow aborted the exchange.
        """
        super().__init__(error.node_def, error.op, _ADVICE + error.message, error.error_code)


def apply() -> None:
    """Lets MonitoredSession give up where a new session cannot succeed."""
    session = monitored_session._CoordinatedSession
    creator = monitored_session._MonitoredSession._CoordinatedSessionCreator
    for owner, name in ((session, "run"), (creator, "create_session")):
        method = getattr(owner, name)
        if not getattr(method, "__wrapped__", None):
            setattr(owner, name, _give_up(method))


def _give_up(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method whose error is no longer one after which a session is created again."""

    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except (errors.AbortedError, errors.UnavailableError) as error:
            if _ABORTED not in error.message:
                raise
            raise CollectivesAbortedError(error) from error

    return call
