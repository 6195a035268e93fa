"""Runs the cells of a notebook as a program.

IPython executes each cell, so its magics, `!commands` and displayed values work as in Jupyter. The
folder of the notebook is the current folder, as it is there.
"""

import contextlib
import importlib
import importlib.util
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Optional

from ..era import TF1, advice, declared, format_version
from ..errors import BridgeError
from ..output import terminal
from ..user_files import notebook_cells
from . import python_2
from .importing import call_when_imported

__all__ = ["adapt", "load", "run"]

_SHELL = "IPython.core.interactiveshell"
# How long threads may go on after the last cell, as under nbconvert.
_THREAD_SECS = 5.0
# Jupyter's magics for the window of the notebook.
_WINDOW_MAGICS = ("autosave", "clear", "cls", "connect_info", "qtconsole")


def adapt(version: Optional[tuple[int, int]]) -> None:
    """Gives IPython Colab's magic that chooses a TensorFlow, and advice after a cell that fails.

    The magic fails where it asks for TensorFlow 1.x and the notebook gets another.

    Args:
      version: the (major, minor) that the process gets; None without a choice.
    """

    def choose(line: str) -> None:
        is_met = not line.strip() or (version == TF1) == line.strip().startswith("1")
        if not is_met:
            gets = f"TensorFlow {format_version(version)}" if version else "today's TensorFlow"
            raise importlib.import_module("IPython.core.error").UsageError(
                f"%{declared.MAGIC} {line.strip()}: the notebook gets {gets}; choose with the "
                "option --tf1 or --as of estimator_bridge"
            )

    def advise(done: Any) -> None:
        error = done.error_before_exec or done.error_in_exec
        remedy = error and (advice.describe(error, version) or python_2.describe(error, version))
        if remedy and "ipykernel" in sys.modules:
            remedy = remedy.replace("estimator_bridge run", "estimator_bridge kernel")
        if remedy:
            print(remedy, file=sys.stderr)

    def add() -> None:
        shell = importlib.import_module(_SHELL).InteractiveShell
        prepare = shell.init_magics

        def init_magics(self: Any) -> None:
            prepare(self)
            self.register_magic_function(choose, magic_name=declared.MAGIC)
            self.events.register("post_run_cell", advise)

        shell.init_magics = init_magics

    call_when_imported(_SHELL, add)


def load(path: str) -> list[notebook_cells.Cell]:
    """Returns the cells of code of a notebook.

    Args:
      path: of the notebook.

    Raises:
      BridgeError: the file is not a notebook of Python, or IPython is not installed.
    """
    try:
        with open(path, "rb") as file:
            cells = notebook_cells.read(file.read())
    except (OSError, ValueError) as error:
        raise BridgeError(f"{path}: {error}") from error
    if not cells:
        raise BridgeError(f"{path}: the notebook has no code in Python")
    if importlib.util.find_spec("IPython") is None:
        raise BridgeError(f"{path}: a notebook needs IPython: pip install ipython")
    return cells


def run(path: str, cells: Sequence[notebook_cells.Cell], module: ModuleType) -> None:
    """Runs the cells of a notebook, to its end or to the first one that fails.

    Values and errors are printed as IPython prints them, errors on standard error.

    Args:
      path: of the notebook.
      cells: its cells.
      module: the program's `__main__`.

    Raises:
      BaseException: what a cell has raised. It has been printed, so sys.excepthook is silent.
    """
    name = terminal.escape(os.path.basename(path))
    os.chdir(os.path.dirname(os.path.abspath(path)))
    with _limited_threads(name), tempfile.TemporaryDirectory() as folder:
        shell = _make_shell(module, folder)
        for position, cell in enumerate(cells, 1):
            done = shell.run_cell(cell.text, store_history=True)
            error = done.error_before_exec or done.error_in_exec
            if error is None or cell.may_fail:
                continue
            left = len(cells) - position
            if not isinstance(error, SystemExit):
                print(f"estimator_bridge: cell {cell.number} of {name} failed", file=sys.stderr)
                sys.excepthook = lambda *raised: None
            elif left:
                print(
                    f"estimator_bridge: cell {cell.number} of {name} exited; the "
                    f"{f'{left} cells' if left > 1 else 'cell'} after it did not run",
                    file=sys.stderr,
                )
            raise error


