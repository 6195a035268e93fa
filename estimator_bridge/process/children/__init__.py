"""Installs the bridge in the Python processes that a program starts.

This package's folder contains a sitecustomize.py, which Python imports when it starts. Children
find it through PYTHONPATH; the two variables below configure it.
"""

import os
import sys
from typing import Optional

__all__ = [
    "FOLDER",
    "MODE_VARIABLE",
    "PREFIX_VARIABLE",
    "enter",
    "inherit",
    "install_interface",
]

FOLDER = os.path.dirname(os.path.abspath(__file__))
# sys.prefix of the interpreter in which the bridge is installed. Others do not install the bridge.
PREFIX_VARIABLE = "ESTIMATOR_BRIDGE_PREFIX"
# The TensorFlow whose interface the program gets, such as "1.15" or "2.8"; empty without a choice.
MODE_VARIABLE = "ESTIMATOR_BRIDGE_MODE"
# The older TensorFlow for which exports are written; empty for none.
EXPORTS_VARIABLE = "ESTIMATOR_BRIDGE_EXPORTS_FOR"

# Packages published with the bridge; a program's own package of that name takes precedence.
OWN_PACKAGES = ("trainer",)


def inherit(version: Optional[tuple[int, int]], exports_for: str = "") -> None:
    """Makes the Python processes started from now on install the bridge.

    Args:
      version: the (major, minor) of the TensorFlow whose interface they get; None for no choice.
      exports_for: the older TensorFlow that must load what they export; "" for none.
    """
    os.environ[EXPORTS_VARIABLE] = exports_for
    os.environ[PREFIX_VARIABLE] = sys.prefix
    os.environ[MODE_VARIABLE] = "" if version is None else ".".join(map(str, version))
    # An empty entry is the current folder, but an empty variable is none.
    before = os.environ.get("PYTHONPATH", "")
    entries = before.split(os.pathsep) if before else []
    if FOLDER not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([FOLDER, *entries])


def enter() -> None:
    """Installs the bridge in a child process, before the child's own code runs."""
    from estimator_bridge import install

    from ..importing import prefer_folders

    install()
    if os.environ.get(EXPORTS_VARIABLE):
        from estimator_bridge.downgrade import exports

        exports.install(os.environ[EXPORTS_VARIABLE])
    prefer_folders(OWN_PACKAGES)
    from estimator_bridge import era

    mode = os.environ.get(MODE_VARIABLE)
    install_interface(era.parse(mode) if mode else None)


def install_interface(version: Optional[tuple[int, int]]) -> None:
    """Gives this process the interface of a TensorFlow; estimator_bridge is installed already.

    Args:
      version: its (major, minor), 1.15 or from 2.0 to 2.15; None for no choice.
    """
    from estimator_bridge import era

    if version == era.TF1:
        from estimator_bridge import tf1

        tf1.install()
        return

    from ..importing import call_when_imported

    call_when_imported("tensorflow", _install_input)
    if version is not None:
        era.install(version)
    else:
        from estimator_bridge.era import unchosen

        unchosen.warn()


def _install_input() -> None:
    # Many child processes never import TensorFlow, and need none of this.
    from estimator_bridge import tf1

    tf1.install_input(in_graphs_only=True)
