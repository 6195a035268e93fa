"""`tf.contrib.learn.utils.gc`: chooses which exports, or other numbered paths, to keep.

Each filter takes a list of Path and returns a sorted list of some of them.
"""

import heapq
import os
from typing import NamedTuple, Optional

import tensorflow.compat.v1 as tf

__all__ = [
    "Path",
    "get_paths",
    "largest_export_versions",
    "mod_export_version",
    "negation",
    "one_of_every_n_export_versions",
    "union",
]


class Path(NamedTuple):
    """A path and its number."""

    path: str
    export_version: Optional[int]


def get_paths(base_dir, parser):
    """Returns the paths in a folder that have a number, sorted.

    Args:
      base_dir: the folder.
      parser: function from a Path without number to one with it, or to None to leave it out.
    """
    found = []
    for name in tf.gfile.ListDirectory(base_dir):
        # ListDirectory of a bucket ends folders with a slash.
        path = parser(Path(os.path.join(base_dir, name.rstrip("/")), None))
        if path:
            found.append(path)
    return sorted(found)


def largest_export_versions(n):
    """Returns a filter that keeps the `n` largest numbers.

    Args:
      n: int.
    """

    def keep(paths):
        largest = heapq.nlargest(
            n, [(path.export_version, place) for place, path in enumerate(paths)]
        )
        return sorted(paths[place] for _, place in largest)

    return keep


def one_of_every_n_export_versions(n):
    """Returns a filter that keeps the largest number of each interval of `n` numbers.

    Args:
      n: int; the intervals are 0 to n, n + 1 to 2n, and so on.
    """

    def keep(paths):
        largest = {}
        for path in paths:
            interval = max(path.export_version - 1, 0) // n
            if interval not in largest or largest[interval].export_version < path.export_version:
                largest[interval] = path
        return sorted(largest.values())

    return keep


def mod_export_version(n):
    """Returns a filter that keeps the numbers divisible by `n`.

    Args:
      n: int.
    """
    return lambda paths: sorted(path for path in paths if path.export_version % n == 0)


def union(lf, rf):
    """Returns a filter that keeps what one of two filters keeps.

    Args:
      lf: filter.
      rf: filter.
    """
    return lambda paths: sorted({*lf(paths), *rf(paths)})


def negation(f):
    """Returns a filter that keeps what another one drops.

    Args:
      f: filter.
    """
    return lambda paths: sorted({*paths} - {*f(paths)})
