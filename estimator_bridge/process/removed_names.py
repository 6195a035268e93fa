"""Restores names that NumPy and Python had at the time of TensorFlow 1.x to 2.12.

Each missing name gets its documented value. Names that exist do not change, with one exception:
np.fromstring gets its binary mode back, which programs used. Numbers of NumPy print as then.
"""

import builtins
import collections
import collections.abc
import configparser
import ctypes
import fractions
import functools
import gc
import importlib
import importlib.abc
import importlib.util
import inspect
import math
import sys
import time
import unittest
from collections.abc import Callable, Iterable
from typing import Any

from estimator_bridge import old_packages
from estimator_bridge.old_packages import workers
from estimator_bridge.process.importing import ModuleSupplier
from estimator_bridge.shims import test_case
from estimator_bridge.tf1 import stdlib

__all__ = ["install"]

# Removed in Python 3.10.
_COLLECTIONS = [
    "Callable",
    "Container",
    "Hashable",
    "ItemsView",
    "Iterable",
    "Iterator",
    "KeysView",
    "Mapping",
    "MappingView",
    "MutableMapping",
    "MutableSequence",
    "MutableSet",
    "Sequence",
    "Set",
    "Sized",
    "ValuesView",
]


_ArgSpec = collections.namedtuple("_ArgSpec", "args varargs keywords defaults")

# (owner, name, value) of each name that Python had.
_PYTHON = [
    # A name of Python 2, used in programs that run on Python 2 and 3.
    (builtins, "xrange", range),
    (inspect, "getargspec", lambda function: _ArgSpec(*inspect.getfullargspec(function)[:4])),
    (time, "clock", time.perf_counter),
    (fractions, "gcd", math.gcd),
    (configparser, "SafeConfigParser", configparser.ConfigParser),
    (configparser.RawConfigParser, "readfp", configparser.RawConfigParser.read_file),
    (unittest, "makeSuite", unittest.defaultTestLoader.loadTestsFromTestCase),
]


def _numpy() -> None:
    import numpy as np

    # Removed in NumPy 1.24 (the literal) and 2.0 (the others).
    aliases: dict[str, Any] = {
        "int": int,
        "float": float,
        "complex": complex,
        "object": object,
        "str": str,
        "bool": bool,
    }
    aliases.update(long=int, unicode=str, unicode_=np.str_, string_=np.bytes_, float_=np.float64)
    aliases.update(
        complex_=np.complex128, int0=np.intp, Inf=np.inf, Infinity=np.inf, NaN=np.nan, infty=np.inf
    )
    aliases.update(asscalar=lambda array: array.item(), product=np.prod, cumproduct=np.cumprod)
    aliases.update(alltrue=np.all, sometrue=np.any, round_=np.round, mat=np.asmatrix)
    aliases.update(PINF=np.inf, NINF=-np.inf, PZERO=0.0, NZERO=-0.0, bool8=np.bool_)
    aliases.update(row_stack=np.vstack, in1d=_in1d, asfarray=_asfarray, msort=_msort)
    aliases.update(longfloat=np.longdouble, singlecomplex=np.complex64, cfloat=np.complex128)
    if hasattr(np, "trapezoid"):
        aliases.update(trapz=np.trapezoid)
    for name, value in aliases.items():
        # hasattr would read the name: NumPy 1.20 to 1.23 warn about some, later versions raise.
        if name not in vars(np):
            setattr(np, name, value)
    # Removed in NumPy 2.3; code that writes TFRecords often calls it.
    for kind in (np.ndarray, np.generic):
        if not hasattr(kind, "tostring"):
            _add_method(kind, "tostring", lambda array, order="C": array.tobytes(order))
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        # 0.5 and not np.float32(0.5), as in the metrics that programs print and others parse.
        np.set_printoptions(legacy="1.25")
    if np.lib.NumpyVersion(np.__version__) >= "2.3.0":
        np.fromstring = _with_binary_mode(np.fromstring)


def _in1d(ar1, ar2, assume_unique=False, invert=False):
    import numpy as np

    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _asfarray(a, dtype=None):
    import numpy as np

    dtype = np.dtype(np.float64 if dtype is None else dtype)
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _msort(a):
    import numpy as np

    return np.sort(a, axis=0)


def _add_method(kind: type, name: str, function: Callable[..., Any]) -> None:
    """Adds a method to a class written in C, whose namespace is read-only for Python code."""
    (namespace,) = gc.get_referents(kind.__dict__)
    namespace[name] = function
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _with_binary_mode(fromstring):
    """Returns np.fromstring with its binary mode, which NumPy 2.3 removed."""

    @functools.wraps(fromstring)
    def replacing(string, dtype=float, count=-1, *, sep="", **options):
        import numpy as np

        if sep:
            return fromstring(string, dtype, count, sep=sep, **options)
        data = string.encode("latin-1") if isinstance(string, str) else string
        return np.frombuffer(data, dtype, count, **options).copy()

    return replacing


class _DistutilsFinder(importlib.abc.MetaPathFinder):
    """Finds distutils in setuptools, where a program imports it and no other finder knows it.

    Python has removed it; programs mostly use its LooseVersion. Few do, and setuptools is large.
    """

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "distutils":
            return None
        # It imports its own distutils under this name.
        importlib.import_module("setuptools")
        return importlib.util.find_spec(fullname)


def _standard_library() -> None:
    _set_missing(_PYTHON)
    _set_missing([(collections, name, getattr(collections.abc, name)) for name in _COLLECTIONS])
    if sys.version_info >= (3, 12):
        sys.meta_path.append(_DistutilsFinder())
    test_case.restore(unittest.TestCase)
    supplier = ModuleSupplier()
    for name in stdlib.MODULES:
        if importlib.util.find_spec(name) is None:
            supplier.supply(name, f"{stdlib.__name__}.{name}")
    sys.meta_path.append(supplier)


def _set_missing(names: Iterable[tuple[Any, str, Any]]) -> None:
    """Sets each attribute (owner, name, value) that the owner lacks."""
    for owner, name, value in names:
        if not hasattr(owner, name):
            setattr(owner, name, value)


@functools.cache
def install(version: tuple[int, int]) -> None:
    """Sets the missing names, once.

    Args:
      version: (major, minor) of the TensorFlow that the program was written for.
    """
    _numpy()
    _standard_library()
    old_packages.install(version)
    workers.call_first(install, version)
