"""The option that leaves the order in which a program parses and batches rows."""

import os

__all__ = ["REMEDY", "VARIABLE", "is_wanted"]

# "no" leaves the program's order.
VARIABLE = "ESTIMATOR_BRIDGE_BATCH_FIRST"
# How a program is started so that its order stays.
REMEDY = "run --batch_first=no"


def is_wanted() -> bool:
    """Returns whether batches are made before rows where this gives the same."""
    return os.environ.get(VARIABLE) != "no"
