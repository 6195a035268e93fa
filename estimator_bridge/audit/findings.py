"""Combines the content of the files with the table of symbols into findings."""

from typing import NamedTuple, Optional

from .files import Reading
from .scan import Use
from .symbol import Symbol
from .table import Table

__all__ = ["Finding", "Note", "find", "find_slow", "import_graph"]


_TENSORFLOW = ("tensorflow", "tensorflow_estimator", "tensorflow_core", "estimator_bridge")


class Finding(NamedTuple):
    """One use of one symbol.

    Attributes:
      path: path of the file, relative to the audited folder.
      cell: cell of a notebook, counting all cells from 1; 0 in a Python file.
      line: line in the file or the cell, from 1.
      column: column, from 1.
      symbol: the symbol.
      how: "import" or "use".
      guarded: whether the program handles the absence of the symbol, by a `try` or by a test of the
        version.
      through: whether the symbol is used under a name that the program binds elsewhere. Then only
        that other place needs a change.
    """

    path: str
    cell: int
    line: int
    column: int
    symbol: Symbol
    how: str
    guarded: bool
    through: bool


class Note(NamedTuple):
    """A place in the code, and what is to be said of it.

    Attributes:
      path: path of the file, relative to the audited folder.
      cell: cell of a notebook; 0 in a Python file.
      line: line in the file or the cell, from 1.
      text: the code and why it was not followed, or what to write.
    """

    path: str
    cell: int
    line: int
    text: str


def find(reading: Reading, table: Table) -> tuple[list[Finding], list[Note]]:
    """Returns every use of a symbol in the table, and the code that could not be followed.

    Args:
      reading: the code base.
      table: the table of symbols.
    """
    findings: list[Finding] = []
    not_followed: list[Note] = []
    for path in reading.paths:
        facts = reading.facts.get(path)
        if facts is None:
            continue
        parsed = reading.places.get(path)
        seen: set[tuple[int, int, str]] = set()
        for use in facts.uses:
            symbol = _symbol_of(use, path, reading, table)
            if symbol is None:
                continue
            cell, line = parsed.place(use.line) if parsed else (0, use.line)
            # `getattr(tf, "contrib").layers` is a single use.
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
            not_followed.append(Note(path, cell, line, one.text))
    return findings, not_followed


def find_slow(reading: Reading) -> list[Note]:
    """Returns where the files parse rows one by one before they batch them, by file and line.

    Args:
      reading: the code base.
    """
    found = []
    for path in reading.paths:
        facts, parsed = reading.facts.get(path), reading.places.get(path)
        for one in facts.slow if facts else ():
            cell, line = parsed.place(one.line) if parsed else (0, one.line)
            found.append(Note(path, cell, line, one.text))
    return found


def _symbol_of(use: Use, path: str, reading: Reading, table: Table) -> Optional[Symbol]:
    """Returns the symbol of a use; if branches differ, the one that runs in most versions."""
    if use.how == "method":
        return table.method(use.refs[0])
    best: Optional[Symbol] = None
    is_star = use.how in ("star", "star attribute")
    for ref in use.refs:
        if ref.split(".", 1)[0] in _TENSORFLOW:
            targets: tuple[str, ...] = (ref,)
        else:
            targets = reading.code_base.targets(ref, reading.facts, path)
        for target in targets:
            symbol = table.look_up(target, use.keywords)
            if symbol is None:
                if not is_star and target.startswith(_TENSORFLOW) and len(use.refs) > 1:
                    # One of the branches uses a name that every version has.
                    return None
                continue
            if is_star and (symbol.kind == "unknown" or symbol.removed_in == "1.15 or before"):
                continue
            if best is None or (symbol.plain, symbol.tf1) > (best.plain, best.tf1):
                best = symbol
    return best


def import_graph(reading: Reading, packages: bool = True) -> dict[str, tuple[str, ...]]:
    """Returns path -> paths of the files that the file imports directly, in order.

    Args:
      reading: the code base.
      packages: whether to include the `__init__` of each package, which an import also executes.
    """
    graph: dict[str, tuple[str, ...]] = {}
    for path, facts in reading.facts.items():
        targets: dict[str, None] = {}
        for ref in facts.imports:
            if packages:
                targets.update(dict.fromkeys(reading.code_base.imports(ref, path)))
            else:
                target = reading.code_base.locate(ref, path)[0]
                if target is not None:
                    targets[target] = None
        targets.pop(path, None)
        graph[path] = tuple(targets)
    return graph
