"""Runs an unchanged program in a process that has Estimators.

The program's `__main__`, `sys.argv`, `sys.path[0]`, tracebacks, exit status and signals are those
of `python SCRIPT` and `python -m MODULE`. Cells of a notebook run like a script. The Python
processes that the program starts have Estimators too.
"""

import contextlib
import importlib.machinery
import io
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, Optional

from .. import era, install, tf1
from ..command_line import current_folder
from ..era import advice, choice
from ..errors import BridgeError
from ..output import terminal
from ..tf1 import generators
from ..user_files import notebook_cells
from . import batch_first, children, notebooks, python_2
from .importing import prefer_folders

__all__ = ["Target", "main", "parse"]

_USAGE = """usage: python -m estimator_bridge run [options] SCRIPT|NOTEBOOK.ipynb [args]
       python -m estimator_bridge run [options] -m MODULE [args]

  --as=VERSION   gives the program the names and behaviour of this TensorFlow,
                 2.0 to 2.15 or 1.15; default: the version that the project, its
                 code or its checkpoint indicates
  --tf1          the same as --as=1.15: graph mode and tf.contrib
  --exports_for=VERSION
                 writes SavedModels and graphs that this older TensorFlow can
                 load, such as 1.15
  --read_ahead=N
                 computes up to N elements of a Dataset.from_generator in
                 advance, if this has no visible side effect; default: 64;
                 0 turns it off
  --batch_first=no
                 reads and parses row by row, as the program says; by default,
                 datasets of arrays, map(parse).batch(n), numpy_input_fn,
                 pandas_input_fn and queues of lines handle whole batches
  --fast         with --tf1, trains canned Estimators with fewer operations per
                 step; variables and checkpoints are the same, and losses are
                 equal within rounding
  --profile      says at the program's end where the time of its sessions went:
                 waiting for input, operations, Python between the steps,
                 checkpoints
"""
# Those of a Target's attributes, in their order.
_SWITCHES = ("--fast", "--profile")
_OPTIONS = ("--exports_for", "--read_ahead", "--batch_first", *_SWITCHES)


class Target(NamedTuple):
    """The program to run.

    Attributes:
      name: path of a script, notebook, folder or archive; or a module's dotted name.
      is_module: whether it is a module's name.
      args: the program's own arguments, unchanged.
      as_version: the (major, minor) of the TensorFlow that the program gets; None for no choice.
      exports_for: the older TensorFlow that must load what the program exports; "" for none.
      read_ahead: how many elements of a generator are read ahead; "" for the default.
      batch_first: "no" if rows are taken and parsed before batches, else "" or "yes".
      fast: "yes" if canned Estimators are trained with fused lookups, else "".
      profile: "yes" if the times of session runs are reported, else "".
    """

    name: str
    is_module: bool
    args: list[str]
    as_version: Optional[tuple[int, int]] = None
    exports_for: str = ""
    read_ahead: str = ""
    batch_first: str = ""
    fast: str = ""
    profile: str = ""


def _refuse(problem: str) -> NoReturn:
    print(
        f"estimator_bridge run: {problem}. Try: python -m estimator_bridge run --help",
        file=sys.stderr,
    )
    sys.exit(2)


def parse(argv: list[str]) -> Target:
    """Parses the options before the program's name; all later arguments belong to the program.

    Args:
      argv: the arguments after `run`.

    Returns:
      The program; exits with status 2 for a wrong option.
    """
    rest, options = list(argv), dict.fromkeys(("--as", *_OPTIONS), "")
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, equals, value = option.partition("=")
        if option in ("-h", "--help"):
            print(_USAGE, end="")
            sys.exit(0)
        elif option == "--tf1":
            options["--as"] = era.format_version(era.TF1)
        elif option in _SWITCHES:
            options[option] = "yes"
        elif equals and value and name in options:
            options[name] = value
        elif option.startswith("-m"):
            if option == "-m" and not rest:
                _refuse("-m needs the name of a module")
            module = option[2:] or rest.pop(0)
            return _build(module, True, rest, options)
        elif option == "--":
            break
        elif name in options:
            examples = {"--read_ahead": ("number", "0"), "--batch_first": ("value", "no")}
            needed, example = examples.get(name, ("version", "2.8"))
            _refuse(f"{name} needs a {needed}, for example {name}={example}")
        else:
            _refuse(f"no such option: {option} (the program's own arguments come after its name)")
    if not rest:
        _refuse("no program given")
    return _build(rest[0], False, rest[1:], options)


