"""Keeps files of the current folder from being imported in place of real modules.

`python -m` puts the current folder first on `sys.path`: a file json.py there would run in place of
the standard library's module, for example in a folder that is audited. The packages' own commands
therefore remove the folder before they import anything else. What loads a user's code puts it back.
"""

import os
import sys

__all__ = [
    "PACKAGES_FOLDER", "find_started_module", "is_checkout", "list_words", "prepend", "remove",
    "restore",
]  # fmt: skip

_COMMANDS = ("estimator_bridge", "trainer")
# The checkout or the folder of installed packages that contains this package.
PACKAGES_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Runs a module as `python -m` does, but for the current folder, which `python -c` names "".
_START = """import sys
sys.path[:] = [entry for entry in sys.path if entry]
{folder!r} in sys.path or sys.path.append({folder!r})
import runpy
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""

_removed: list[str] = []


def find_started_module() -> str:
    """Returns the module of `python -m MODULE` while its package is imported, else ''."""
    if sys.argv[:1] != ["-m"]:
        return ""
    words = list(getattr(sys, "orig_argv", ()))
    if not words:  # Python 3.9
        try:
            with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")[:-1]
        except OSError:
            return ""
    index = len(words) - len(sys.argv)
    # In `python -mMODULE`, they are one word.
    return words[index].removeprefix("-m") if 0 < index < len(words) else ""


def is_checkout() -> bool:
    """Returns whether the packages are not installed, but in a folder of their source."""
    return os.path.basename(PACKAGES_FOLDER) not in ("site-packages", "dist-packages")


def list_words(module: str) -> list[str]:
    """Returns the words after `python` that run a module of these packages in a new process.

    They are -m MODULE, unless the current folder contains another package of that name, such as the
    user's own `trainer`.

    Args:
        module: the module.
    """
    package = module.partition(".")[0]
    try:
        here = os.getcwd()
    except OSError:  # It has been deleted.
        here = PACKAGES_FOLDER
    places = (os.path.join(here, package), os.path.join(here, f"{package}.py"))
    if here == PACKAGES_FOLDER or not any(map(os.path.exists, places)):
        return ["-m", module]
    return ["-c", _START.format(folder=PACKAGES_FOLDER), module]


def remove() -> None:
    """Removes the current folder from `sys.path` if `python -m` starts one of these packages.

    The folder stays if it is the one that contains the packages.
    """
    if find_started_module().split(".")[0] not in _COMMANDS or not sys.path:
        return
    try:
        here = os.getcwd()
    except OSError:  # It has been deleted.
        return
    if os.path.abspath(sys.path[0] or ".") == here != PACKAGES_FOLDER:
        _removed.append(sys.path.pop(0))


def restore() -> None:
    """Undoes `remove`."""
    sys.path[:0] = _removed
    _removed.clear()


def prepend() -> None:
    """Puts the current folder first on `sys.path`, unless it is there, for modules of the user."""
    restore()
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
