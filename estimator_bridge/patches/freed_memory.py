"""Keeps the memory that a step frees for the next step.

The C library gives freed memory back to the system beyond a threshold, which starts at 128 KiB and
grows with the largest block that was freed. So a step may give back what the next one gets anew,
page by page: more than a thousand page faults in a step of a tagger with characters, and 1.4 of 18
ms of processor time. Here the threshold is large from the start.

TensorFlow 2.21 sets one of the thresholds to 128 KiB when it makes the first dataset of a
generator: from then on the system maps each larger block anew. So they are set again after it.

Each thread may have memory of its own, up to eight such arenas per processor, and keeps there what
it has freed. No more threads than processors run at the same time, so there is one arena for each.
"""

import ctypes
import functools
import os
from typing import Any

from ..processor import count_cores

__all__ = ["apply", "limit_arenas", "set_thresholds"]

# Option of glibc's malloc.h -> bytes. The second is the most that its own threshold grows to; the
# third is by how much more the memory of a thread grows than it needs.
_OPTIONS = {-1: 128 << 20, -3: 32 << 20, -2: 1 << 20}
_ARENA_MAX = -8
# By these, the user has chosen.
_VARIABLES = tuple(f"MALLOC_{name}_" for name in ("TRIM_THRESHOLD", "MMAP_THRESHOLD", "TOP_PAD"))


def apply() -> None:
    """Limits the arenas, and sets the thresholds now and after TensorFlow has set them."""
    from ..private_tf import dataset_ops

    limit_arenas()
    set_thresholds()
    state: Any = dataset_ops.DatasetV2._GeneratorState
    begin = state.get_next_id
    if getattr(begin, "_bridged", False):
        return

    @functools.wraps(begin)
    def begin_with_thresholds(self: Any, *arguments: Any) -> Any:
        set_thresholds()
        return begin(self, *arguments)

    vars(begin_with_thresholds)["_bridged"] = True
    state.get_next_id = begin_with_thresholds


def limit_arenas() -> None:
    """Lets this process have one arena per core, where the C library has arenas."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        _set({_ARENA_MAX: count_cores()})


def set_thresholds() -> None:
    """Sets the thresholds of this process, where the C library has them."""
    if not any(name in os.environ for name in _VARIABLES):
        _set(_OPTIONS)


def _set(options: dict[int, int]) -> None:
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None and "GLIBC_TUNABLES" not in os.environ:
        for option, value in options.items():
            set_option(option, value)
