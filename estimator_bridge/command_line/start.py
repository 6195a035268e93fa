"""What a command does first, before the modules are imported that take seconds.

A program of the user is no command, and neither is a process that a command has started: Ctrl-C
must reach it as Python does, because it may have files to remove.
"""

import codecs
import os
import signal
import sys
from typing import Any

from .current_folder import find_started_module

__all__ = ["prepare_command"]

# Scripts of the installed packages, and packages whose modules are commands.
_SCRIPTS = ("estimator-bridge", "estimator-trainer")
_PACKAGES = ("trainer", "trainer.demo")


def prepare_command() -> None:
    """Prepares this process for a command, if it is one and runs no program of the user."""
    if _is_command():
        _end_at_interrupt()
        _open_streams()
        _require_folder()


def _is_command() -> bool:
    script = os.path.basename(getattr(sys.modules.get("__main__"), "__file__", None) or "")
    module = find_started_module()
    if module == "estimator_bridge" or script == "estimator-bridge":
        return sys.argv[1:2] != ["run"]
    return module == "trainer" or module.rpartition(".")[0] in _PACKAGES or script in _SCRIPTS


def _end_at_interrupt() -> None:
    """Makes SIGINT end this process at once, until the command handles it.

    Without this, Ctrl-C prints where the modules of the command were being imported.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Linux ignores a signal without a handler for the first process of a container.
        signal.signal(signal.SIGINT, _exit if os.getpid() == 1 else signal.SIG_DFL)


def _exit(number: int, frame: Any) -> None:
    os._exit(128 + number)


def _open_streams() -> None:
    """Opens the standard streams that are closed, and makes each able to print every character.

    The next file that is opened would get the number of a closed stream, and what libraries print
    would be written to this file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    # The encoding of a locale without one is ASCII.
    is_plain = codecs.lookup(sys.stdout.encoding).name == "ascii"
    encoding = "utf-8" if is_plain else sys.stdout.encoding
    sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]


def _require_folder() -> None:
    """Ends this process if the current folder is gone: paths could not be resolved."""
    try:
        os.getcwd()
    except OSError:
        print("error: the current folder has been deleted; change to another one", file=sys.stderr)
        sys.exit(2)
