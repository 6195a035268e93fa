"""Sets TensorFlow's log level. No other module of the bridge changes TensorFlow's logging.

TensorFlow writes to three channels: the Python logger `tensorflow`, Python's warnings, and the log
of its C++ core on stderr. The core reads its level from the environment before TensorFlow is
imported, and writes some lines before the level takes effect.
"""

import contextlib
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any, Optional, cast

from ..process.importing import around_import

__all__ = ["LEVELS", "hide_deprecations_by_default", "set_verbosity"]

# Level -> (Python loggers; C++ core: 0 all, 1 no INFO, 2 no WARNING, 3 no ERROR).
LEVELS = {
    "debug": (logging.DEBUG, "0"),
    "info": (logging.INFO, "1"),
    "warning": (logging.WARNING, "2"),
    "error": (logging.ERROR, "3"),
}

# Modules of TensorFlow that only log that a name is deprecated.
_DEPRECATION_MODULES = re.compile(
    r"tensorflow[/\\]python[/\\]util[/\\](deprecation|module_wrapper)\.py$"
)
# TensorFlow's own calls cause the last two warnings: protobuf 5 and 6 write the first one for every
# graph, and tf.data writes the second one for every dataset of a distribution strategy.
_DEPRECATION_WARNING = (
    r"(?s).*(is deprecated and will be removed|is deprecated, use|will be removed in a future"
    r"|float_format is deprecated|tf\.data options across serialization boundaries)"
)

# Lines of the C++ core about the machine, written while it is loaded. They need no action. Two that
# 2.17 to 2.20 write later, at a program's first session (about absl::InitializeLog and MLIR V1),
# cannot be dropped, since a program's own stderr is not filtered.
_START_UP_NOISE = re.compile(
    rb"All log messages before absl::InitializeLog"
    rb"|oneDNN custom operations are on"
    rb"|Could not find cuda drivers"
    rb"|Unable to register cu(DNN|FFT|BLAS) factory"
    rb"|computation placer already registered"
    rb"|This TensorFlow binary is optimized to use available CPU"
    rb"|^To enable the following instructions"
    rb"|TF-TRT Warning: Could not find TensorRT"
    rb"|failed call to cuInit"
)

# Follows the last line that is written during the import.
_END = b"\0the end of the import\n"

_lock = threading.Lock()
_level: Optional[str] = None


class _NoDeprecations(logging.Filter):
    """Drops only TensorFlow's messages about deprecated names."""

    def filter(self, record):
        return not _DEPRECATION_MODULES.search(record.pathname)


_filter = _NoDeprecations()


def _show_deprecations(shown: bool) -> None:
    logger = logging.getLogger("tensorflow")
    entry = ("ignore", re.compile(_DEPRECATION_WARNING, re.I), Warning, None, 0)
    with contextlib.suppress(ValueError):
        cast(list[Any], warnings.filters).remove(entry)
    logger.removeFilter(_filter)
    if not shown:
        logger.addFilter(_filter)
        warnings.filterwarnings("ignore", message=_DEPRECATION_WARNING)


def hide_deprecations_by_default() -> None:
    """Hides deprecation messages if no level has been set."""
    with _lock:
        if _level is None:
            _show_deprecations(False)


@contextlib.contextmanager
def _without_start_up_noise() -> Iterator[None]:
    """Drops the known lines from file descriptor 2 in the body of the `with` statement."""
    try:
        kept = os.dup(2)
    except OSError:  # There is no stderr.
        yield
        return
    read_end, write_end = os.pipe()
    has_ended = threading.Event()

    def forward():
        try:
            with open(read_end, "rb") as lines, open(kept, "wb", buffering=0) as target:
                for line in lines:
                    if not _START_UP_NOISE.search(line):
                        target.write(line.removesuffix(_END))
                    if line.endswith(_END):
                        has_ended.set()
        finally:
            has_ended.set()

    reader = threading.Thread(target=forward, name="tensorflow-start-up", daemon=True)
    if sys.stderr is not None:
        sys.stderr.flush()
    restored = os.dup(2)
    os.dup2(write_end, 2)
    reader.start()
    try:
        yield
    finally:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(restored, 2)
        os.close(restored)
        # A process that was started meanwhile may keep the other end of the pipe.
        with contextlib.suppress(BrokenPipeError):
            os.write(write_end, _END)
        os.close(write_end)
        has_ended.wait()


def set_verbosity(level: str) -> None:
    """Sets the log level of TensorFlow, Keras 2 and Estimators.

    It may be called at any time. Called before TensorFlow is imported, it also sets the level of
    the C++ core, which cannot be changed later; "warning" and "error" then hide the messages
    that the core writes about the machine while it starts.

    Args:
      level: "debug" (everything, deprecations too), "info", "warning" or "error".

    Raises:
      ValueError: the level is none of these.
    """
    global _level
    if level not in LEVELS:
        raise ValueError(f"level={level!r}: choose one of {', '.join(LEVELS)}")
    python_level, core_level = LEVELS[level]
    with _lock:
        first = _level is None
        _level = level
        logging.getLogger("tensorflow").setLevel(python_level)
        _show_deprecations(level == "debug")
        if "tensorflow" not in sys.modules:
            os.environ["TF_CPP_MIN_LOG_LEVEL"] = core_level
            if first:
                around_import("tensorflow", _quiet_import)


@contextlib.contextmanager
def _quiet_import() -> Iterator[None]:
    if _level in ("warning", "error"):
        with _without_start_up_noise():
            yield
    else:
        yield
