"""What a replica runs: `python -m trainer.task`, or the same under another TensorFlow's names."""

from collections.abc import Sequence
from typing import Any, Optional

__all__ = ["START", "TRAINING", "describe", "find_flags"]

TRAINING = "trainer.task"
# Starts a module in a container. Linux discards a SIGTERM for process 1 until that has a handler.
# Blocked, it waits for the handler; the `env` of an old image cannot block it.
_SCRIPT = 'run="env --block-signal=TERM"; $run true 2>/dev/null || run=; exec $run python -m "$@"'
START = ("sh", "-c", _SCRIPT, "sh")


def describe(module: str, as_version: Optional[str], flags: Sequence[str]) -> list[str]:
    """Returns the words after `python -m`.

    Args:
        module: what runs, such as trainer.task.
        as_version: the TensorFlow that it was written for, such as '2.8'; None for today's.
        flags: of the module.
    """
    if as_version is None:
        return [module, *flags]
    return ["estimator_bridge", "run", f"--as={as_version}", "-m", module, *flags]


def find_flags(pool: dict[str, Any]) -> Optional[tuple[list[str], list[str]]]:
    """Returns the words after `python -m` up to trainer.task, and its flags; None without it.

    Args:
        pool: JSON of a WorkerPoolSpec.
    """
    package, container = pool.get("pythonPackageSpec"), pool.get("containerSpec") or {}
    words = [str(word) for word in (package or container).get("args", ())]
    if package is not None:
        words = [str(package.get("pythonModule")), *words]
    else:
        words = [*map(str, container.get("command", ())), *words]
        # Or python -m MODULE, in a file that was written by hand.
        words = words[len(START) if words[: len(START)] == [*START] else 2 :]
    # The module is the first word, or follows the options of `run`.
    place = words.index(TRAINING) if TRAINING in words else -1
    is_under_bridge = place > 0 and words[0] == "estimator_bridge" and words[place - 1] == "-m"
    if place == 0 or is_under_bridge:
        return words[: place + 1], words[place + 1 :]
    return None
