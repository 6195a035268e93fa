"""Renders the report as one HTML file that loads nothing from the network or other files."""

import os
from collections.abc import Sequence
from typing import Any

from ..output.html_page import Markup, page, paragraph, section, text
from .report import Report, by_symbol, implicit_imports
from .symbol import KINDS, data
from .text import IMPLICIT, SLOW, VERDICT_WORDS, agree, hours, instead, size, summary
from .verdict import EFFORT_RULE, Entry

__all__ = ["render"]

# How a symbol runs under the bridge → class of its cell, and its text.
_RUNS = {"plain": ("good", "yes"), "--tf1": ("mild", "with --tf1"), "no": ("bad", "no")}
# Most programs of one verdict that are shown without a click.
_OPEN_ROWS = 20
# Characters of the longest name that is not broken: it fits on a phone.
_WHOLE = 40
# Verdict → class of its text.
_CLASSES = {"today": "good", "plain": "good", "--tf1": "mild", "edits": "mild", "port": "bad"}


def _text(value: object) -> str:
    return text(str(value))


def _code(value: object) -> str:
    return f"<code>{_text(value)}</code>"


def _dotted(value: object) -> str:
    """Returns a name or path that may be broken after each of its parts."""
    shown = _text(value)
    for mark in "./_":
        shown = shown.replace(mark, f"{mark}<wbr>")
    return shown


def _whole(name: str) -> str:
    """Returns a name to be written, in one piece unless it is wider than a column can be."""
    return _dotted(name) if len(name) > _WHOLE else f"<span class=whole>{_text(name)}</span>"


