"""The end of a process in a step that others share, because one of them has ended."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from estimator_bridge import tf
from estimator_bridge.patches.aborted_collectives import CollectivesAbortedError
from trainer.errors import JobEnded

# TensorFlow's messages start with a place in the graph; the reason of the error follows.
PLACE_IN_GRAPH = re.compile(r"(?s)^Graph execution error:.*?\nNode: '.*?'\n(From \S+:\n)?")


@contextmanager
def translate_lost_step(synchronous: bool) -> Iterator[None]:
    """Raises JobEnded instead of TensorFlow's error if another synchronous process has ended.

    Args:
        synchronous: whether the strategy is; otherwise, nothing is translated.
    """
    try:
        yield
    except CollectivesAbortedError as error:
        raise describe_lost_step(error.__cause__) from error
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        if not synchronous:
            raise
        raise describe_lost_step(error) from error


def describe_lost_step(error: Any) -> JobEnded:
    """Returns the exception that ends a process whose synchronous step was aborted.

    Args:
        error: TensorFlow's error that aborted the step.
    """
    # TensorFlow may have added this prefix several times.
    reason = PLACE_IN_GRAPH.sub("", error.message).replace("Collective ops is aborted by: ", "")
    return describe_lost(reason)


def describe_lost(reason: str) -> JobEnded:
    """Returns the exception that ends a process whose step another one has not taken part in.

    Args:
        reason: what is known of the other process.
    """
    line = " ".join(reason.split())[:160]
    return JobEnded(
        f"another process of the same synchronous step has ended or does not respond: {line}"
    )
