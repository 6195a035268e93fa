"""Computes the verdict of each program, the effort, and the order of a migration."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .. import era
from ..era import choice
from . import obstacles, starting
from .files import Reading
from .findings import Finding, import_graph
from .implicit import Implicit, find_implicit
from .outdated import PACKAGES
from .supplied import FORWARDED
from .symbol import Symbol

__all__ = [
    "EFFORT_RULE",
    "KERAS_HOURS",
    "Effort",
    "Entry",
    "Step",
    "VERDICTS",
    "effort",
    "entries",
    "order",
]

VERDICTS = {
    "today": "runs unchanged on today's TensorFlow",
    "plain": "runs unchanged under the bridge",
    "--tf1": "runs unchanged with --tf1",
    "edits": "needs these {} edits",
    "port": "needs a port",
}

EFFORT_RULE = (
    "To run it: 0.1 h per place to rename; 0.5 h per distinct symbol to rewrite, plus 0.1 h per "
    "place; 8 h per distinct symbol to port; 0.5 h per Python 2 or broken file; 0.5 h per program "
    "for testing. To replace Estimators with Keras, per file: 0.1 h per place, and per distinct "
    "symbol 0 h (rename), 0.4 h (small), 3 h (canned Estimator; convert does most of it), 8 h "
    "(model_fn) or 8 h (large: it has no successor). Symbols to port, and large ones, count once "
    "per package of tf.contrib."
)
KERAS_HOURS = {"rename": 0.0, "small": 0.4, "canned": 3.0, "model": 8.0, "large": 8.0}


class Effort(NamedTuple):
    """Hours of work by EFFORT_RULE.

    Attributes:
      run: hours to run the code on the newest TensorFlow.
      keras: hours to replace Estimators with Keras.
    """

    run: float
    keras: float


class Entry(NamedTuple):
    """A program of the code base.

    Attributes:
      path: path of the file.
      how: why it is a program: "__main__", "app.run" or "notebook".
      files: the file itself, then all files of the code base that it imports.
      verdict: a key of VERDICTS.
      text: the verdict in words.
      command: the command that runs it; "" if it does not run yet.
      mode: "" or "--tf1": the option with which it runs once the edits are made.
      edits: the findings that prevent it from running, one per place.
      broken: (path, problem) of each of its files that was skipped, and of each place in them that
        fails in Python 3.
      uses: number of findings in its files.
      effort: hours of work.
      implicit: the implicit relative imports of its files.
    """

    path: str
    how: str
    files: tuple[str, ...]
    verdict: str
    text: str
    command: str
    mode: str
    edits: tuple[Finding, ...]
    broken: tuple[tuple[str, str], ...]
    uses: int
    effort: Effort
    implicit: tuple[Implicit, ...] = ()


class Step(NamedTuple):
    """One step of the migration.

    Attributes:
      paths: the files to migrate together; several if they import each other.
      uses: number of findings in them.
      effort: hours to replace Estimators with Keras.
    """

    paths: tuple[str, ...]
    uses: int
    effort: float


def _reached(path: str, graph: Mapping[str, Sequence[str]]) -> list[str]:
    found, pending = {path: None}, [path]
    while pending:
        for target in graph.get(pending.pop(), ()):
            if target not in found:
                found[target] = None
                pending.append(target)
    return list(found)


def entries(reading: Reading, findings: Sequence[Finding]) -> list[Entry]:
    """Returns the programs that use a symbol of the table, by path.

    Args:
      reading: the code base.
      findings: all findings.
    """
    graph = import_graph(reading)
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    found = obstacles.find(reading)
    result = []
    for path in reading.paths:
        own = reading.facts.get(path)
        how = own.entry if own else ""
        if own and not how and path.rsplit("/", 1)[-1] == "__main__.py":
            how = "__main__"
        if not how:
            continue
        files = _reached(path, graph)
        used = [finding for name in files for finding in by_path.get(name, ())]
        problems = [problem for name in files for problem in found.get(name, ())]
        if any(finding.symbol.kind != "tf2" for finding in used):
            result.append(_entry(reading, path, how, files, used, problems))
    return result


def _entry(
    reading: Reading,
    path: str,
    how: str,
    files: Sequence[str],
    used: Sequence[Finding],
    problems: Sequence[obstacles.Obstacle],
) -> Entry:
    start = starting.find_start(path, files, reading) if how != "notebook" else starting.Start()
    implicit = find_implicit(path, files, start, reading) if how != "notebook" else []
    stops = {mode: _places(used, mode) for mode in ("", "--tf1")}
    mode = min(
        stops, key=lambda name: (bool(stops[name]), _port(stops[name]), len(stops[name]), name)
    )
    edits = stops[mode]
    is_for_python_2 = any("Python 2" in one.text for one in problems)
    problems = [
        *(one for one in problems if not (mode and one.is_supplied)),
        *(obstacles.Obstacle(one.path, f"line {one.line}: {one.text}") for one in implicit
          if one.is_ambiguous),
    ]  # fmt: skip
    if not edits and not problems:
        needs_bridge = any(one.symbol.bridge and not one.guarded for one in used)
        verdict = mode or ("plain" if needs_bridge else "today")
    else:
        verdict = "port" if _port(edits) else "edits"
    count = len(edits) + len(problems)
    text = VERDICTS[verdict].format(count)
    if verdict == "edits" and count == 1:
        text = "needs this 1 edit"
    if verdict in ("edits", "port") and mode:
        text += ", then runs with --tf1"
    command = ""
    if verdict not in ("edits", "port"):
        if start.problem:
            text += f", once it can be started: {start.problem}"
        else:
            words = _words(path, verdict, how, start, reading)
            command = starting.command(path, words, start)
            if implicit:
                text += (
                    "; has implicit relative imports of Python 2, whose folders the command names"
                )
    needed = {name for file in files if file in reading.facts
              for name in reading.facts[file].outdated.packages}  # fmt: skip
    names = [f"{finding.symbol.name}." for finding in used]
    needed |= {library for package, library in FORWARDED.items()
               if any(name.startswith(f"tf.contrib.{package}.") for name in names)}  # fmt: skip
    if needed:
        text += "; needs " + ", ".join(PACKAGES[name] for name in sorted(needed))
    if is_for_python_2:
        text += obstacles.describe_divisions(files, reading)
    total = Effort(
        0.5 + _run_hours(edits) + 0.5 * len({one.path for one in problems}), effort(used).keras
    )
    return Entry(
        path, how, tuple(files), verdict, text, command, mode, tuple(edits),
        tuple((one.path, one.text) for one in problems), len(used), total, tuple(implicit)
    )  # fmt: skip


def _words(path: str, verdict: str, how: str, start: starting.Start, reading: Reading) -> list[str]:
    """Returns the command that runs a program of a verdict, without the program."""
    if verdict == "today" and how != "notebook":
        return ["python"]
    words = ["python", "-m", "estimator_bridge", "run"]
    if verdict == "--tf1":
        words.append("--tf1")
    elif verdict == "plain":
        program = os.path.join(reading.root, start.folder if start.module else path)
        words += _older_tf2(program, os.path.join(reading.root, path))
    return words


def _older_tf2(program: str, source: str) -> list[str]:
    """Returns the option for a program that `run` shows other names of TensorFlow 2."""
    found = choice.choose(program, source)
    if found is None or found.version is None or not found.changes_names:
        return []
    return [f"--as={era.format_version(found.version)}"] if found.version != era.TF1 else []


def _places(used: Sequence[Finding], mode: str) -> list[Finding]:
    """Returns the findings that prevent a program from running, one per line and symbol.

    A use under a name that is bound elsewhere is left out: an edit of that other place is enough.
    """
    found: dict[tuple[str, int, int, str], Finding] = {}
    for finding in used:
        runs = finding.symbol.tf1 if mode else finding.symbol.plain
        if runs or finding.guarded or finding.through:
            continue
        found.setdefault((finding.path, finding.cell, finding.line, finding.symbol.name), finding)
    return list(found.values())


def _port(edits: Sequence[Finding]) -> bool:
    return any(finding.symbol.edit == "port" for finding in edits)


def _distinct(used: Sequence[Finding]) -> list[Symbol]:
    return list({finding.symbol.name: finding.symbol for finding in used}.values())


def _subject(symbol: Symbol) -> str:
    """Returns the unit of effort: a contrib package if it has no successor, else the symbol."""
    if symbol.kind == "contrib" and "large" in (symbol.work, symbol.edit.replace("port", "large")):
        return ".".join(symbol.name.split(".")[:3])
    return symbol.name


def _run_hours(edits: Sequence[Finding]) -> float:
    symbols = _distinct(edits)
    hours = 8.0 * len({_subject(symbol) for symbol in symbols if symbol.edit == "port"})
    hours += 0.5 * sum(symbol.edit == "rewrite" for symbol in symbols)
    return hours + 0.1 * sum(finding.symbol.edit != "port" for finding in edits)


def effort(used: Sequence[Finding]) -> Effort:
    """Returns the hours by EFFORT_RULE, without those for broken files and for testing.

    Args:
      used: findings in any files.
    """
    stops = min(
        (_places(used, mode) for mode in ("", "--tf1")),
        key=lambda edits: (_port(edits), len(edits)),
    )
    keras = 0.0
    by_path: dict[str, list[Finding]] = {}
    for finding in used:
        if finding.how != "import" and finding.symbol.kind != "tf2":
            by_path.setdefault(finding.path, []).append(finding)
    for found in by_path.values():
        keras += 0.1 * len(found)
        subjects = {(_subject(symbol), symbol.work) for symbol in _distinct(found)}
        keras += sum(KERAS_HOURS[work] for _, work in subjects)
    return Effort(_run_hours(stops), keras)


def order(reading: Reading, findings: Sequence[Finding]) -> list[Step]:
    """Returns the files with findings in the order of a migration.

    A file comes after all files with findings that it imports, directly or indirectly. Files that
    import each other are one step. Of the possible next steps, the one with the least work comes
    first.

    Args:
      reading: the code base.
      findings: all findings.
    """
    # The import of a module also executes the __init__ of its package, and that often imports the
    # module. If these imports counted, all files of a package would be a single step.
    graph = import_graph(reading, packages=False)
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.symbol.kind != "tf2":
            by_path.setdefault(finding.path, []).append(finding)
    hours = {path: effort(found).keras for path, found in by_path.items()}
    groups = _strong_components(graph)
    group_of = {path: number for number, group in enumerate(groups) for path in group}
    steps: dict[int, Step] = {}
    needs: dict[int, set[int]] = {}
    # A component comes after the components that it imports, so their needs are known.
    for number, group in enumerate(groups):
        targets = {target for path in group for target in graph.get(path, ())}
        # Skipped files are not in the graph.
        below = {group_of[target] for target in targets if target in group_of} - {number}
        needs[number] = set()
        for other in below:
            needs[number] |= {other} if other in steps else needs[other]
        paths = tuple(sorted(path for path in group if path in by_path))
        if paths:
            uses = sum(len(by_path[path]) for path in paths)
            steps[number] = Step(paths, uses, sum(hours[path] for path in paths))
    return _topological(steps, needs)


def _topological(steps: dict[int, Step], needs: dict[int, set[int]]) -> list[Step]:
    import heapq

    waiting = {number: len(needs[number]) for number in steps}
    users: dict[int, list[int]] = {}
    for number in steps:
        for other in needs[number]:
            users.setdefault(other, []).append(number)
    ready = [(steps[n].effort, steps[n].paths, n) for n, count in waiting.items() if not count]
    heapq.heapify(ready)
    result = []
    while ready:
        _, _, number = heapq.heappop(ready)
        result.append(steps[number])
        for user in users.get(number, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (steps[user].effort, steps[user].paths, user))
    return result


def _strong_components(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns the groups of files that import each other, imported groups first.

    Algorithm: Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_path: set[str] = set()
    path: list[str] = []
    groups: list[list[str]] = []
    for start in graph:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        path.append(start)
        on_path.add(start)
        work = [(start, iter(graph[start]))]
        while work:
            node, targets = work[-1]
            target = next((t for t in targets if t in graph), None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group: list[str] = []
                    while not group or group[-1] != node:
                        group.append(path.pop())
                        on_path.discard(group[-1])
                    groups.append(group)
            elif target not in index:
                index[target] = low[target] = len(index)
                path.append(target)
                on_path.add(target)
                work.append((target, iter(graph[target])))
            elif target in on_path:
                low[node] = min(low[node], index[target])
    return groups
