"""Python of any version imports this when a bridged program starts it."""

import os
import sys


def _enter():
    folder = os.path.dirname(os.path.abspath(__file__))
    # The folder is removed from the path, as in a process without the bridge. Another sitecustomize
    # may follow it on the path; it is imported below.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    if os.environ.get("ESTIMATOR_BRIDGE_PREFIX") == sys.prefix:
        package = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
        # A checkout goes to the end of the path, as in the process that has started this one.
        is_installed = os.path.basename(package) in ("site-packages", "dist-packages")
        is_last = not (is_installed and package in sys.path)
        if is_last:
            sys.path.append(package)
        try:
            from estimator_bridge.process import children

            children.enter()
        finally:
            if is_last:
                sys.path.remove(package)
    own = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError:
        # There is no other sitecustomize. Python's import system expects this one in sys.modules.
        sys.modules[__name__] = own


_enter()