def _build(name: str, is_module: bool, args: list[str], options: dict[str, str]) -> Target:
    try:
        chosen = era.parse(options["--as"]) if options["--as"] else None
    except BridgeError as error:
        _refuse(f"--as: {error}")
    try:
        generators.limit(options["--read_ahead"])
    except BridgeError as error:
        _refuse(f"--read_ahead: {error}")
    if options["--batch_first"] not in ("", "yes", "no"):
        _refuse(f"--batch_first={options['--batch_first']}: give yes or no")
    for switch in _SWITCHES:
        if options[switch] not in ("", "yes"):
            _refuse(f"{switch}={options[switch]}: give {switch} alone, or leave it out")
    return Target(name, is_module, args, chosen, *(options[one] for one in _OPTIONS))


def _choose_version(
    target: Target, cells: Optional[list[notebook_cells.Cell]]
) -> Optional[tuple[int, int]]:
    """Returns the version that the program gets, and says where it comes from if nobody chose."""
    if target.as_version is not None:
        return target.as_version
    source = _find_source(target)
    program = os.getcwd() if target.is_module else target.name
    found = choice.choose(program, source, target.args, cells)
    if found is None:
        return None
    where = terminal.escape(found.where)
    if found.version is None:
        print(
            f"estimator_bridge: {where}: the program gets the newest names; "
            "--as=VERSION chooses a version.",
            file=sys.stderr,
        )
    elif found.changes_names:
        print(
            f"estimator_bridge: the program gets the names of TensorFlow "
            f"{era.format_version(found.version)}, because {where}; "
            "--as=VERSION chooses another version.",
            file=sys.stderr,
        )
    return found.version


def _find_source(target: Target) -> str:
    """Returns the file that runs; "" for an archive, or a module outside this folder."""
    if not target.is_module:
        main_file = os.path.join(target.name, "__main__.py")
        return main_file if os.path.isdir(target.name) else target.name
    path = os.path.join(os.getcwd(), *target.name.split("."))
    files = (f"{path}.py", os.path.join(path, "__main__.py"))
    return next(filter(os.path.isfile, files), "")


def _new_main() -> types.ModuleType:
    """Replaces the bridge's `__main__` by an empty module for the program."""
    module = types.ModuleType("__main__")
    vars(module)["__builtins__"] = sys.modules["builtins"]
    module.__annotations__ = {}
    sys.modules["__main__"] = module
    return module


def _set_first_path(entry: str) -> None:
    """Puts `entry` at the front of `sys.path`, as Python does unless called with -P or -I."""
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        current_folder.restore()
        sys.path[0] = entry
        # A checkout in PYTHONPATH would come before the folder of a notebook, which Jupyter puts
        # before installed packages.
        home = current_folder.PACKAGES_FOLDER
        if home in sys.path[1:] and current_folder.is_checkout():
            sys.path.append(sys.path.pop(sys.path.index(home, 1)))


