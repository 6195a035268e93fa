"""Renders the report for a terminal."""

import os
import textwrap
from collections.abc import Iterator
from typing import Any

from ..user_files import notebook_cells
from .report import Report, by_symbol, implicit_imports
from .symbol import KINDS, Symbol, data
from .verdict import EFFORT_RULE, VERDICTS, Entry

__all__ = [
    "IMPLICIT",
    "SLOW",
    "VERDICT_WORDS",
    "agree",
    "hours",
    "instead",
    "render",
    "size",
    "summary",
]

# The heading of what Python 2 found in the own package.
IMPLICIT = "Implicit relative imports (Python 2)"

SLOW = "Slow input"

# Verdict → what is said of all programs that have it.
VERDICT_WORDS = {**VERDICTS, "edits": "needs edits"}


def _how(symbol: Symbol) -> str:
    """Returns how a symbol runs on the newest TensorFlow: yes, bridge, --tf1 or no."""
    if symbol.plain:
        return "bridge" if symbol.bridge else "yes"
    return symbol.runs


def hours(amount: float) -> str:
    """Returns a duration as text in minutes, hours, or days of 8 hours.

    Args:
      amount: hours.
    """
    if amount <= 0:
        return "nothing"
    if amount < 1:
        return f"{max(round(amount * 60 / 5) * 5, 5)} min"
    return f"{amount:.0f} h" if amount < 16 else f"{amount / 8:.0f} days"


def size(number: int) -> str:
    """Returns a number of bytes as text in kB or MB.

    Args:
      number: bytes.
    """
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.1f} kB"


def instead(symbol: Symbol) -> str:
    """Returns the replacement of a symbol that does not run.

    Args:
      symbol: the symbol.
    """
    if symbol.now:
        return symbol.now
    if symbol.edit == "port":
        return symbol.keras or "no successor"
    return symbol.keras or "depends on the program"


def _place(item: Any) -> str:
    where = f"cell {item.cell}, line {item.line}" if item.cell else str(item.line)
    return f"{item.path}:{where}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _title(text: str) -> list[str]:
    return ["", text.upper(), "-" * len(text)]


def _wrap(text: str, width: int, indent: int, first: str = "") -> list[str]:
    start = first or " " * indent
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=" " * indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def render(report: Report, width: int) -> Iterator[str]:
    """Yields the report's lines.

    Args:
      report: the report.
      width: width of the terminal in columns.
    """
    width = max(width, 60)
    yield f"Audit of {report.path}: {_count(report.num_files, 'file')}, {size(report.size)}"
    if report.findings:
        yield from _uses(report)
        yield from _symbols(report, width)
        yield from _traps(report, width)
    if report.not_followed:
        yield from _title("Not followed (known only at run time)")
        for one in report.not_followed:
            yield from _wrap(f"{_place(one)}  {one.text}", width, 4, "  ")
    if report.passed_over:
        yield from _title("Skipped")
        for path, line, why in report.passed_over:
            yield from _wrap(f"{path}{f':{line}' if line else ''}  {why}", width, 4, "  ")
    implicit = implicit_imports(report)
    if implicit:
        yield from _title(IMPLICIT)
        for found in implicit:
            yield from _wrap(f"{found.path}:{found.line}  {found.text}", width, 4, "  ")
    if report.slow:
        yield from _title(SLOW)
        for one in report.slow:
            yield from _wrap(f"{_place(one)}  {one.text}", width, 4, "  ")
    yield from _programs(report, width)
    if report.findings:
        yield from _effort(report, width)
    yield ""
    yield from _wrap(summary(report), width, 0)


def _uses(report: Report) -> Iterator[str]:
    yield from _title("Every use, and whether it runs (yes, with the bridge, with --tf1, no)")
    path = None
    widest = max(len(finding.symbol.name) for finding in report.findings)
    widest = min(widest, 56)
    for finding in report.findings:
        if finding.path != path:
            path = finding.path
            yield path
        where = f"{finding.line}:{finding.column}"
        if finding.cell:
            where = f"cell {finding.cell}, {where}"
        note = " (guarded)" if finding.guarded else ""
        yield f"  {where:>8}  {finding.symbol.name:{widest}}  {_how(finding.symbol)}{note}"


