"""Flags in `tf.train.Int64List`: protobuf 7 refuses them, protobuf 3 stored 0 and 1."""

import contextlib
import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["install"]


def install() -> None:
    """Makes the lists take bool and numpy.bool, if the installed protobuf refuses them."""
    from tensorflow.core.example import feature_pb2

    kind: Any = feature_pb2.Int64List
    if not _refuses(kind):
        return
    kind.__init__ = _constructor(kind.__init__)
    # The class of all lists of numbers and texts.
    values: Any = type(kind().value)
    values.append = _appender(values.append)
    values.extend = _extender(values.extend)


def _refuses(kind: Any) -> bool:
    with warnings.catch_warnings():
        # NumPy 1 warns of a flag as a number, in protobuf 4 and 5.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            kind(value=[True, np.bool_(True)])
        except TypeError:
            return True
    return False


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, (bool, np.bool_)) else value


def _sized(values: Any) -> Any:
    """Returns the values such that they can be read twice."""
    return values if values is None or hasattr(values, "__len__") else list(values)


@contextlib.contextmanager
def _raising(first: TypeError) -> Iterator[None]:
    """Replaces a TypeError of the block by the first one, which names what the program gave."""
    try:
        yield
    except TypeError:
        raise first from None


def _constructor(original: Any) -> Any:
    @functools.wraps(original)
    def construct(self, *arguments, **fields):
        if "value" not in fields:
            original(self, *arguments, **fields)
            return
        values = _sized(fields.pop("value"))
        try:
            original(self, *arguments, value=values, **fields)
        except TypeError as error:
            self.Clear()
            with _raising(error):
                original(self, *arguments, value=list(map(_integer, values)), **fields)

    return construct


def _appender(original: Any) -> Any:
    @functools.wraps(original)
    def append(self, value):
        try:
            original(self, value)
        except TypeError as error:
            with _raising(error):
                original(self, _integer(value))

    return append


def _extender(original: Any) -> Any:
    @functools.wraps(original)
    def extend(self, values):
        values, size = _sized(values), len(self)
        try:
            original(self, values)
        except TypeError as error:
            del self[size:]
            with _raising(error):
                original(self, list(map(_integer, values)))

    return extend