def _run_file(path: str, module: types.ModuleType) -> None:
    """Does what `python path` does with a source or byte-code file."""
    path = os.path.abspath(path)
    module.__file__ = path
    vars(module)["__cached__"] = None
    if path.endswith(".pyc"):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        module.__loader__ = loader
        code = loader.get_code("__main__")
        assert code is not None
    else:
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
        with io.open_code(path) as source:
            code = compile(source.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102 - running the user's program is the command


def _is_container(path: str) -> bool:
    """Returns whether the path is a folder or an archive, whose `__main__.py` Python runs."""
    return os.path.isdir(path) or (not path.endswith((".py", ".pyc")) and zipfile.is_zipfile(path))


# The function that `python -m` calls. Its signature has been the same since Python 2.7.
_run_module: Callable[..., Any] = vars(runpy)["_run_module_as_main"]


def _run(
    target: Target, cells: Optional[list[notebook_cells.Cell]], module: types.ModuleType
) -> None:
    """Runs the program.

    Args:
      target: the program.
      cells: those of a notebook; None for other programs.
      module: its `__main__`.
    """
    if target.is_module:
        sys.argv = ["-m", *target.args]
        _set_first_path(os.getcwd())
        _run_module(target.name)
        return
    sys.argv = [target.name, *target.args]
    if _is_container(target.name):
        sys.path.insert(0, os.path.abspath(target.name))
        _run_module("__main__", False)
    else:
        if cells is None:
            _set_first_path(os.path.dirname(os.path.realpath(target.name)))
            _run_file(target.name, module)
        else:
            # As in Jupyter, modules are found in the current folder, also after %cd.
            _set_first_path("")
            notebooks.run(target.name, cells, module)


def _measured(profile: str) -> contextlib.AbstractContextManager[None]:
    """Returns what reports the times of sessions at its end, if that is wanted."""
    if not profile:
        return contextlib.nullcontext()
    from .. import profiling

    return profiling.report_at_end()


def _own_frames_removed(traceback: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """Returns the traceback without the bridge's own first frames."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def main(argv: list[str]) -> int:
    """Runs a program until it ends; raises the errors that it raises.

    Args:
      argv: the arguments after `run`.

    Returns:
      The exit status of a program that does not exit itself: 0, or 2 after a BridgeError.
    """
    target = parse(argv)
    if not target.is_module and not os.path.exists(target.name):
        print(
            f"estimator_bridge run: no such file: {os.path.abspath(target.name)}", file=sys.stderr
        )
        return 2
    is_notebook = not target.is_module and target.name.endswith(notebook_cells.SUFFIX)
    cells = notebooks.load(target.name) if is_notebook else None
    version = _choose_version(target, cells)
    if target.fast and version != era.TF1:
        print("estimator_bridge run: --fast needs --tf1", file=sys.stderr)
        return 2
    install()
    variables = {
        generators.VARIABLE: target.read_ahead,
        batch_first.VARIABLE: target.batch_first,
        tf1.FAST_VARIABLE: target.fast,
    }
    # Processes that the program starts inherit the variables.
    os.environ.update({name: value for name, value in variables.items() if value})
    if target.exports_for:
        from ..downgrade import exports

        exports.install(target.exports_for)
    children.install_interface(version)
    prefer_folders(children.OWN_PACKAGES)
    children.inherit(version, exports_for=target.exports_for)
    notebooks.adapt(version)
    main_module = _new_main()
    if version is not None and version <= python_2.LAST:
        sources = [cell.source for cell in cells or ()]
        python_2.complete(main_module, sources or [python_2.read_source(_find_source(target))])
    try:
        with _measured(target.profile):
            _run(target, cells, main_module)
    except SystemExit:
        raise
    except BaseException as error:
        problem = python_2.describe_syntax(error) if cells is None else ""
        if problem:
            print(f"estimator_bridge run: {problem}", file=sys.stderr)
            return 2
        # The traceback is printed here, by the program's own hook if it has set one. The error is
        # then raised again, because Python sets the exit status, and sends the signal after a
        # KeyboardInterrupt.
        error.__traceback__ = _own_frames_removed(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        remedy = advice.describe(error, version) or python_2.describe(error, version)
        if remedy and cells is None:
            print(remedy, file=sys.stderr)
        if isinstance(error, BridgeError):
            # The program used a name that is not supplied; the traceback shows the line.
            return 2
        sys.excepthook = lambda *error: None
        raise
    return 0
