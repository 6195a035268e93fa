"""The messages between the parameter servers and the processes that train: a kind and arrays."""

from collections.abc import Sequence

import numpy as np

# What a server answers: the arrays, or a text that says why it refuses.
ANSWER, REFUSAL = 0, 1
# Arrays begin at multiples of this number of bytes, so that they can be used where they are.
_ALIGNED = 8


def pack(kind: int, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Returns a message, uint8.

    Args:
        kind: of the message.
        arrays: contiguous, of any types.
    """
    parts = [each.reshape(-1).view(np.uint8) for each in arrays]
    header = np.array([kind, len(parts), *map(len, parts)], np.int64).view(np.uint8)
    pieces = [header]
    for part in parts:
        pieces.append(part)
        if len(part) % _ALIGNED:
            pieces.append(np.zeros(-len(part) % _ALIGNED, np.uint8))
    return np.concatenate(pieces)


def unpack(message: np.ndarray) -> tuple[int, list[np.ndarray]]:
    """Returns the kind of a message, and its arrays as uint8; they share the message's memory.

    Args:
        message: result of pack.
    """
    kind, count = message[:16].view(np.int64)
    start = 16 + _ALIGNED * int(count)
    arrays = []
    for size in message[16:start].view(np.int64):
        arrays.append(message[start : start + int(size)])
        start += int(size) + -int(size) % _ALIGNED
    return int(kind), arrays


def pack_text(text: str) -> np.ndarray:
    """Returns a text as an array.

    Args:
        text: any text.
    """
    return np.frombuffer(text.encode(), np.uint8)
