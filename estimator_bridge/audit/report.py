"""Runs an audit, and renders its result as JSON."""

import json
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from ..user_files import notebook_cells
from . import files, verdict
from .findings import Finding, Note, find, find_slow
from .implicit import Implicit
from .symbol import KINDS, Symbol, data
from .table import Table

__all__ = ["Report", "audit", "by_symbol", "implicit_imports", "to_json"]


class Report(NamedTuple):
    """The result of an audit.

    Attributes:
      path: the audited path, as given.
      num_files: number of files in the code base.
      num_parsed: number of parsed files.
      num_notebooks: number of notebooks.
      size: size of the files in bytes.
      findings: every use, by file and line.
      not_followed: code whose meaning is known only at run time.
      passed_over: (path, line or 0, reason) of skipped files and cells.
      entries: the programs.
      effort: hours of work for the whole code base, by `verdict.EFFORT_RULE`.
      order: the steps of a migration.
      slow: where rows are parsed one by one before they are batched.
    """

    path: str
    num_files: int
    num_parsed: int
    num_notebooks: int
    size: int
    findings: list[Finding]
    not_followed: list[Note]
    passed_over: list[tuple[str, int, str]]
    entries: list[verdict.Entry]
    effort: verdict.Effort
    order: list[verdict.Step]
    slow: list[Note]


def _ignore_progress(what: str, done: int, of: int) -> None:
    pass


def audit(
    path: str, progress: Callable[[str, int, int], None] = _ignore_progress, processes: int = 1
) -> Report:
    """Audits a folder, a Python file or a notebook, without running any of its code.

    Args:
      path: the folder or file.
      progress: called repeatedly with the current work, the files done and the number of files.
      processes: number of processes that parse.

    Returns:
      The report.
    """
    reading = files.read(path, progress, processes)
    progress("looking up names", 0, 0)
    findings, not_followed = find(reading, Table())
    programs = verdict.entries(reading, findings)
    # A name that exists only in TensorFlow 2 is a finding only if it must be changed for --tf1.
    blocking = {id(edit) for entry in programs for edit in entry.edits}
    shown = [one for one in findings if one.symbol.kind != "tf2" or id(one) in blocking]
    # Code that cannot be followed is relevant only in programs that use TensorFlow.
    near = {path for entry in programs for path in entry.files}
    near.update(path for path, facts in reading.facts.items() if facts.names_tensorflow)
    near.update(finding.path for finding in findings)
    not_followed = [one for one in not_followed if one.path in near or "tensorflow" in one.text]
    total = verdict.effort(shown)
    unreadable = len({path for path, _ in reading.problems if path in _relevant(programs)})
    run = total.run + 0.5 * (len(programs) + unreadable)
    return Report(
        path=path,
        num_files=len(reading.paths),
        num_parsed=reading.num_parsed,
        num_notebooks=sum(name.endswith(notebook_cells.SUFFIX) for name in reading.paths),
        size=reading.size,
        findings=shown,
        not_followed=not_followed,
        passed_over=[(name, problem.line, problem.what) for name, problem in reading.problems],
        entries=programs,
        effort=verdict.Effort(run, total.keras),
        order=verdict.order(reading, findings),
        slow=find_slow(reading),
    )


def _relevant(programs: Sequence[verdict.Entry]) -> set[str]:
    return {path for entry in programs for path, _ in entry.broken}


def implicit_imports(report: Report) -> list[Implicit]:
    """Returns the implicit relative imports of all programs, by file and line.

    Args:
      report: the report.
    """
    # One that is ambiguous in any program is named as such.
    found: dict[tuple[str, int, str], Implicit] = {}
    for entry in report.entries:
        for one in entry.implicit:
            key = (one.path, one.line, one.module)
            if one.is_ambiguous or key not in found:
                found[key] = one
    return [found[key] for key in sorted(found)]


def by_symbol(findings: Sequence[Finding]) -> list[tuple[Symbol, int]]:
    """Returns each symbol with its number of uses, sorted by kind and then by that number.

    Args:
      findings: all findings.
    """
    counts: dict[str, int] = {}
    symbols: dict[str, Symbol] = {}
    for finding in findings:
        symbols[finding.symbol.name] = finding.symbol
        counts[finding.symbol.name] = counts.get(finding.symbol.name, 0) + 1
    kinds = list(KINDS)
    names = sorted(symbols, key=lambda name: (kinds.index(symbols[name].kind), -counts[name], name))
    return [(symbols[name], counts[name]) for name in names]


def _place(item: Any) -> dict[str, Any]:
    place = {"file": item.path, "line": item.line}
    return {**place, "cell": item.cell} if item.cell else place


def _symbol(symbol: Symbol) -> dict[str, Any]:
    return {
        "symbol": symbol.name,
        "kind": symbol.kind,
        "runs": symbol.runs,
        "runs_under_bridge": symbol.plain,
        "runs_with_tf1": symbol.tf1,
        "gone_since": symbol.removed_in or None,
        "instead": symbol.now or None,
        "keras": symbol.keras or None,
        "keras_work": symbol.work,
        "traps": list(symbol.traps),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        **_place(finding),
        "column": finding.column,
        "how": finding.how,
        "guarded": finding.guarded,
        **_symbol(finding.symbol),
    }


def to_json(report: Report) -> str:
    """Returns the report as JSON text. Keys change only with the format version.

    Args:
      report: the report.
    """
    traps = data("traps")
    used = {trap for finding in report.findings for trap in finding.symbol.traps}
    value = {
        "format_version": 1,
        "path": report.path,
        "files": {
            "found": report.num_files,
            "notebooks": report.num_notebooks,
            "parsed": report.num_parsed,
            "bytes": report.size,
        },
        "findings": [_finding(finding) for finding in report.findings],
        "symbols": [
            {**_symbol(symbol), "uses": count} for symbol, count in by_symbol(report.findings)
        ],
        "traps": {name: trap for name, trap in traps.items() if name in used},
        "not_followed": [{**_place(one), "text": one.text} for one in report.not_followed],
        "passed_over": [
            {"file": path, "line": line or None, "why": why}
            for path, line, why in report.passed_over
        ],
        "implicit_imports": [
            {"file": one.path, "line": one.line, "module": one.module, "fails": one.is_ambiguous}
            for one in implicit_imports(report)
        ],
        "slow": [{**_place(one), "text": one.text} for one in report.slow],
        "entry_points": [_entry(entry) for entry in report.entries],
        "effort": {
            "run_hours": round(report.effort.run, 1),
            "keras_hours": round(report.effort.keras, 1),
            "rule": verdict.EFFORT_RULE,
        },
        "order": [
            {"files": list(step.paths), "uses": step.uses, "keras_hours": round(step.effort, 1)}
            for step in report.order
        ],
    }
    return json.dumps(value, indent=1)


def _entry(entry: verdict.Entry) -> dict[str, Any]:
    return {
        "file": entry.path,
        "how": entry.how,
        "verdict": entry.verdict,
        "text": entry.text,
        "command": entry.command or None,
        "files": list(entry.files),
        "uses": entry.uses,
        "edits": [
            {
                **_place(edit),
                "symbol": edit.symbol.name,
                "edit": edit.symbol.edit,
                "instead": edit.symbol.now or None,
            }
            for edit in entry.edits
        ],
        "passed_over": [{"file": path, "why": why} for path, why in entry.broken],
        "run_hours": round(entry.effort.run, 1),
        "keras_hours": round(entry.effort.keras, 1),
    }
