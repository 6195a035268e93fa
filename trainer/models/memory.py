"""Models that no memory holds: told before their tables are made, or when memory runs out."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trainer.errors import UserError

REMEDY = "lower hash_buckets, identities or embedding in the schema"
BYTES = 4


def check_tables(
    wide: Sequence[Any], deep: Sequence[Any], units: int, memory: float, where: str
) -> None:
    """Refuses feature columns whose weights alone, without what an optimizer keeps, do not fit.

    Args:
        wide, deep: feature columns of the linear and of the deep part.
        units: number of logits.
        memory: bytes that there are for them.
        where: whose memory that is, for the message.

    Raises:
        UserError: names the largest table.
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
        largest = max(sizes, key=sizes.get)
        raise UserError(
            f"schema: the model's tables take {total / 2**30:,.1f} GiB, that of {largest} "
            f"{sizes[largest] / 2**30:,.1f}, and {where} has {memory / 2**30:,.1f}; {REMEDY}"
        )


def measure_memory() -> float:
    """Bytes of memory of this machine."""
    return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def translate_memory_errors() -> Iterator[None]:
    """Turns an error of memory that has run out into one that the user can mend.

    Raises:
        UserError: there was no more memory.
    """
    try:
        yield
    except Exception as error:
        # By its name: nothing is told sooner for having loaded TensorFlow.
        if not isinstance(error, MemoryError) and type(error).__name__ != "ResourceExhaustedError":
            raise
        said = " ".join(str(error).split()).partition(" [[")[0]
        raise UserError(
            f"memory: there was no more ({said[:160] or type(error).__name__}); lower "
            f"train.batch_size or model.hidden_units, or {REMEDY}"
        ) from error
