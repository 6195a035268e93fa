"""Refuses models that do not fit into memory, and translates out-of-memory errors."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trainer.errors import UserError

REMEDY = "lower hash_buckets, identities or embedding in the schema"
# Size of a float32.
BYTES = 4


def check_tables(
    wide: Sequence[Any], deep: Sequence[Any], units: int, memory: float, where: str
) -> None:
    """Refuses feature columns whose weights do not fit into memory.

    Only the weights are counted, not the slot variables of an optimizer.

    Args:
        wide: feature columns of the linear part.
        deep: feature columns of the deep part.
        units: number of logits.
        memory: available memory in bytes.
        where: the owner of the memory, for the message.

    Raises:
        UserError: the weights are larger than the memory; the message names the largest table.
    """
    sizes: dict[str, int] = {}
    for column in wide:
        if hasattr(column, "num_buckets"):
            sizes[f"{column.name} (wide)"] = column.num_buckets * units * BYTES
    for column in deep:
        if hasattr(column, "dimension"):
            ids = getattr(column, "categorical_column", None) or column.columns[0]
            sizes[f"{column.name} (deep)"] = ids.num_buckets * column.dimension * BYTES
    total = sum(sizes.values())
    if total > memory:
        largest = max(sizes, key=lambda name: sizes[name])
        raise UserError(
            f"schema: the model's tables take {total / 2**30:,.1f} GiB, that of {largest} "
            f"{sizes[largest] / 2**30:,.1f}, and {where} has {memory / 2**30:,.1f}; {REMEDY}"
        )


def measure_memory() -> float:
    """Returns the memory of this machine in bytes."""
    return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def translate_memory_errors() -> Iterator[None]:
    """Translates out-of-memory errors, Python's and TensorFlow's, into UserErrors.

    Raises:
        UserError: the block ran out of memory.
    """
    try:
        yield
    except Exception as error:
        # The type is compared by name, because importing TensorFlow would delay the start by
        # seconds.
        if not isinstance(error, MemoryError) and type(error).__name__ != "ResourceExhaustedError":
            raise
        message = " ".join(str(error).split()).partition(" [[")[0]
        raise UserError(
            f"memory: out of memory ({message[:160] or type(error).__name__}); lower "
            f"train.batch_size or model.hidden_units, or {REMEDY}"
        ) from error
