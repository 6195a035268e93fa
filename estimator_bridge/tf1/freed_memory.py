"""Keeps the memory that a step frees for the next step.

The C library gives freed memory back to the system beyond a threshold, which starts at 128 KiB and
grows with the largest block that was freed. So a step may give back what the next one gets anew,
page by page: more than a thousand page faults in a step of a tagger with characters, and 1.4 of 18
ms of processor time. Here the threshold is large from the start.
"""

import ctypes
import os

__all__ = ["install"]

# Option of glibc's malloc.h -> bytes. The second is the most that its own threshold grows to; the
# third is by how much more the memory of a thread grows than it needs.
_OPTIONS = {-1: 128 << 20, -3: 32 << 20, -2: 1 << 20}
# By these, the user has chosen.
_VARIABLES = tuple(f"MALLOC_{name}_" for name in ("TRIM_THRESHOLD", "MMAP_THRESHOLD", "TOP_PAD"))


def install() -> None:
    """Sets the thresholds of this process, where the C library has them."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is None or any(name in os.environ for name in (*_VARIABLES, "GLIBC_TUNABLES")):
        return
    for option, size in _OPTIONS.items():
        set_option(option, size)