def _table(name: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns a table of cells `<td ...>content` without their closing tags.

    A narrow page shows each row as a block, in which the cells are labelled by their headers.
    """
    lines = (
        (f'<td data-label="{_text(header)}"{cell[3:]}</td>' for header, cell in zip(headers, row))
        for row in rows
    )
    head = "".join(f"<th scope=col>{_text(header)}</th>" for header in headers)
    return [
        f'<input type=search data-filters="{name}" placeholder="filter rows by words" '
        f'aria-label="filter {name}">',
        f'<div class=scroll tabindex=0 role=region aria-label="table of {name}">'
        f'<table class="words sortable" id="{name}"><thead><tr>{head}</tr></thead><tbody>',
        *(f"<tr>{''.join(line)}</tr>" for line in lines),
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
    path = os.path.join(os.path.dirname(__file__), "page.js")
    with open(path, encoding="utf-8") as file:
        script = file.read()
    lead = [
        f"<p class=lead>{_text(summary(report))}</p>",
        paragraph(
            f"{report.num_files:,} files read, {report.num_notebooks:,} of them notebooks, "
            f"{size(report.size)}; {report.num_parsed:,} parsed.",
            note=True,
        ),
    ]
    parts = (_programs, _effort, _symbols, _uses, _traps, _rest)
    sections = [one for part in parts for one in part(report)]
    title = f"Audit of {report.path}"
    return page(title, sections, lead=Markup("".join(lead)), script=script)


def _section(title: str, parts: Sequence[str]) -> list[tuple[str, Markup]]:
    """Returns a list with a section; without one if it would be empty."""
    return [section(title, Markup("\n".join(parts)))] if parts else []


def _programs(report: Report) -> list[tuple[str, Markup]]:
    if not report.entries:
        return []
    parts = []
    headers = ("Program", "Verdict", "Files", "Uses", "To run it", "To move it to Keras")
    for number, (verdict, words) in enumerate(VERDICT_WORDS.items()):
        rows = _program_rows([one for one in report.entries if one.verdict == verdict])
        if rows:
            shown = " open" if len(rows) <= _OPEN_ROWS else ""
            parts += [
                f"<details{shown}><summary>{_text(agree(len(rows), words))}</summary>",
                *_table(f"programs-{number}", headers, rows),
                "</details>",
            ]
    return _section("Programs", parts)


def _program_rows(entries: Sequence[Entry]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for entry in entries:
        stops = [
            f"<li>{_place(edit)} {_code(edit.symbol.name)} &rarr; {_text(instead(edit.symbol))}"
            for edit in entry.edits
        ]
        stops += [f"<li>{_code(path)} {_text(why)}" for path, why in entry.broken]
        more = f"<br>{_code(entry.command)}" if entry.command else ""
        if stops:
            items = "".join(stops)
            more += f"<details><summary>what to change</summary><ul>{items}</ul></details>"
        shown = f'<span class="status {_CLASSES[entry.verdict]}">{_text(entry.text)}</span>'
        rows.append(
            (
                f"<td>{_dotted(entry.path)}",
                f"<td class=wide>{shown}{more}",
                f"<td>{len(entry.files)}",
                f"<td>{entry.uses}",
                f'<td data-key="{entry.effort.run:.2f}">{hours(entry.effort.run)}',
                f'<td data-key="{entry.effort.keras:.2f}">{hours(entry.effort.keras)}',
            )
        )
    return rows


def _effort(report: Report) -> list[tuple[str, Markup]]:
    if not report.findings:
        return []
    steps = []
    for step in report.order:
        paths = ", ".join(map(_code, step.paths))
        together = " (they import each other)" if len(step.paths) > 1 else ""
        steps.append(f"<li>{paths}{together}: {step.uses} uses, {hours(step.effort)}</li>")
    parts = [
        f"<p>To run everything on today's TensorFlow: <b>{hours(report.effort.run)}</b>. "
        f"To replace Estimators with Keras: <b>{hours(report.effort.keras)}</b>.</p>",
        f"<p class=note>Rule: {_text(EFFORT_RULE)}</p>",
        "<details><summary>Order of the migration, each file after those that it imports "
        f"({len(steps)} steps)</summary><ol>",
        *steps,
        "</ol></details>",
    ]
    return _section("Effort and order", parts)


def _symbols(report: Report) -> list[tuple[str, Markup]]:
    titles = data("traps")
    rows = []
    for symbol, count in by_symbol(report.findings):
        how, runs = _RUNS[symbol.runs]
        if symbol.runs != "plain" and symbol.now:
            runs += f"<br><span class=note>or write<br>{_whole(symbol.now)}</span>"
        removed = f"removed in {symbol.removed_in}" if symbol.removed_in else "not removed"
        kind = f"{_text(KINDS[symbol.kind])}, {_text(removed)}"
        traps = (f'<a href="#trap-{key}">{_text(titles[key]["title"])}</a>' for key in symbol.traps)
        rows.append(
            (
                f"<td>{_dotted(symbol.name)}<br><span class=note>{kind}</span>",
                f"<td>{count}",
                f"<td class={how}>{runs}",
                f"<td class=wide>{_text(symbol.keras)}",
                f"<td>{', '.join(traps)}",
            )
        )
    headers = ("Symbol", "Uses", "Under the bridge", "Keras", "Parity traps")
    return _section("Symbols", _table("symbols", headers, rows) if rows else [])


def _uses(report: Report) -> list[tuple[str, Markup]]:
    rows = []
    for finding in report.findings:
        how, runs = _RUNS[finding.symbol.runs]
        runs += ", guarded" if finding.guarded else ""
        key = f"{finding.cell:06d}.{finding.line:06d}.{finding.column:04d}"
        rows.append(
            (
                f"<td>{_dotted(finding.path)}",
                f'<td data-key="{key}">{_line(finding)}:{finding.column}',
                f"<td>{_dotted(finding.symbol.name)}",
                f"<td>{_text(KINDS[finding.symbol.kind])}",
                f"<td class={how}>{runs}",
            )
        )
    headers = ("File", "Line", "Symbol", "Kind", "Under the bridge")
    return _section("Every use", _table("uses", headers, rows) if rows else [])


def _traps(report: Report) -> list[tuple[str, Markup]]:
    used = {trap for finding in report.findings for trap in finding.symbol.traps}
    items = [
        f'<dt id="trap-{name}">{_text(trap["title"])}</dt><dd>{_text(trap["text"])}</dd>'
        for name, trap in data("traps").items()
        if name in used
    ]
    parts = ["<dl>", *items, "</dl>"] if items else []
    return _section("Parity traps in a migration to Keras", parts)


def _rest(report: Report) -> list[tuple[str, Markup]]:
    sections: list[tuple[str, Markup]] = []
    if report.not_followed:
        items = [f"<li>{_place(one)} {_text(one.text)}</li>" for one in report.not_followed]
        sections += _section("Not followed (known only at run time)", ["<ul>", *items, "</ul>"])
    implicit = implicit_imports(report)
    if implicit:
        items = [
            f"<li>{_code(f'{one.path}:{one.line}')} {_text(one.text)}</li>" for one in implicit
        ]
        sections += _section(IMPLICIT, ["<ul>", *items, "</ul>"])
    if report.slow:
        items = [f"<li>{_place(one)} {_text(one.text)}</li>" for one in report.slow]
        sections += _section(SLOW, ["<ul>", *items, "</ul>"])
    if report.passed_over:
        places = [
            (path + (f":{line}" if line else ""), why) for path, line, why in report.passed_over
        ]
        items = [f"<li>{_code(place)} {_text(why)}</li>" for place, why in places]
        sections += _section("Skipped", ["<ul>", *items, "</ul>"])
    return sections
