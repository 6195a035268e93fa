"""Records the names of tf.contrib that the bridge supplies, for the audit without TensorFlow.

    python -m estimator_bridge run --tf1 tools/record_tf1_names.py

Writes estimator_bridge/audit/symbols/supplied.json. Run it when names are added to tf.contrib.
"""

import json
import pathlib
import textwrap
import types

import tensorflow as tf

from estimator_bridge.audit.symbol import data
from estimator_bridge.tf1.unsupported import StandIn

TARGET = pathlib.Path(__file__).parents[1] / "estimator_bridge/audit/symbols/supplied.json"


def is_supplied(package, name=None):
    """Returns whether `run --tf1` supplies a package of tf.contrib, or a name in it."""
    try:
        value = getattr(tf.contrib, package)
        if name is not None:
            value = getattr(value, name)
    except (AttributeError, ImportError):
        return False
    return value is not None and not isinstance(value, StandIn)


def earlier_names(package):
    """Returns the public names of a package, without the modules that implement it or that it uses.

    A submodule counts if the package lists it in `__all__` or binds it under another name.
    """
    ours = package.__name__.startswith("estimator_bridge.")
    listed = getattr(package, "__all__", ()) if ours else ()
    names = []
    for name in dir(package):
        value = getattr(package, name, None)
        if ours and isinstance(value, types.ModuleType) and name not in listed:
            parent, _, own_name = value.__name__.rpartition(".")
            if not parent.startswith(package.__name__.rpartition(".")[0]) or own_name == name:
                continue
        names.append(name)
    return names


def supplied():
    """Returns package -> the names that are supplied: those of 1.15, and of earlier versions."""
    found = {}
    for package, entry in data("contrib").items():
        if is_supplied(package):
            names = {*entry["names"], *earlier_names(getattr(tf.contrib, package))}
            names = sorted(name for name in names if not name.startswith("_"))
            found[package] = [name for name in names if is_supplied(package, name)]
    return found


def main():
    lines = []
    for package, names in supplied().items():
        listed = textwrap.wrap(", ".join(map(json.dumps, names)), 110, break_on_hyphens=False)
        lines.append(f"{json.dumps(package)}: [\n" + "\n".join(listed) + "\n]")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
