"""Lets the Python processes that a program starts have Estimators too.

The folder of this package has a sitecustomize.py, which Python imports when it starts. It reaches
the children through PYTHONPATH, and the two variables below tell it what to do there.
"""

import os
import sys

__all__ = ["FOLDER", "MODE_VARIABLE", "PREFIX_VARIABLE", "enter", "inherit"]

FOLDER = os.path.dirname(os.path.abspath(__file__))
# sys.prefix of the interpreter that the bridge is installed for: another Python leaves it alone.
PREFIX_VARIABLE = "ESTIMATOR_BRIDGE_PREFIX"
# "tf2" or "tf1": the view of TensorFlow that the program has.
MODE_VARIABLE = "ESTIMATOR_BRIDGE_MODE"

# What the bridge is published with: a program's package of that name comes first, always.
OWN_PACKAGES = ("trainer",)


def inherit(tf1: bool) -> None:
    """Makes the Python processes started from now on install the bridge as this one has."""
    os.environ[PREFIX_VARIABLE] = sys.prefix
    os.environ[MODE_VARIABLE] = "tf1" if tf1 else "tf2"
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if FOLDER not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([FOLDER, *entries])


def enter() -> None:
    """Installs the bridge in a child, before any of the child's own code runs."""
    from estimator_bridge import install

    from ..importing import prefer_folders

    install()
    prefer_folders(OWN_PACKAGES)
    if os.environ.get(MODE_VARIABLE) == "tf1":
        from estimator_bridge import tf1

        tf1.install()
