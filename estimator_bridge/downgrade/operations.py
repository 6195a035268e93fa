"""The operations of each TensorFlow version since 1.13, and which have a kernel for CPUs.

The table operations.json.gz is written by tools/record_operations.py from the published packages.
"""

import gzip
import importlib.resources
import json
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple, Optional

from ..errors import BridgeError
from ..versions import installed_tensorflow, parse

__all__ = ["Operations", "find", "known_versions", "minor", "newest", "of_installed"]


class Operations(NamedTuple):
    """The operations of a version.

    Attributes:
      version: the version of TensorFlow, "1.15.5".
      number: place of the version in the table, from 0.
      types: numbers of the data types (types.proto) that it knows, without those of references.
    """

    version: str
    number: int
    types: frozenset[int]

    def definition(self, name: str) -> Optional[Any]:
        """Returns the OpDef of an operation, or None if this version does not have it.

        Args:
          name: the type of a node, such as "MatMul".
        """
        return _definition(name, self.number)

    def has_kernel(self, name: str) -> bool:
        """Returns whether this version computes an operation on a CPU, for some type of data.

        Args:
          name: the type of a node.
        """
        return bool(_find(_table()["kernels"].get(name, ()), self.number))

    def has_contrib(self, name: str) -> bool:
        """Returns whether tf.contrib of this version has an operation.

        Args:
          name: the type of a node.
        """
        return self.number in _table()["contrib"].get(name, ())


@cache
def _table() -> dict[str, Any]:
    packed = importlib.resources.files(__package__).joinpath("operations.json.gz").read_bytes()
    table: dict[str, Any] = json.loads(gzip.decompress(packed))
    return table


def _find(changes: Iterable[list[Any]], number: int) -> Any:
    """Returns what a version has, of [[first version, what it has from then on], ...]."""
    found = None
    for first, value in changes:
        if first <= number:
            found = value
    return found


@cache
def _definition(name: str, number: int) -> Optional[Any]:
    # Imported here: it imports TensorFlow.
    from tensorflow.core.framework import op_def_pb2

    found = _find(_table()["operations"].get(name, ()), number)
    return op_def_pb2.OpDef.FromString(bytes.fromhex(found)) if found else None


def minor(version: str) -> str:
    """Returns "1.15" for "1.15.5".

    Args:
      version: a version; its first two numbers count.
    """
    return ".".join(map(str, parse(version)[:2]))


def known_versions() -> list[str]:
    """Returns the versions in the table, oldest first: "1.13", "1.14", ..."""
    return [minor(version) for version in _table()["versions"]]


def find(version: str) -> Operations:
    """Returns the operations of a version.

    Args:
      version: "1.15", or "1.15.5": the table has one patch release of each version.

    Raises:
      BridgeError: the table does not have the version.
    """
    known = known_versions()
    if minor(version) not in known:
        raise BridgeError(
            f"no list of operations of TensorFlow {version}; choose from {', '.join(known)}"
        )
    number = known.index(minor(version))
    table = _table()
    return Operations(table["versions"][number], number, frozenset(table["types"][number]))


def newest() -> Operations:
    """Returns the operations of the newest version in the table."""
    return find(known_versions()[-1])


def of_installed() -> Operations:
    """Returns the operations of the installed TensorFlow.

    A version that is newer than the table has at least those of the newest one in it.
    """
    version = installed_tensorflow() or ""
    return newest() if parse(version)[:2] > parse(known_versions()[-1]) else find(version)
