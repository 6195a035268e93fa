"""Finds what in the files themselves prevents a program from running: broken code, Python 2."""

from collections.abc import Sequence
from typing import NamedTuple

from ..user_files import python_2
from .files import Reading

__all__ = ["Obstacle", "describe_divisions", "find"]


class Obstacle(NamedTuple):
    """A file that was skipped, or a place that fails in Python 3.

    Attributes:
      path: the file.
      text: the place, what it is, and what to write.
      is_supplied: whether it runs with --tf1.
    """

    path: str
    text: str
    is_supplied: bool = False


def find(reading: Reading) -> dict[str, list[Obstacle]]:
    """Returns the obstacles of each file that has some.

    Args:
      reading: the code base.
    """
    found: dict[str, list[Obstacle]] = {}
    for path, problem in reading.problems:
        where = f"line {problem.line}: " if problem.line else ""
        found.setdefault(path, []).append(Obstacle(path, where + problem.what))
    for path, facts in reading.facts.items():
        for stop in facts.outdated.stops:
            what = _where(reading, path, stop.line) + stop.what
            found.setdefault(path, []).append(Obstacle(path, what, stop.is_supplied))
    return found


def describe_divisions(files: Sequence[str], reading: Reading) -> str:
    """Returns a sentence on where a program for Python 2 may divide integers; "" if nowhere.

    Args:
      files: those of the program.
      reading: the code base.
    """
    places = [
        f"{name}, {python_2.format_lines(reading.facts[name].outdated.divisions)}"
        for name in files
        if name in reading.facts and reading.facts[name].outdated.divisions
    ]
    return f". {python_2.DIVISION.format('; '.join(places))}" if places else ""


def _where(reading: Reading, path: str, line: int) -> str:
    """Returns "line 3: ", of a notebook "cell 2, line 3: "."""
    parsed = reading.places.get(path)
    cell, line = parsed.place(line) if parsed else (0, line)
    return f"cell {cell}, line {line}: " if cell else f"line {line}: "
