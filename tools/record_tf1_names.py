"""Records which names of tf.contrib the bridge supplies, for the audit, which has no TensorFlow.

    python -m estimator_bridge run --tf1 tools/record_tf1_names.py

Writes estimator_bridge/audit/symbols/supplied.json. Run it when tf.contrib has gained names.
"""

import json
import pathlib
import textwrap

import tensorflow as tf

from estimator_bridge.audit.symbol import data
from estimator_bridge.tf1.unsupported import StandIn

TARGET = pathlib.Path(__file__).parents[1] / "estimator_bridge/audit/symbols/supplied.json"


def is_supplied(package, name=None):
    """Tells whether a program that runs with --tf1 has a package of tf.contrib, or a name in it."""
    try:
        value = getattr(tf.contrib, package)
        if name is not None:
            value = getattr(value, name)
    except (AttributeError, ImportError):
        return False
    return value is not None and not isinstance(value, StandIn)


def supplied():
    """Returns package -> the names that are supplied: those of 1.15, and of earlier versions."""
    found = {}
    for package, entry in data("contrib").items():
        if is_supplied(package):
            names = {*entry["names"], *dir(getattr(tf.contrib, package))}
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
