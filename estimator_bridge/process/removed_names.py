"""Restores names that Python had at the time of TensorFlow 1.x to 2.12, and its packages of then.

Each missing name gets its documented value. Names that exist do not change.
"""

import builtins
import collections
import collections.abc
import configparser
import errno
import fractions
import functools
import importlib
import importlib.abc
import importlib.util
import inspect
import math
import os
import sys
import time
import unittest

from estimator_bridge import old_packages
from estimator_bridge.old_packages import workers
from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.process import python_2, python_calls
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
    # Until 3.6, for `if error.errno == os.errno.EEXIST`.
    (os, "errno", errno),
    (configparser, "SafeConfigParser", configparser.ConfigParser),
    (configparser.RawConfigParser, "readfp", configparser.RawConfigParser.read_file),
    (unittest, "makeSuite", unittest.defaultTestLoader.loadTestsFromTestCase),
]


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
    for owner, name, value in [*_PYTHON, *python_calls.NAMES]:
        set_missing(owner, **{name: value})
    python_calls.install()
    set_missing(collections, **{name: getattr(collections.abc, name) for name in _COLLECTIONS})
    if sys.version_info >= (3, 12):
        sys.meta_path.append(_DistutilsFinder())
    test_case.restore(unittest.TestCase)
    supplier = ModuleSupplier()
    for name in stdlib.MODULES:
        if importlib.util.find_spec(name) is None:
            supplier.supply(name, f"{stdlib.__name__}.{name}")
    sys.meta_path.append(supplier)


@functools.cache
def install(version: tuple[int, int]) -> None:
    """Sets the missing names, once.

    Args:
      version: (major, minor) of the TensorFlow that the program was written for.
    """
    _standard_library()
    old_packages.install(version)
    if version <= python_2.LAST:
        python_2.install()
    workers.call_first(install, version)
