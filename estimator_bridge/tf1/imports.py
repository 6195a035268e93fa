"""Decides which modules get TensorFlow 1.x for `import tensorflow`, and which get TensorFlow 2.

A process has one `sys.modules['tensorflow']`, which two kinds of modules import: the program, which
expects 1.x, and libraries (Keras, the Estimator package, TensorBoard, TensorFlow itself, whose
functions import lazily), which expect 2.x. With the 1.x view in `sys.modules`, libraries would fail
at some later call. So `sys.modules` keeps the 2.x module. `builtins.__import__` is replaced by a
function that finds the importing module and returns the version for it. This covers imports at any
time, including those in functions, `exec` and notebooks. Rewriting the program's source would miss
these imports, and would need a bytecode cache.

Every module that is not part of a known 2.x library belongs to the program, including the modules
of an installed package of 1.x code, such as a team's own trainer.

`importlib.import_module` is replaced too: there the importing module is that of the calling frame,
and a call in Python's own library counts for whoever called that. `sys.modules["tensorflow"]`
itself stays the 2.x module.
"""

import builtins
import contextlib
import functools
import importlib
import importlib.util
import os
import sys
import sysconfig
import threading
import types
from collections.abc import Callable

from estimator_bridge.tf1 import (
    guarded,
    keras_package,
    libraries,
    names_of_1_15,
    pickled,
)
from estimator_bridge.tf1.contrib.package import PackageAlias, PrivatePath
from estimator_bridge.tf1.unsupported import GENERAL_ADVICE, StandIn

__all__ = ["install", "installed"]

# Below these packages the names are TensorFlow's own modules; elsewhere they are names of the view.
_PRIVATE = frozenset(
    [
        "_api",
        "compiler",
        "core",
        "distribute",
        "dtensor",
        "include",
        "lite",
        "python",
        "security",
        "stream_executor",
        "tools",
        "tsl",
        "xla",
    ]
)

_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep

# What an import finds in place of what may not exist.
_STAND_INS = (StandIn, PrivatePath)


def installed() -> bool:
    """Returns whether `install` has been called."""
    return isinstance(builtins.__import__, _Importer)


def install(build_view: Callable[[], types.ModuleType]) -> None:
    """Makes `import tensorflow` return the view in the program's modules.

    Args:
      build_view: returns the view; called when the first of the program's modules imports
        TensorFlow.
    """
    importer = _Importer(builtins.__import__, build_view)
    builtins.__import__ = importer
    importlib.__import__ = importer
    importlib.import_module = _replace_import_module(importlib.import_module, importer)
    sys.excepthook = _show


def _replace_import_module(original, importer):
    """Returns `importlib.import_module` that asks `importer` for the names of TensorFlow."""

    @functools.wraps(original)
    def import_module(name, package=None):
        named = f"{package}{name}" if package and name.startswith(".") else name
        if not _is_tensorflow(named) and not keras_package.has(named):
            return original(name, package)
        caller = sys._getframe(1)
        module = _find_calling_module(caller)
        if _asks_for_a_name(caller.f_globals) and not libraries.has(module):
            module = caller.f_globals["__name__"]
        calling = {"__name__": module}
        # Without names to import from it, `import a.b` would give a.
        return importer(importlib.util.resolve_name(name, package), calling, None, ("__name__",))

    return import_module


def _is_tensorflow(name) -> bool:
    return name == "tensorflow" or name.startswith("tensorflow.")


def _asks_for_a_name(globals) -> bool:
    """Tells whether `pydoc.locate` imports, with which programs look for a name in packages.

    A name that is not supplied must be missing there, so that the program looks elsewhere.
    """
    return globals.get("__name__") == "pydoc"


def _find_calling_module(frame) -> str:
    """Returns the name of the first module on the stack that is not of Python's own library."""
    while frame is not None:
        file = frame.f_code.co_filename
        installed = f"{os.sep}site-packages{os.sep}" in file
        if installed or not file.startswith((_STANDARD_LIBRARY, "<frozen ")):
            return frame.f_globals.get("__name__", "__main__")
        frame = frame.f_back
    # A thread that has only run Python's own library: the program started it, as far as is known.
    return "__main__"


