"""Lets a program end whose session is open while a thread of TensorFlow calls Python.

Old programs often leave their session open. Python removes it at the very end, and TensorFlow then
waits for the calls of a py_func that its input has begun. But a thread that asks for Python at this
time is ended by Python, so that its call never returns, and the process waits for ever.
"""

import atexit
import ctypes
import functools
import weakref
from typing import Any

from estimator_bridge.private_tf import session

__all__ = ["install"]

_sessions: weakref.WeakSet[Any] = weakref.WeakSet()


def install() -> None:
    """Leaves the sessions from now on whose graphs call Python to the system at the end."""
    construct = session.BaseSession.__init__

    @functools.wraps(construct)
    def construct_and_note(self: Any, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        _sessions.add(self)

    session.BaseSession.__init__ = construct_and_note
    atexit.register(_leave)


def _calls_python(graph: Any) -> bool:
    # From TensorFlow 2.22 on, calls within a function, such as that of Dataset.map, are noted in
    # the graph of the function.
    graphs = [graph, *(getattr(one, "graph", None) for one in graph._functions.values())]
    return any(hasattr(one, "_py_funcs_used_in_graph") for one in graphs)


def _leave() -> None:
    for one in list(_sessions):
        if _calls_python(one.graph):
            # Never given back, so that nothing removes the session.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
