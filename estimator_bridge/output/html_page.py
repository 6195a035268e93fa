"""The frame of every HTML page: one file, light and dark, that makes no network request.

A page is made of Markup. Every function here escapes plain text, whatever it contains, so names and
values of data can be passed as they are. Every command that writes HTML uses this frame:

    page("A title", [section("Data", paragraph("3 rows"), table(["a"], [["<b>"]]))])
"""

from collections.abc import Sequence
from html import escape
from typing import Union

from .terminal import escape as escape_control

__all__ = [
    "Content",
    "Markup",
    "attribute",
    "details",
    "page",
    "paragraph",
    "preformatted",
    "section",
    "show_control",
    "table",
    "text",
]

# Forbids every request, so that a page can be opened where data must not leave.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SCRIPT_POLICY = f"{POLICY}; script-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #57606a; --line: #d0d7de;
  --head: #f3f5f7; --good: #17692f; --mild: #7d4e00; --bad: #b3142a; --link: #0757b3;
  --series-1: #0b62c4; --series-2: #b54708; --series-3: #6e7781; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e6e9ed; --faint: #a3acb7;
  --line: #3b434c; --head: #1f242a; --good: #56d364; --mild: #e3b341; --bad: #ff8f88;
  --link: #7db7ff; --series-1: #6db1ff; --series-2: #ffa657;
  --series-3: #9aa4af; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-top: .5rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, button:focus-visible, input:focus-visible,
[tabindex]:focus-visible {
  outline: 3px solid var(--series-1); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1rem; list-style: none; padding: 0; }
p { margin: .4rem 0; max-width: 45rem; overflow-wrap: anywhere; }
.note { color: var(--faint); font-size: .9rem; }
.scroll { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding-bottom: .3rem; }
caption { white-space: nowrap; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; white-space: nowrap; }
thead th { background: var(--head); }
th:first-child, th.text, td.text { text-align: left; }
tbody th, td.text { white-space: pre-line; overflow-wrap: break-word; max-width: 24rem; }
tbody th { min-width: 7rem; max-width: 14rem; }
td.text { min-width: 5rem; }
pre { background: var(--head); padding: .6rem; overflow-x: auto; font-size: .85rem; }
.figures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); }
.lead { font-size: 1.1rem; }
.whole { white-space: nowrap; }
.good { color: var(--good); } .mild { color: var(--mild); } .bad { color: var(--bad); }
.status { font-weight: 600; }
code { font-size: .9em; overflow-wrap: anywhere; }
input { font: inherit; padding: .3rem .6rem; width: 22rem; max-width: 100%; margin: .3rem 0;
  background: var(--paper); color: var(--ink); border: 1px solid var(--faint); }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
table.words th, table.words td { text-align: left; white-space: normal; max-width: none;
  min-width: 4rem; }
table.words td.wide { min-width: 16rem; }
@media (max-width: 40rem) { table.words thead { display: none; }
  table.words tbody, table.words tr:not([hidden]), table.words td { display: block; }
  table.words tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  table.words td, table.words td.wide { min-width: 0; border: 0; padding: .1rem 0; }
  table.words td:empty { display: none; }
  table.words td::before { content: attr(data-label) ": "; color: var(--faint); } }
