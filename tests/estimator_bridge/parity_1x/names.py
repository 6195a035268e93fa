"""Finds the supplied names of tf.contrib that no case uses."""

import importlib
import json
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
SYMBOLS = os.path.join(HERE, "..", "..", "..", "estimator_bridge", "audit", "symbols")


def supplied_of_1_15():
    """Returns pairs (package, name) that the bridge supplies and that 1.15 has too."""
    with open(os.path.join(SYMBOLS, "supplied.json")) as file:
        supplied = json.load(file)
    with open(os.path.join(SYMBOLS, "contrib.json")) as file:
        original = json.load(file)
    return [
        (package, name)
        for package, names in sorted(supplied.items())
        for name in names
        if name in original[package]["names"]
    ]


def package_of(contrib, name):
    """Returns a package of tf.contrib, of which 1.15 imports some by statement only."""
    return getattr(contrib, name, None) or importlib.import_module("tensorflow.contrib." + name)


def record(contrib):
    """Returns a set that receives "package.name" whenever a file of this folder reads the name."""
    used = set()
    for package in {package for package, _ in supplied_of_1_15()}:
        module = package_of(contrib, package)
        module.__class__ = recording(type(module), package, used)
    return used


def recording(kind, package, used):
    """Returns a class of modules that notes in `used` what is read by the cases."""

    class Recording(kind):
        def __getattribute__(self, name):
            caller = sys._getframe(1).f_code.co_filename
            if os.path.join(HERE, "cases") in caller:
                used.add(f"{package}.{name}")
            return kind.__getattribute__(self, name)

    return Recording


def without_cases(contrib, used):
    """Returns the supplied names without a case, sorted.

    A name has one as well if a case uses the same object under another name. The names in a module
    have cases of their own, or their signatures are compared.

    Args:
      contrib: tf.contrib.
      used: the set that `record` returned.
    """
    values = {
        f"{package}.{name}": getattr(package_of(contrib, package), name)
        for package, name in supplied_of_1_15()
    }
    # Also names that 1.15 has in another package only.
    seen = {
        id(getattr(package_of(contrib, package), name, None))
        for package, _, name in (path.rpartition(".") for path in used)
    }
    return sorted(
        path
        for path, value in values.items()
        if path not in used
        and not isinstance(value, types.ModuleType)
        and not (callable(value) and id(value) in seen)
    )
