"""Keeps AutoGraph from leaving files in the folder for temporary files, in all TensorFlow versions.

AutoGraph writes each converted function to a temporary file, which it removes at the end, and
imports it. Python then writes the byte code beside it, to __pycache__, where it stays.
"""

import functools
import sys
from typing import Any

from .. import private_tf

__all__ = ["apply"]


def apply() -> None:
    """Has the code that AutoGraph generates imported without writing its byte code."""
    loader = private_tf.autograph_loader
    load_source = loader.load_source
    if getattr(load_source, "_bridged", False):
        return

    @functools.wraps(load_source)
    def load(*args: Any, **options: Any) -> Any:
        before = sys.dont_write_bytecode
        sys.dont_write_bytecode = True
        try:
            return load_source(*args, **options)
        finally:
            sys.dont_write_bytecode = before

    vars(load)["_bridged"] = True
    loader.load_source = load
