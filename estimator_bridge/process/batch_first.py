"""The option that leaves the order in which a program parses and batches rows."""

import functools
import os
import sys

__all__ = ["VARIABLE", "announce", "is_wanted"]

# "no" leaves the program's order.
VARIABLE = "ESTIMATOR_BRIDGE_BATCH_FIRST"


def is_wanted() -> bool:
    """Returns whether batches are made before rows where this gives the same."""
    return os.environ.get(VARIABLE) != "no"


@functools.cache
def announce(change: str, option: str) -> None:
    """Prints once what is done otherwise than the program says.

    An input function is called again for each evaluation.

    Args:
      change: what is done.
      option: what `--batch_first=no` does instead.
    """
    print(
        f"estimator_bridge: {change}, with the same result (run --batch_first=no: {option}).",
        file=sys.stderr,
    )