class _Importer:
    """`builtins.__import__`, as the module docstring describes."""

    def __init__(self, original, build_view):
        self._original = original
        self._build_view = build_view
        self._built = None
        self._thread = threading.local()
        self._lock = threading.RLock()
        functools.update_wrapper(self, original)

    @property
    def _view(self):
        with self._lock:
            if self._built is None:
                with self._for_tensorflow():
                    self._built = self._build_view()
            return self._built

    @contextlib.contextmanager
    def _for_tensorflow(self):
        """Gives TensorFlow 2 to all modules that this thread imports meanwhile."""
        before = getattr(self._thread, "for_tensorflow", False)
        self._thread.for_tensorflow = True
        try:
            yield
        finally:
            self._thread.for_tensorflow = before

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        try:
            if level == 0 and (_is_tensorflow(name) or keras_package.has(name)):
                importer = (globals or {}).get("__name__") or "__main__"
                # Code that runs during TensorFlow's own import does not belong to the program.
                own = getattr(self._thread, "for_tensorflow", False)
                if not own and not libraries.has(importer):
                    if type(fromlist) is list and not fromlist and _is_tensorflow(name):
                        # From C. pickle looks for the module in sys.modules afterwards.
                        found = self._for_program(name, globals, locals, ("__name__",))
                        pickled.supply(name, found)
                    return self._for_program(name, globals, locals, fromlist or ())
                if _is_tensorflow(name) and "tensorflow" not in sys.modules:
                    with self._for_tensorflow():
                        return self._original(name, globals, locals, fromlist, level)
            return self._original(name, globals, locals, fromlist, level)
        except BaseException as error:
            _drop_own_frames(error)
            raise

    def _for_program(self, name, globals, locals, fromlist):
        parts = name.split(".")[1:]
        module = view = self._view
        if not _is_tensorflow(name):
            return keras_package.find(name, fromlist, (globals or {}).get("__name__", "__main__"))
        if parts and parts[0] in _PRIVATE:
            module = self._private(name, parts, globals, locals, fromlist)
        elif parts:
            module = self._public(name, parts, globals, locals, fromlist)
        path = ".".join(parts)
        if isinstance(module, _STAND_INS):
            _fail_if_expected(path)
        return _with_stand_ins(module, path, fromlist) if fromlist else view

    def _private(self, name, parts, globals, locals, fromlist):
        """Returns a private module of TensorFlow, and for those of Keras what `tf.keras` uses."""
        if parts[0] == "python" and parts[1:2] and parts[1] in ("keras", "layers"):
            module = getattr(self._view.python, parts[1])
            for part in parts[2:]:
                module = module.step(part)
            return module
        # A child may have the name of a module of Keras, which is found through the package.
        own = tuple(one for one in fromlist if parts[1:] or one not in ("keras", "layers"))
        module = self._original(name, globals, locals, own or ("__name__",), 0)
        return self._view.python if parts == ["python"] else module

    def _public(self, name, parts, globals, locals, fromlist):
        """Returns the view's own `tensorflow.a.b`, else TensorFlow's module of that name."""
        module = self._view
        located = _asks_for_a_name(globals or {})
        for number, part in enumerate(parts, 1):
            parent, module = module, getattr(module, part, None)
            if not isinstance(module, types.ModuleType) and hasattr(parent, "step"):
                # A private module may have the name of the function that is imported from it.
                module = parent.step(part)
            missing = ".".join(["tensorflow", *parts[:number]])
            if module is None and located and parts[0] == "contrib":
                raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
            if module is None and hasattr(parent, "_advice_for"):
                module = StandIn(*parent._advice_for(part))
                # There `import a.b as c` looks for what a does not have.
                sys.modules.setdefault(f"{parent.__name__}.{part}", module)
            if module is None and parts[0] == "contrib" and "python" in parts:
                # A public module of 1.x was a package of private ones: learn.python.learn.utils.gc.
                module = PrivatePath(f"tf.{'.'.join(parts)}", parent)
                break
            if module is None and parts[0] == "contrib":
                raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
            if module is None:
                return self._from_tensorflow(name, missing, globals, locals, fromlist)
        if not isinstance(module, types.ModuleType):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return module

    def _from_tensorflow(self, name, missing, globals, locals, fromlist):
        """Returns TensorFlow's own module `name`, of which the view lacks the part `missing`."""
        try:
            return self._original(name, globals, locals, fromlist or ("__name__",), 0)
        except ModuleNotFoundError as error:
            if not _is_tensorflow(error.name or ""):
                raise
            # It may lack a package that the view has. `pydoc.locate` looks at the error's name.
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing) from None


