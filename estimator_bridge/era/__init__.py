"""Shows a program the public interface of an older TensorFlow 2: `run --as=2.8`.

TensorFlow's own behaviour does not change. What changes are names that have other meanings today
(`tf.keras.optimizers.Adam`, `import keras`) and names that are missing today, also in NumPy and
Python.
"""

import re
import threading
from typing import Optional

from .. import versions
from ..errors import BridgeError
from ..process.importing import call_when_imported

__all__ = ["NEWEST", "OLDEST", "TF1", "format_version", "install", "parse"]

OLDEST = (2, 0)
NEWEST = (2, 15)
# The view that `--tf1` gives.
TF1 = (1, 15)

# Until 2.12, TensorFlow came with a NumPy that has names such as np.float.
_NUMPY_1_24_SINCE = (2, 13)

_lock = threading.Lock()
_installed: Optional[tuple[int, int]] = None


def parse(text: str) -> tuple[int, int]:
    """Reads a version.

    Args:
      text: such as '2.8' or '2.8.4'.

    Returns:
      (major, minor); every 1.x is (1, 15).

    Raises:
      BridgeError: it is no version from 1.0 to 2.15.
    """
    found = re.fullmatch(r"(\d)\.(\d{1,2})(\.\w+)*", text.strip())
    version = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if version[0] == 1:
        return TF1
    if not OLDEST <= version <= NEWEST:
        raise BridgeError(
            f"no such TensorFlow to run as: {text!r}; name the one that the program was written "
            f"for, {format_version(OLDEST)} to {format_version(NEWEST)}, or 1.15"
        )
    return version


def format_version(version: tuple[int, int]) -> str:
    """Returns '2.8' for (2, 8).

    Args:
      version: (major, minor).
    """
    return f"{version[0]}.{version[1]}"


def install(version: tuple[int, int]) -> None:
    """Shows this process the interface of a TensorFlow 2; estimator_bridge is installed already.

    Args:
      version: (major, minor), from 2.0 to 2.15.

    Raises:
      BridgeError: another version was installed before, or `keras` has been imported and is
        Keras 3.
    """
    global _installed
    from ..process import removed_names
    from . import keras_package, names, optimizers

    with _lock:
        if _installed == version:
            return
        if _installed is not None:
            raise BridgeError(
                f"this process runs as TensorFlow {format_version(_installed)} already, and cannot "
                f"run as {format_version(version)} too"
            )
        tensorflow = versions.parse(versions.installed_tensorflow() or "")
        keras = keras_package.find(tensorflow)
        keras_package.supply(keras)
        if version < optimizers.REPLACED_IN:
            optimizers.restore(keras)
        call_when_imported("tensorflow", lambda: names.supply(keras, version))
        if version < _NUMPY_1_24_SINCE:
            removed_names.install(version)
        _installed = version
