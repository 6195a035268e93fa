"""HTML pages: the frame of estimator_bridge, with figures of Matplotlib.

write(path, page("A title", [section("Curves", figure(drawn, "losses"))]))
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from estimator_bridge.output.html_page import (
    Content,
    Markup,
    attribute,
    details,
    page,
    paragraph,
    preformatted,
    section,
    show_control,
    table,
    text,
)
from trainer import storage
from trainer.drawing import load_matplotlib

__all__ = [
    "INK",
    "SERIES",
    "Content",
    "Markup",
    "details",
    "figure",
    "figures",
    "page",
    "paragraph",
    "preformatted",
    "section",
    "table",
    "text",
    "write",
]

# Matplotlib's color of text and axes, and those of the series, in the order of --series-N.
INK = "#010203"
SERIES = ("#010204", "#010205", "#010206")
COLORS = {INK: "currentColor"} | {
    color: f"var(--series-{number})" for number, color in enumerate(SERIES, start=1)
}
_SVG_ID = re.compile(r'(\bid="|xlink:href="#|url\(#)')


def figure(drawn: Any, title: str, caption: str = "") -> Markup:
    """Returns a figure of Matplotlib as inline SVG that takes its colors from the page.

    Args:
        drawn: matplotlib.figure.Figure, drawn in INK and SERIES.
        title: what it shows, for a screen reader; unique on the page.
        caption: text below it.
    """
    import io

    buffer = io.StringIO()
    with load_matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": "page"}):
        drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = show_control(buffer.getvalue())
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # The ids of all figures of a page must differ.
    prefix = "f" + re.sub(r"[^a-z0-9]+", "-", title.lower()) + "-"
    svg = _SVG_ID.sub(lambda match: match.group() + prefix, svg)
    for color, variable in COLORS.items():
        svg = svg.replace(color, variable)
    label = attribute(title)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    return Markup(f"<figure>{svg}{below}</figure>")


def figures(parts: Sequence[Markup]) -> Markup:
    """Returns figures side by side, or below each other on a narrow page.

    Args:
        parts: results of figure().
    """
    return Markup(f'<div class="figures">{"".join(parts)}</div>' if parts else "")


def write(path: Path, content: Markup) -> None:
    """Writes a page, complete or not at all.

    Args:
        path: of the file.
        content: result of page().

    Raises:
        OSError: the file cannot be written.
    """
    storage.write_text(path, content)