def _symbols(report: Report, width: int) -> Iterator[str]:
    yield from _title("Symbols")
    kind = None
    for symbol, count in by_symbol(report.findings):
        if symbol.kind != kind:
            kind = symbol.kind
            yield f"{KINDS[kind]}:"
        removed = f"removed in {symbol.removed_in}" if symbol.removed_in else "not removed"
        runs = {"plain": "runs under the bridge", "--tf1": "runs with --tf1", "no": "does not run"}[
            symbol.runs
        ]
        if symbol.plain and not symbol.bridge:
            runs = "runs"
        yield from _wrap(
            f"{symbol.name}  {_count(count, 'use')}; {removed}; {runs}", width, 6, "  "
        )
        if symbol.runs == "no" and symbol.now:
            yield from _wrap(f"instead: {symbol.now}", width, 13, "    ")
        if symbol.keras:
            yield from _wrap(f"Keras: {symbol.keras}", width, 11, "    ")
        if symbol.traps:
            titles = data("traps")
            yield from _wrap(
                "traps: " + ", ".join(titles[trap]["title"] for trap in symbol.traps),
                width,
                11,
                "    ",
            )


def _traps(report: Report, width: int) -> Iterator[str]:
    used = {trap for finding in report.findings for trap in finding.symbol.traps}
    if not used:
        return
    yield from _title("Parity traps in a migration to Keras")
    for name, trap in data("traps").items():
        if name in used:
            yield from _wrap(f"{trap['title']}: {trap['text']}", width, 4, "  ")


def _programs(report: Report, width: int) -> Iterator[str]:
    if not report.entries:
        return
    yield from _title("Programs")
    if any(entry.command for entry in report.entries):
        single = report.path.endswith((".py", notebook_cells.SUFFIX))
        folder = (os.path.dirname(report.path) or ".") if single else report.path
        yield f"(run the commands in {folder})"
    rank = list(VERDICTS)
    for entry in sorted(report.entries, key=lambda entry: (rank.index(entry.verdict), entry.path)):
        yield from _program(entry, width)


def _program(entry: Entry, width: int) -> Iterator[str]:
    yield f"{entry.path}: {entry.text}"
    size = f"{_count(len(entry.files), 'file')} of the code base, {_count(entry.uses, 'use')}"
    if entry.command:
        yield f"    {entry.command}"
    for path, why in entry.broken:
        yield from _wrap(f"{path}: {why}", width, 8, "    ")
    for edit in entry.edits:
        yield from _wrap(
            f"{_place(edit)}  {edit.symbol.name} -> {instead(edit.symbol)}", width, 8, "    "
        )
    run, keras = hours(entry.effort.run), hours(entry.effort.keras)
    yield from _wrap(f"({size}; {run} to run, {keras} to move to Keras)", width, 8, "    ")


def _effort(report: Report, width: int) -> Iterator[str]:
    yield from _title("Effort and order")
    run, keras = hours(report.effort.run), hours(report.effort.keras)
    total = (
        f"To run everything on today's TensorFlow: {run}. To replace Estimators with Keras: "
        f"{keras}."
    )
    yield from _wrap(total, width, 0)
    yield from _wrap(f"Rule: {EFFORT_RULE}", width, 2, "  ")
    yield "Order of the migration (each file after those that it imports):"
    for number, step in enumerate(report.order, 1):
        paths = ", ".join(step.paths) + (" (they import each other)" if len(step.paths) > 1 else "")
        yield from _wrap(
            f"{number}. {paths}: {_count(step.uses, 'use')}, {hours(step.effort)}", width, 7, "  "
        )


def agree(number: int, words: str) -> str:
    """Returns a number of programs and what they do.

    Args:
      number: how many.
      words: what one of them does, for example "needs a port".
    """
    verb, rest = words.split(" ", 1)
    return f"{number:,} {verb if number == 1 else verb.removesuffix('s')} {rest}"


def summary(report: Report) -> str:
    """Returns the result in a few sentences.

    Args:
      report: the report.
    """
    if not report.findings:
        read = _count(report.num_files, "file")
        text = f"No use of tf.estimator, tf.contrib or TensorFlow 1 in {read}."
    else:
        paths = {finding.path for finding in report.findings}
        text = f"{_count(len(report.findings), 'use')} in {_count(len(paths), 'file')}."
    counts: dict[str, int] = {}
    for entry in report.entries:
        counts[entry.verdict] = counts.get(entry.verdict, 0) + 1
    if counts:
        parts = [agree(counts[name], VERDICT_WORDS[name]) for name in VERDICTS if name in counts]
        text += f" Of {_count(len(report.entries), 'program')}: " + "; ".join(parts) + "."
    if report.passed_over:
        text += f" {_count(len({path for path, _, _ in report.passed_over}), 'file')} skipped."
    return text