@contextlib.contextmanager
def _limited_threads(name: str) -> Iterator[None]:
    """Lets the process end although threads of its notebook, such as queue runners, go on.

    Args:
      name: of the notebook.
    """
    # Python calls it when the main thread has ended. It also ends idle threads of executors.
    shutdown = vars(threading)["_shutdown"]
    has_ended = threading.Event()

    def wait() -> None:
        has_ended.wait()
        shutdown()

    waiter = threading.Thread(target=wait, daemon=True)

    def limited() -> None:
        # Up to Python 3.12, the waiter would wait for the main thread too.
        locks = vars(threading).get("_shutdown_locks", set())
        locks.discard(vars(threading.main_thread()).get("_tstate_lock"))
        has_ended.set()
        waiter.join(_THREAD_SECS)
        if waiter.is_alive():
            left = [one for one in threading.enumerate() if not one.daemon]
            names = ", ".join(one.name for one in left if one is not threading.main_thread())
            print(
                f"estimator_bridge: {name} has ended; ended threads that it left: "
                f"{terminal.escape(names)}",
                file=sys.stderr,
            )

    try:
        yield
    finally:
        # Python 3.12 cannot start a thread once the main thread has ended.
        waiter.start()
        vars(threading)["_shutdown"] = limited


@contextlib.contextmanager
def _note_interrupts() -> Iterator[list[int]]:
    """Yields a list of interrupts: with one, IPython ends a command, but not its cell."""
    received: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        received.append(number)
        if callable(before):
            before(number, frame)

    is_main = threading.current_thread() is threading.main_thread()
    if is_main and callable(before):
        signal.signal(signal.SIGINT, note)
    try:
        yield received
    finally:
        if is_main and callable(before):
            signal.signal(signal.SIGINT, before)


def _make_shell(module: ModuleType, folder: str) -> Any:
    """Returns a new shell of IPython.

    Args:
      module: whose names the cells have.
      folder: for its files, which are of no use later.
    """

    base: Any = importlib.import_module(_SHELL).InteractiveShell

    class Shell(base):
        def system(self, cmd: str) -> None:
            """For `!command`."""
            with _note_interrupts() as received:
                base.system(self, cmd)
            if received:
                raise KeyboardInterrupt

        def getoutput(self, *arguments: Any, **options: Any) -> Any:
            """For `x = !command`."""
            with _note_interrupts() as received:
                found = base.getoutput(self, *arguments, **options)
            if received:
                raise KeyboardInterrupt
            return found

        def _showtraceback(self, kind: Any, value: Any, lines: Any) -> None:
            if not isinstance(value, SystemExit):
                # What the cell has printed comes first, also in a file.
                sys.stdout.flush()
                print(self.InteractiveTB.stb2text(lines), file=sys.stderr)

        def enable_gui(self, gui: Any = None) -> None:
            """For `%matplotlib inline`: there is no window."""

        def ask_exit(self) -> None:
            """For `exit()`."""
            raise SystemExit

    # How a person would leave the shell.
    warnings.filterwarnings("ignore", message="To exit: use")
    config = importlib.import_module("traitlets.config").Config()
    config.HistoryManager.enabled = False
    if not sys.stderr.isatty():
        config.InteractiveShell.colors = "NoColor"
    # As Jupyter does: no figure opens a window.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    shell = Shell.instance(config=config, user_module=module, ipython_dir=folder)
    for name in _WINDOW_MAGICS:
        shell.register_magic_function(lambda line: None, magic_name=name)
    page = importlib.import_module("IPython.core.page")
    # On a terminal, `name?` would wait for a key.
    shell.set_hook("show_in_pager", page.as_hook(page.display_page))
    if not sys.stdout.isatty():
        shell.display_pub.clear_output = lambda wait=False: None
    return shell
