"""`imp`, which loads modules from files of Python code."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from importlib import reload

__all__ = ["find_module", "load_module", "load_source", "new_module", "reload"]

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY, C_BUILTIN = 1, 2, 3, 5, 6


def new_module(name):
    """Returns an empty module; does not add it to sys.modules.

    Args:
      name: str, name of the module.
    """
    return types.ModuleType(name)


def load_source(name, pathname, file=None):
    """Executes a source file, with any suffix, as the module `name`, and returns the module.

    If a module of that name exists, the file is executed in the namespace of this module.

    Args:
      name: str, name of the module.
      pathname: path of the source file.
      file: not used.
    """
    loader = importlib.machinery.SourceFileLoader(name, pathname)
    spec = importlib.util.spec_from_file_location(name, pathname, loader=loader)
    module = sys.modules.get(name) or importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def find_module(name, path=None):
    """Finds a top-level module.

    Args:
      name: str, name of the module.
      path: list of the folders to search; None for sys.path.

    Returns:
      (open file or None, its path, (suffix, mode, kind)), for load_module.

    Raises:
      ImportError: there is none.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None and path is None and name in sys.builtin_module_names:
        return None, None, ("", "", C_BUILTIN)
    if spec is None or spec.origin is None:
        raise ImportError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations:
        return None, os.path.dirname(spec.origin), ("", "", PKG_DIRECTORY)
    suffix = os.path.splitext(spec.origin)[1]
    if suffix == ".py":
        # The caller closes it.
        return open(spec.origin, encoding="utf-8"), spec.origin, (suffix, "r", PY_SOURCE)
    return None, spec.origin, (suffix, "rb", PY_COMPILED if suffix == ".pyc" else C_EXTENSION)


def load_module(name, file, pathname, description):
    """Loads a module that find_module has found, under the given name.

    Args:
      name: str, name of the module.
      file: not used.
      pathname: path of the module, from find_module.
      description: (suffix, mode, kind) from find_module.
    """
    kind = description[2]
    if kind == PY_SOURCE:
        return load_source(name, pathname)
    if kind == PKG_DIRECTORY:
        return load_source(name, os.path.join(pathname, "__init__.py"))
    return importlib.import_module(name)
