"""Renders the report as one HTML file that loads nothing from the network or other files."""

import html
import os
from collections.abc import Sequence
from typing import Any

from .report import Report, by_symbol
from .symbol import KINDS, data
from .text import hours, instead, size, summary
from .verdict import EFFORT_RULE, VERDICTS

__all__ = ["render"]

_RUNS = {"plain": ("plain", "yes"), "--tf1": ("tf1", "with --tf1"), "no": ("no", "no")}


def _text(value: object) -> str:
    return html.escape(str(value))


def _code(value: object) -> str:
    return f"<code>{_text(value)}</code>"


def _row(*cells: str) -> str:
    """Returns a table row of cells `<td ...>content` without their closing tags."""
    return "<tr>" + "".join(f"{cell}</td>" for cell in cells) + "</tr>"


def _table(name: str, headers: Sequence[str], rows: Sequence[str]) -> list[str]:
    head = "".join(f"<th scope=col>{_text(header)}</th>" for header in headers)
    return [
        f'<input type=search data-filters="{name}" placeholder="filter rows by words" '
        'aria-label="filter">',
        f'<div class=wide><table class=sortable id="{name}"><thead><tr>{head}</tr></thead><tbody>',
        *rows,
        "</tbody></table></div>",
    ]


def _line(item: Any) -> str:
    return f"cell {item.cell}, line {item.line}" if item.cell else str(item.line)


def _place(item: Any) -> str:
    return _code(f"{item.path}:{_line(item)}")


def render(report: Report) -> str:
    """Returns the page, whose tables can be sorted and filtered.

    Args:
      report: the report.
    """
    with open(os.path.join(os.path.dirname(__file__), "page.html"), encoding="utf-8") as file:
        page = file.read()
    body = [
        f"<h1>Audit of {_code(report.path)}</h1>",
        f"<p class=lead>{_text(summary(report))}</p>",
        f"<p class=note>{report.num_files:,} files read, {report.num_notebooks:,} of them "
        f"notebooks, {size(report.size)}; {report.num_parsed:,} parsed.</p>",
        *_programs(report),
        *_effort(report),
        *_symbols(report),
        *_uses(report),
        *_traps(report),
        *_rest(report),
    ]
    page = page.replace("@TITLE@", f"Audit of {_text(report.path)}")
    return page.replace("@BODY@", "\n".join(body))


def _programs(report: Report) -> list[str]:
    if not report.entries:
        return []
    rank = list(VERDICTS)
    rows = []
    for entry in report.entries:
        stops = [
            f"<li>{_place(edit)} {_code(edit.symbol.name)} &rarr; {_text(instead(edit.symbol))}"
            for edit in entry.edits
        ]
        stops += [f"<li>{_code(path)} {_text(why)}" for path, why in entry.broken]
        more = f"<br>{_code(entry.command)}" if entry.command else ""
        if stops:
            items = "".join(stops)
            more += f"<details><summary>what to change</summary><ul>{items}</ul></details>"
        shown = f'<span class="verdict {entry.verdict.lstrip("-")}">{_text(entry.text)}</span>'
        rows.append(
            _row(
                f"<td class=code>{_text(entry.path)}",
                f'<td data-key="{rank.index(entry.verdict)}">{shown}{more}',
                f"<td>{len(entry.files)}",
                f"<td>{entry.uses}",
                f'<td data-key="{entry.effort.run:.2f}">{hours(entry.effort.run)}',
                f'<td data-key="{entry.effort.keras:.2f}">{hours(entry.effort.keras)}',
            )
        )
    headers = ("Program", "Verdict", "Files", "Uses", "To run it", "To move it to Keras")
    return ["<h2>Programs</h2>", *_table("programs", headers, rows)]


def _effort(report: Report) -> list[str]:
    if not report.findings:
        return []
    steps = []
    for step in report.order:
        paths = ", ".join(map(_code, step.paths))
        together = " (they import each other)" if len(step.paths) > 1 else ""
        steps.append(f"<li>{paths}{together}: {step.uses} uses, {hours(step.effort)}</li>")
    return [
        "<h2>Effort and order</h2>",
        f"<p>To run everything on today's TensorFlow: <b>{hours(report.effort.run)}</b>. "
        f"To replace Estimators with Keras: <b>{hours(report.effort.keras)}</b>.</p>",
        f"<p class=note>Rule: {_text(EFFORT_RULE)}</p>",
        "<details><summary>Order of the migration, each file after those that it imports "
        f"({len(steps)} steps)</summary><ol>",
        *steps,
        "</ol></details>",
    ]


def _symbols(report: Report) -> list[str]:
    titles = data("traps")
    rows = []
    for symbol, count in by_symbol(report.findings):
        how, runs = _RUNS[symbol.runs]
        if symbol.runs != "plain" and symbol.now:
            runs += f"<br><span class=note>or write {_text(symbol.now)}</span>"
        traps = (f'<a href="#trap-{key}">{_text(titles[key]["title"])}</a>' for key in symbol.traps)
        rows.append(
            _row(
                f"<td class=code>{_text(symbol.name)}",
                f"<td>{_text(KINDS[symbol.kind])}",
                f"<td>{count}",
                f"<td class={how}>{runs}",
                f"<td>{_text(symbol.removed_in or 'not removed')}",
                f"<td>{_text(symbol.keras)}",
                f"<td>{', '.join(traps)}",
            )
        )
    headers = ("Symbol", "Kind", "Uses", "Under the bridge", "Removed in", "Keras", "Parity traps")
    return ["<h2>Symbols</h2>", *_table("symbols", headers, rows)] if rows else []


def _uses(report: Report) -> list[str]:
    rows = []
    for finding in report.findings:
        how, runs = _RUNS[finding.symbol.runs]
        runs += ", guarded" if finding.guarded else ""
        key = f"{finding.cell:06d}.{finding.line:06d}.{finding.column:04d}"
        rows.append(
            _row(
                f"<td class=code>{_text(finding.path)}",
                f'<td data-key="{key}">{_line(finding)}:{finding.column}',
                f"<td class=code>{_text(finding.symbol.name)}",
                f"<td>{_text(KINDS[finding.symbol.kind])}",
                f"<td class={how}>{runs}",
            )
        )
    headers = ("File", "Line", "Symbol", "Kind", "Under the bridge")
    return ["<h2>Every use</h2>", *_table("uses", headers, rows)] if rows else []


def _traps(report: Report) -> list[str]:
    used = {trap for finding in report.findings for trap in finding.symbol.traps}
    items = [
        f'<dt id="trap-{name}">{_text(trap["title"])}</dt><dd>{_text(trap["text"])}</dd>'
        for name, trap in data("traps").items()
        if name in used
    ]
    return ["<h2>Parity traps in a migration to Keras</h2><dl>", *items, "</dl>"] if items else []


def _rest(report: Report) -> list[str]:
    parts = []
    if report.not_followed:
        items = [f"<li>{_place(one)} {_text(one.text)}</li>" for one in report.not_followed]
        parts += ["<h2>Not followed (known only at run time)</h2><ul>", *items, "</ul>"]
    if report.passed_over:
        places = [
            (path + (f":{line}" if line else ""), why) for path, line, why in report.passed_over
        ]
        items = [f"<li>{_code(place)} {_text(why)}</li>" for place, why in places]
        parts += ["<h2>Skipped</h2><ul>", *items, "</ul>"]
    return parts