def _fail_if_expected(path, name=None):
    """Raises the error of 1.15 where 1.15 lacked what the bridge lacks, and the program catches it.

    Args:
      path: of a module, below tensorflow.
      name: what is missing in it; None if the module is missing.

    Raises:
      ImportError: the statement is in a `try` that catches this error.
    """
    if names_of_1_15.has(path, name):
        return
    if guarded.expects(_importing_frame(), module_missing=name is None):
        whole = f"tensorflow.{path}".rstrip(".")
        if name is None:
            raise ModuleNotFoundError(f"No module named {whole!r}", name=whole)
        raise ImportError(f"cannot import name {name!r} from {whole!r}", name=whole)


def _importing_frame() -> types.FrameType:
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _with_stand_ins(module, path, fromlist):
    """Returns `module`, or a copy with stand-ins for missing names that `tf.contrib` once had.

    Args:
      module: what is imported.
      path: its path below tensorflow.
      fromlist: the names to import from it.

    Raises:
      ImportError: as in `_fail_if_expected`.
    """
    names = [name for name in fromlist if name != "*"]
    missing = [name for name in names if not hasattr(module, name)]
    for name in names:
        if name in missing or isinstance(getattr(module, name), _STAND_INS):
            _fail_if_expected(path, name)
    starred = _names_for_star(module, path) if "*" in fromlist else []
    missing += [name for name in starred if not hasattr(module, name)]
    advice = getattr(module, "_advice_for", None)
    if advice is None and path.partition(".")[0] == "contrib":
        advice = lambda name: (f"tf.{path}.{name}", GENERAL_ADVICE)  # noqa: E731
    if not starred and (advice is None or not missing):
        return module
    extended = types.ModuleType(module.__name__, module.__doc__)
    extended.__dict__.update(module.__dict__)
    # The package's own __getattr__ provides the other names of the statement.
    extended.__getattr__ = lambda name: getattr(module, name)
    if starred:
        extended.__all__ = starred
    for name in missing:
        setattr(extended, name, StandIn(*advice(name)))
    return extended


def _names_for_star(module, path):
    """Returns what `from module import *` imports: what 1.15 had there, and older names.

    A name that is found on first use is one of them, and a module that only the bridge's own code
    needs is not: `tf` would replace the program's.
    """
    if not path:
        return [*module.__all__, "contrib", "estimator"]
    if not path.startswith("contrib.") or not names_of_1_15.has(path):
        return []
    if isinstance(module, PackageAlias):
        names = dir(module)
    else:
        names = [
            name for name, value in vars(module).items() if not isinstance(value, types.ModuleType)
        ]
    names = {*getattr(module, "__all__", names), *names_of_1_15.names(path)}
    return sorted(name for name in names if not name.startswith("_"))


def _drop_own_frames(error) -> None:
    """Removes this module's frames from a traceback."""
    kept = error.__traceback__
    while kept is not None and kept.tb_next is not None:
        if kept.tb_next.tb_frame.f_code.co_filename == __file__:
            kept.tb_next = kept.tb_next.tb_next
        else:
            kept = kept.tb_next


def _show(kind, error, traceback) -> None:
    """`sys.excepthook` that prints an error without this module's frames."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            _drop_own_frames(one)
            waiting += [one.__cause__, one.__context__]
    sys.__excepthook__(kind, error, error.__traceback__ or traceback)
