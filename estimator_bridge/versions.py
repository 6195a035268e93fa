"""Finds the version of the installed TensorFlow, without importing it.

The bridge acts before TensorFlow is imported (it chooses Keras, for example), depending on the
version.
"""

import importlib.metadata
import re
import sys
from typing import NamedTuple, Optional

__all__ = [
    "CANDIDATE",
    "ESTIMATOR_REMOVED_IN",
    "SUPPORTED",
    "Supported",
    "find_supported",
    "installed",
    "installed_builds",
    "installed_tensorflow",
    "parse",
]

# Names under which builds of TensorFlow are published. The import name is always `tensorflow`.
_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-gpu",
    "tensorflow-rocm",
    "intel-tensorflow",
    "tensorflow-cpu-aws",
    "tf-nightly",
    "tf-nightly-cpu",
)

ESTIMATOR_REMOVED_IN = (2, 16)


class Supported(NamedTuple):
    """A TensorFlow version that the bridge is tested on, and its requirements.

    Attributes:
      tensorflow: the tested patch release.
      python: the first and last Python (major, minor) for which it has a wheel.
      also: further requirements for it, in the syntax of pip.
    """

    tensorflow: str
    python: tuple[tuple[int, int], tuple[int, int]]
    also: tuple[str, ...]

    @property
    def tf_keras(self) -> str:
        """The requirement of the Keras 2 that goes with it; only of 2.16 and later."""
        return next(one for one in self.also if one.startswith("tf-keras=="))


SUPPORTED = (
    Supported("2.15.1", ((3, 9), (3, 11)), ("tensorflow-estimator==2.15.0", "numpy<2")),
    Supported("2.16.2", ((3, 9), (3, 12)), ("tf-keras==2.16.*", "numpy<2")),
    Supported("2.17.1", ((3, 9), (3, 12)), ("tf-keras==2.17.*", "numpy<2")),
    Supported("2.18.1", ((3, 9), (3, 12)), ("tf-keras==2.18.*",)),
    Supported("2.19.1", ((3, 9), (3, 12)), ("tf-keras==2.19.*",)),
    Supported("2.20.0", ((3, 9), (3, 13)), ("tf-keras==2.20.*", "protobuf<7")),
    Supported("2.21.0", ((3, 10), (3, 13)), ("tf-keras==2.21.*",)),
)

# A pre-release of the next TensorFlow. The bridge's tests pass on it, with the tf-keras of the
# release before: there is none of its own yet. Only who asks for it gets it.
CANDIDATE = Supported("2.22.0rc0", ((3, 10), (3, 13)), ("tf-keras==2.21.*",))


def parse(version: str) -> tuple[int, ...]:
    """Returns the leading numbers of a version for comparison: (2, 16, 2) for "2.16.2rc1".

    Args:
      version: the version; () is returned if it starts with no number.
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def find_supported(version: str) -> Optional[Supported]:
    """Returns the tested TensorFlow of the same minor version, or None.

    Args:
      version: that of a TensorFlow.
    """
    minor = parse(version)[:2]
    return next(
        (one for one in (*SUPPORTED, CANDIDATE) if parse(one.tensorflow)[:2] == minor), None
    )


def installed(distribution: str) -> Optional[str]:
    """Returns the version of an installed distribution, or None.

    Args:
      distribution: its name on PyPI.
    """
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_builds() -> dict[str, str]:
    """Returns the installed builds of TensorFlow: distribution -> version."""
    found = {name: installed(name) for name in _DISTRIBUTIONS}
    return {name: version for name, version in found.items() if version}


def installed_tensorflow() -> Optional[str]:
    """Returns the version of the imported TensorFlow, or else of the installed one, or None."""
    version = getattr(sys.modules.get("tensorflow"), "__version__", None)
    if version:
        return version
    return next(iter(installed_builds().values()), None)
