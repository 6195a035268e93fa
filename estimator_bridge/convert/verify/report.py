"""Renders the findings of a comparison as text for a terminal and as an HTML page."""

import html
import sys
from typing import Any

from ...terminal import find_width, format_table

__all__ = ["to_html", "to_text"]

_STYLE = """body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0}td,th{padding:.2em .8em;border-bottom:1px solid #ddd;
text-align:right}td:first-child,th:first-child,td.t,th.t{text-align:left}.good{color:#17692f}
.bad{color:#a11}svg{background:#fafafa;border:1px solid #ddd}code{font-size:90%}"""

_Findings = dict[str, Any]


def _verdict(findings: _Findings) -> str:
    if findings["passed"]:
        return f"PASSED: nothing differs by more than {findings['tolerance']:g}"
    return f"FAILED: {len(findings['problems'])} difference(s) beyond the tolerance"


def _head_lines(findings: _Findings) -> list[str]:
    return [
        f"{findings['model']}; {findings['rows']:,} rows; step {findings['step']:,}",
        f"Estimator {findings['checkpoint']}",
        f"Keras {findings['keras_version']} {findings['keras_model']}",
    ]


def _metric_rows(findings: _Findings) -> list[list[str]]:
    sides = list(findings["metrics"])
    if not sides:
        return []
    names = list(findings["metrics"][sides[0]])
    return [
        ["metric", *sides],
        *([name, *(f"{findings['metrics'][side][name]:.8f}" for side in sides)] for name in names),
    ]


def _difference_rows(findings: _Findings) -> list[list[str]]:
    rows = [["output", "side", "max |d|", "mean |d|", "worst rows"]]
    for one in findings["differences"]:
        worst = ", ".join(str(row + 1) for row in one["worst"]) or "-"
        rows.append(
            [one["output"], one["side"], f"{one['max_abs']:.2e}", f"{one['mean_abs']:.2e}", worst]
        )
    return rows


def _speed_rows(findings: _Findings) -> list[list[str]]:
    rows = [["speed", "rows or steps per second"]]
    return rows + [
        [name, f"{value:,.0f}" if value else "too few rows"]
        for name, value in findings["speeds"].items()
    ]


def _training_line(findings: _Findings) -> str:
    curve = findings["training"]
    if curve is None:
        return ""
    return (
        f"training: {curve['steps']} steps; the losses differ by at most "
        f"{curve['max_relative']:.2e} (relative; at step {curve['at_step']}), "
        f"{curve['mean_relative']:.2e} on average; the last losses are "
        f"{curve['estimator'][-1]:.6f} and {curve['keras'][-1]:.6f}; a rounding error in its "
        f"weights changes the losses of the Estimator by {curve['own_drift']:.2e}"
    )


def _align(rows: list[list[str]]) -> list[str]:
    return format_table(rows, width=find_width(sys.stdout), left=range(len(rows[0])))


def to_text(findings: dict[str, Any]) -> str:
    """Returns the findings as text for a terminal.

    Args:
      findings: result of `verify`.
    """
    lines = [*_head_lines(findings), ""]
    for rows in (_difference_rows(findings), _metric_rows(findings), _speed_rows(findings)):
        if len(rows) > 1:
            lines += [*_align(rows), ""]
    if findings["training"] is not None:
        lines += [_training_line(findings), ""]
    lines += [f"note: {note}" for note in findings["notes"]]
    lines += [f"problem: {problem}" for problem in findings["problems"]]
    return "\n".join([*lines, _verdict(findings)])


def _table(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[1:]
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _curves(curve: dict[str, Any]) -> str:
    """Returns a plot of both losses; the Estimator's line is wide, so that it stays visible."""
    plot_width, height = 720, 240
    both = curve["estimator"] + curve["keras"]
    low, high = min(both), max(both)
    span = high - low or 1.0

    def points(losses: list[float]) -> str:
        step = plot_width / max(1, len(losses) - 1)
        return " ".join(
            f"{index * step:.1f},{height - 10 - (loss - low) / span * (height - 20):.1f}"
            for index, loss in enumerate(losses)
        )

    def line(losses: list[float], color: str, width: float) -> str:
        return (
            f'<polyline fill="none" stroke="{color}" stroke-width="{width}" '
            f'points="{points(losses)}"/>'
        )

    return (
        f'<svg width="{plot_width}" height="{height}" role="img" aria-label="training losses">'
        + line(curve["estimator"], "#9cc3e6", 5)
        + line(curve["keras"], "#b03a2e", 1.2)
        + "</svg><p>blue: Estimator; red: Keras</p>"
    )


def to_html(findings: dict[str, Any]) -> str:
    """Returns the findings as one HTML page that loads no other files.

    Args:
      findings: result of `verify`.
    """
    color = "good" if findings["passed"] else "bad"
    parts = [
        "<!DOCTYPE html><meta charset='utf-8'><title>Comparison of Estimator and Keras</title>",
        f"<style>{_STYLE}</style><h1>Comparison of Estimator and Keras</h1>",
        f"<p class='{color}'><b>{html.escape(_verdict(findings))}</b></p>",
        *(f"<p>{html.escape(line)}</p>" for line in _head_lines(findings)),
        *(f"<p class='bad'>{html.escape(line)}</p>" for line in findings["problems"]),
        *(f"<p>{html.escape(line)}</p>" for line in findings["notes"]),
        "<h2>Outputs</h2>",
        "<p>Compared with the checkpoint; for text and class ids, the share that differs.</p>",
        _table(_difference_rows(findings)),
    ]
    if findings["worst_rows"]:
        parts.append("<h2>Worst rows</h2><ul>")
        for row, values in findings["worst_rows"].items():
            parts.append(f"<li>row {int(row) + 1}: <code>{html.escape(str(values))}</code></li>")
        parts.append("</ul>")
    if findings["metrics"]:
        parts += ["<h2>Metrics</h2>", _table(_metric_rows(findings))]
    if findings["training"] is not None:
        parts += ["<h2>Training</h2>", f"<p>{html.escape(_training_line(findings))}</p>"]
        parts.append(_curves(findings["training"]))
    parts += ["<h2>Speed</h2>", _table(_speed_rows(findings))]
    return "\n".join(parts) + "\n"
