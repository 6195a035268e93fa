"""Sets methods of classes written in C, whose attributes Python does not let a program set."""

import ctypes
import gc
import sys
from typing import Any

__all__ = ["add_method", "can_set", "set_method"]

# Where a type object of CPython has its flags, on a platform of 64 bits, bytes from its start: 21
# fields of a word are before them (Include/cpython/object.h).
_FLAGS_OFFSET = 21 * 8
_IMMUTABLE = 1 << 8


def add_method(kind: type, name: str, method: Any) -> None:
    """Adds a method that a program calls by its name.

    Args:
      kind: a class.
      name: the name of the method.
      method: the function.
    """
    (namespace,) = gc.get_referents(kind.__dict__)
    namespace[name] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def can_set(kind: type) -> bool:
    """Tells whether methods by which Python computes (`__float__`) can be set here.

    Args:
      kind: a class, written in C.
    """
    if sys.implementation.name != "cpython" or sys.version_info < (3, 10):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or ctypes.sizeof(ctypes.c_ulong) != 8:
        return False
    # What is read there are the flags, or the layout is another one.
    return ctypes.c_ulong.from_address(id(kind) + _FLAGS_OFFSET).value == kind.__flags__


def set_method(kind: type, name: str, method: Any) -> None:
    """Sets a method by which Python computes (`__float__`).

    Args:
      kind: a class for which can_set is true.
      name: the name of the method.
      method: the function.
    """
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS_OFFSET)
    is_immutable = flags.value & _IMMUTABLE
    flags.value &= ~_IMMUTABLE
    try:
        setattr(kind, name, method)
    finally:
        # Python has changed another flag, by which it knows that its caches of the class are old.
        flags.value |= is_immutable