dt { font-weight: 600; margin-top: .6rem; } dd { margin: 0; }
@media print { body { font-size: 10px; } nav, input { display: none; } }
figure { margin: 0; }
figure svg { width: 100%; height: auto; }
figcaption { color: var(--faint); font-size: .9rem; }
"""


class Markup(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


Content = Union[str, float, int, None]


def text(value: Content) -> Markup:
    """Returns a value as HTML: a number with four digits, None as a dash, text escaped.

    Args:
        value: Markup is returned as it is.
    """
    if isinstance(value, Markup):
        return value
    if value is None or value != value:
        return Markup("–")
    if isinstance(value, float):
        return Markup(f"{value:.4f}" if 1e-3 <= abs(value) < 1e5 or not value else f"{value:.4g}")
    if isinstance(value, int):
        return Markup(f"{value:,}")
    # Control characters, and those that reverse the direction of the text, are shown as codes.
    return Markup(escape(show_control(value)))


def show_control(value: str) -> str:
    """Returns a text whose control characters are shown as codes, except line ends.

    Args:
        value: any text.
    """
    return "\n".join(escape_control(line) for line in value.split("\n"))


def attribute(value: str) -> str:
    """Returns a text for an attribute of a tag, between double quotes.

    Args:
        value: any text.
    """
    return escape(escape_control(value), quote=True)


def paragraph(value: Content, note: bool = False) -> Markup:
    """Returns a paragraph.

    Args:
        value: its text.
        note: whether it explains another part, and is less prominent.
    """
    return Markup(f'<p class="note">{text(value)}</p>' if note else f"<p>{text(value)}</p>")


def preformatted(value: str, label: str) -> Markup:
    """Returns text with its own lines and spaces.

    Args:
        value: the text.
        label: what it is, for a screen reader.
    """
    name = attribute(label)
    return Markup(f'<pre tabindex="0" role="region" aria-label="{name}">{text(value)}</pre>')


def details(title: str, body: Markup) -> Markup:
    """Returns a part that is folded until the reader opens it.

    Args:
        title: what is inside.
        body: the part.
    """
    return Markup(f"<details><summary>{text(title)}</summary>{body}</details>")


def table(header: Sequence[str], rows: Sequence[Sequence[Content]], caption: str = "") -> Markup:
    """Returns a table that scrolls sideways if the page is narrow; the first column names the row.

    Args:
        header: names of the columns.
        rows: one cell for each column; text is aligned to the left, numbers and Markup to the
            right.
        caption: what the table shows.
    """
    texts = [any(_is_text(row[place]) for row in rows) for place in range(len(header))]
    head = "".join(
        f'<th scope="col" class="text">{text(name)}</th>'
        if is_text
        else f'<th scope="col">{text(name)}</th>'
        for name, is_text in zip(header, texts)
    )
    body = "".join(f"<tr>{_row(row)}</tr>" for row in rows)
    above = f"<caption>{text(caption)}</caption>" if caption else ""
    label = attribute(caption or ", ".join(header))
    return Markup(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>{above}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _is_text(cell: Content) -> bool:
    return isinstance(cell, str) and not isinstance(cell, Markup)


def _row(cells: Sequence[Content]) -> str:
    first, *others = cells
    shown = (
        f'<td class="text">{text(cell)}</td>' if _is_text(cell) else f"<td>{text(cell)}</td>"
        for cell in others
    )
    return f'<th scope="row">{text(first)}</th>' + "".join(shown)


def section(title: str, *parts: Markup) -> tuple[str, Markup]:
    """Returns a section for page().

    Args:
        title: its heading.
        *parts: its contents.
    """
    return title, Markup("".join(parts))


def page(
    title: str, sections: Sequence[tuple[str, Markup]], *, lead: str = "", script: str = ""
) -> Markup:
    """Returns a whole page: a heading, links to the sections, and the sections.

    Args:
        title: the heading.
        sections: results of section().
        lead: Markup that stands between the heading and the links.
        script: JavaScript that runs when the page has been read; a page is complete without it.
    """
    shown = list(enumerate(sections, start=1))
    links = "".join(
        f'<li><a href="#s{number}">{text(name)}</a></li>' for number, (name, _) in shown
    )
    body = "".join(
        f'<section aria-labelledby="s{number}"><h2 id="s{number}">{text(name)}</h2>{part}</section>'
        for number, (name, part) in shown
    )
    navigation = f'<nav aria-label="Sections"><ul>{links}</ul></nav>' if links else ""
    run = f"<script>{script}</script>" if script else ""
    policy = SCRIPT_POLICY if script else POLICY
    return Markup(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head><body>"
        f"<header><h1>{text(title)}</h1>{lead}{navigation}</header>"
        f"<main>{body}</main>{run}</body></html>\n"
    )
