"""Python of any version imports this when a bridged program starts it."""

import os
import sys


def _enter():
    folder = os.path.dirname(os.path.abspath(__file__))
    # Without the bridge this folder is not on the path; another sitecustomize may follow it.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    if os.environ.get("ESTIMATOR_BRIDGE_PREFIX") == sys.prefix:
        package = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
        sys.path.append(package)
        try:
            from estimator_bridge.process import children

            children.enter()
        finally:
            sys.path.remove(package)
    own = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError:
        # There is no other. Python's import system expects this module where it was.
        sys.modules[__name__] = own


_enter()
