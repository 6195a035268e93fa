"""Keeps Python's state of the threads in which TensorFlow calls Python.

A py_func, or a generator, runs in a thread of TensorFlow. Python makes a state for such a thread
when it is called, and removes it when the call ends. Since Python 3.11, a state maps memory for its
frames: the call of an empty function takes three times as long as with Python 3.7. Here a thread
keeps its state.
"""

import ctypes
import functools
import sys
import threading
from typing import Any

from ..private_tf import script_ops

__all__ = ["apply"]

# Python does not notice the end of such a thread, and keeps its state, of some kilobytes. So there
# is a limit, for jobs that make new pipelines all the time.
_MOST = 4000

# Is part of a thread's state, and lost with it.
_thread = threading.local()
_count = 0


def apply() -> None:
    """Makes the threads that call Python from now on keep their state."""
    call = script_ops.FuncRegistry.__call__

    @functools.wraps(call)
    def call_and_keep(self: Any, token: Any, device: Any, args: Any) -> Any:
        # No frame called this one: it is not a thread that Python has started.
        if sys._getframe().f_back is None and not hasattr(_thread, "kept"):
            _keep()
        return call(self, token, device, args)

    script_ops.FuncRegistry.__call__ = call_and_keep


def _keep() -> None:
    global _count
    if _count < _MOST:
        _count += 1
        # The state is removed with the last reference; this one is never given back.
        ctypes.pythonapi.PyGILState_Ensure()
        _thread.kept = True
