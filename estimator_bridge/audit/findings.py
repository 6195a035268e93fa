"""Puts the two halves together: what the files say, and what is known of the names."""

from typing import NamedTuple

from .files import Reading
from .scan import Use
from .symbol import Symbol
from .table import Table

__all__ = ["Finding", "NotFollowed", "find", "import_graph"]


_TENSORFLOW = ("tensorflow", "tensorflow_estimator", "tensorflow_core", "estimator_bridge")


class Finding(NamedTuple):
    """One use of one symbol.

    Attributes:
      path: of the file, relative to the audited folder.
      cell: of a notebook, from 1, all cells counted; 0 in a Python file.
      line, column: from 1; in the cell, for a notebook.
      symbol: what is used.
      how: "import" or "use".
      guarded: the program goes on without it (a `try` that catches the failure, or a version test).
      through: the name that the whole symbol was given elsewhere in the program; changing that
      place is enough.
    """

    path: str
    cell: int
    line: int
    column: int
    symbol: Symbol
    how: str
    guarded: bool
    through: bool


class NotFollowed(NamedTuple):
    """Code whose meaning is only known when it runs."""

    path: str
    cell: int
    line: int
    text: str


def find(reading: Reading, table: Table) -> tuple[list[Finding], list[NotFollowed]]:
    """Returns every use of a symbol that the table knows, and what could not be followed."""
    findings: list[Finding] = []
    lost: list[NotFollowed] = []
    for path in reading.paths:
        facts = reading.facts.get(path)
        if facts is None:
            continue
        parsed = reading.places.get(path)
        seen: set[tuple[int, str]] = set()
        for use in facts.uses:
            symbol = _symbol_of(use, path, reading, table)
            if symbol is None:
                continue
            cell, line = parsed.place(use.line) if parsed else (0, use.line)
            # `getattr(tf, "contrib").layers` names one thing at one place, however it is put
            # together.
            if (use.line, use.column, symbol.name) in seen:
                continue
            seen.add((use.line, use.column, symbol.name))
            how = "import" if use.how == "import" else "use"
            through = use.how in ("alias", "star")
            findings.append(
                Finding(path, cell, line, use.column, symbol, how, use.guarded, through)
            )
        for one in facts.not_followed:
            cell, line = parsed.place(one.line) if parsed else (0, one.line)
            lost.append(NotFollowed(path, cell, line, one.text))
    return findings, lost


def _symbol_of(use: Use, path: str, reading: Reading, table: Table):
    """Returns the symbol that a use means; of several branches, the one that runs best."""
    if use.how == "method":
        return table.method(use.refs[0])
    best = None
    for ref in use.refs:
        if ref.split(".", 1)[0] in _TENSORFLOW:
            targets: tuple[str, ...] = (ref,)
        else:
            targets = reading.code_base.targets(ref, reading.facts, path)
        for target in targets:
            symbol = table.look_up(target, use.keywords)
            if symbol is None:
                if use.how != "star" and target.startswith(_TENSORFLOW) and len(use.refs) > 1:
                    # One branch uses a name that is in every version.
                    return None
                continue
            if use.how == "star" and (symbol.kind == "unknown" or symbol.gone == "1.15 or before"):
                continue
            if best is None or (symbol.plain, symbol.tf1) > (best.plain, best.tf1):
                best = symbol
    return best


def import_graph(reading: Reading, packages: bool = True) -> dict[str, tuple[str, ...]]:
    """Returns path -> the paths of the code base that the file imports directly, in order.

    Args:
      packages: with the `__init__` of each package on the way, which an import executes too.
    """
    graph: dict[str, tuple[str, ...]] = {}
    for path, facts in reading.facts.items():
        targets: dict[str, None] = {}
        for ref in facts.imports:
            if packages:
                targets.update(dict.fromkeys(reading.code_base.imports(ref, path)))
            else:
                targets[reading.code_base.locate(ref, path)[0]] = None
        targets.pop(path, None)
        targets.pop(None, None)
        graph[path] = tuple(targets)
    return graph
