"""The command of a replica: `python -m trainer.task`, or the same for an older TensorFlow."""

from collections.abc import Sequence
from typing import Any, Optional

__all__ = ["START", "TRAINING", "describe", "find_flags"]

TRAINING = "trainer.task"
# Starts a module in a container. Linux discards a SIGTERM for process 1 until the process has a
# handler. `env --block-signal` keeps the signal pending until then, if the image's `env` has this
# option.
_SCRIPT = 'run="env --block-signal=TERM"; $run true 2>/dev/null || run=; exec $run python -m "$@"'
START = ("sh", "-c", _SCRIPT, "sh")


def describe(module: str, as_version: Optional[str], flags: Sequence[str]) -> list[str]:
    """Returns the arguments after `python -m`.

    Args:
        module: the module to run, such as trainer.task.
        as_version: TensorFlow version for which the job's own code was written, such as '2.8';
            None: the version in the image.
        flags: flags of the module.
    """
    if as_version is None:
        return [module, *flags]
    return ["estimator_bridge", "run", f"--as={as_version}", "-m", module, *flags]


def find_flags(pool: dict[str, Any]) -> Optional[tuple[list[str], list[str]]]:
    """Finds the training command of a pool.

    Args:
        pool: JSON of a WorkerPoolSpec.

    Returns:
        The arguments after `python -m` up to trainer.task, and the flags of trainer.task; None if
        the pool does not run trainer.task.
    """
    package, container = pool.get("pythonPackageSpec"), pool.get("containerSpec") or {}
    words = [str(word) for word in (package or container).get("args", ())]
    if package is not None:
        words = [str(package.get("pythonModule")), *words]
    else:
        words = [*map(str, container.get("command", ())), *words]
        # A file that was written by hand may have python -m MODULE instead.
        words = words[len(START) if words[: len(START)] == [*START] else 2 :]
    # The module is the first word, or follows the options of `run`.
    place = words.index(TRAINING) if TRAINING in words else -1
    is_under_bridge = place > 0 and words[0] == "estimator_bridge" and words[place - 1] == "-m"
    if place == 0 or is_under_bridge:
        return words[: place + 1], words[place + 1 :]
    return None
