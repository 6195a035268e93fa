"""Runs a program, unchanged, in a process in which Estimators are there.

The program must not be able to tell the difference: its `__main__`, `sys.argv`, `sys.path[0]`,
tracebacks, exit status and signals are what `python SCRIPT` and `python -m MODULE` would have
given it, and the Python processes that it starts have Estimators too.
"""

import importlib.machinery
import io
import os
import runpy
import sys
import types
import zipfile
from typing import NamedTuple, NoReturn, Optional

from .. import install
from ..errors import BridgeError
from . import children
from .importing import prefer_folders

__all__ = ["Target", "main", "parse"]

_USAGE = """usage: python -m estimator_bridge run [--tf1] SCRIPT [args]
       python -m estimator_bridge run [--tf1] -m MODULE [args]

  --tf1   `import tensorflow as tf` gives the view of TensorFlow 1.x, with graph mode and tf.contrib
"""


class Target(NamedTuple):
    """What to run.

    Attributes:
      name: path of a script, folder or archive; or a module's dotted name.
      is_module: whether it is a module's name.
      args: the program's own arguments, untouched.
      tf1: whether it is to see TensorFlow 1.x.
    """

    name: str
    is_module: bool
    args: list[str]
    tf1: bool


def _refuse(problem: str) -> NoReturn:
    print(f"estimator_bridge run: {problem}\n{_USAGE}", end="", file=sys.stderr)
    sys.exit(2)


def parse(argv: list[str]) -> Target:
    """Reads our own options up to the program's name; everything after it is the program's."""
    rest, tf1 = list(argv), False
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-h", "--help"):
            print(_USAGE, end="")
            sys.exit(0)
        elif option == "--tf1":
            tf1 = True
        elif option == "-m":
            if not rest:
                _refuse("-m needs the name of a module")
            return Target(rest[0], True, rest[1:], tf1)
        elif option.startswith("-m"):
            return Target(option[2:], True, rest, tf1)
        elif option == "--":
            break
        else:
            _refuse(f"no such option: {option} (the program's own arguments come after its name)")
    if not rest:
        _refuse("no program given")
    return Target(rest[0], False, rest[1:], tf1)


def _new_main() -> types.ModuleType:
    """Replaces `__main__`, which is ours so far, by an empty one for the program."""
    module = types.ModuleType("__main__")
    module.__builtins__ = sys.modules["builtins"]
    module.__annotations__ = {}
    sys.modules["__main__"] = module
    return module


def _set_first_path(entry: str) -> None:
    """Puts `entry` at the front of `sys.path`, as Python does unless called with -P or -I."""
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        sys.path[0] = entry


def _run_file(path: str) -> None:
    """Does what `python path` does with a source or byte-code file."""
    path = os.path.abspath(path)
    module = _new_main()
    module.__file__ = path
    module.__cached__ = None
    if path.endswith(".pyc"):
        module.__loader__ = importlib.machinery.SourcelessFileLoader("__main__", path)
        code = module.__loader__.get_code("__main__")
    else:
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
        with io.open_code(path) as source:
            code = compile(source.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _is_container(path: str) -> bool:
    """Tells whether Python would look for a `__main__.py` in it: a folder or an archive."""
    return os.path.isdir(path) or (not path.endswith((".py", ".pyc")) and zipfile.is_zipfile(path))


def _run(target: Target) -> None:
    if target.is_module:
        sys.argv = ["-m", *target.args]
        _set_first_path(os.getcwd())
        _new_main()
        runpy._run_module_as_main(target.name)
        return
    sys.argv = [target.name, *target.args]
    if _is_container(target.name):
        sys.path.insert(0, os.path.abspath(target.name))
        _new_main()
        runpy._run_module_as_main("__main__", False)
    else:
        _set_first_path(os.path.dirname(os.path.realpath(target.name)))
        _run_file(target.name)


def _own_frames_removed(traceback: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """Returns the traceback from the first frame that would be there without us."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def main(argv: list[str]) -> int:
    """Runs the program that the arguments name, and ends as it ends."""
    target = parse(argv)
    if not target.is_module and not os.path.exists(target.name):
        print(
            f"estimator_bridge run: no such file: {os.path.abspath(target.name)}", file=sys.stderr
        )
        return 2
    install()
    if target.tf1:
        from .. import tf1

        tf1.install()
    prefer_folders(children.OWN_PACKAGES)
    children.inherit(tf1=target.tf1)
    try:
        _run(target)
    except SystemExit:
        raise
    except BaseException as error:
        # Shown here, by the program's own hook if it has set one; then left to Python, whose exit
        # status, and the signal after a KeyboardInterrupt, are not ours to imitate.
        error.__traceback__ = _own_frames_removed(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, BridgeError):
            # The program asked for what is not served: said once, with its line.
            return 2
        sys.excepthook = lambda *shown: None
        raise
    return 0
