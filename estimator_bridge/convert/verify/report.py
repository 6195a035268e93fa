"""Renders the findings of a comparison as text for a terminal and as an HTML page."""

import sys
from typing import Any

from ...output.html_page import Markup, page, paragraph, section, table, text
from ...output.terminal import find_width, format_table

__all__ = ["to_html", "to_text"]

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


def _place_rows(findings: _Findings) -> list[list[str]]:
    return [
        ["column or layer", "max |d|", "in row"],
        *(
            [
                one["place"],
                f"{one['max_abs']:.2e}",
                "-" if one["row"] is None else str(one["row"] + 1),
            ]
            for one in findings["places"]
        ),
    ]


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
    lines += [f"where: {line}" for line in findings["where"]]
    return "\n".join([*lines, _verdict(findings)])


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
        f'<figure><svg viewBox="0 0 {plot_width} {height}" role="img" '
        'aria-label="training losses">'
        + line(curve["estimator"], "var(--series-1)", 5)
        + line(curve["keras"], "var(--series-2)", 1.5)
        + "</svg><figcaption>wide line: Estimator; narrow line: Keras</figcaption></figure>"
    )


def to_html(findings: dict[str, Any]) -> str:
    """Returns the findings as one HTML page that loads no other files.

    Args:
      findings: result of `verify`.
    """
    kind = "good" if findings["passed"] else "bad"
    verdict = Markup(f'<p class="status {kind}">{text(_verdict(findings))}</p>')
    sections = [
        section(
            "Result",
            verdict,
            *map(paragraph, _head_lines(findings)),
            *(Markup(f'<p class="bad">{text(line)}</p>') for line in findings["problems"]),
            *map(paragraph, findings["where"]),
            *(paragraph(line, note=True) for line in findings["notes"]),
        ),
        section(
            "Outputs",
            paragraph("Compared with the checkpoint; for text and class ids, the differing share."),
            _table(_difference_rows(findings), "differences of the outputs"),
        ),
    ]
    if findings["places"]:
        sections.append(
            section(
                "Columns and layers",
                paragraph("In the order of computation, on the rows whose outputs differ most."),
                _table(_place_rows(findings), "differences inside the models"),
            )
        )
    if findings["worst_rows"]:
        rows = [[f"row {int(row) + 1}", str(v)] for row, v in findings["worst_rows"].items()]
        sections.append(
            section("Worst rows", table(["row", "values"], rows, "rows that differ most"))
        )
    if findings["metrics"]:
        sections.append(section("Metrics", _table(_metric_rows(findings), "metrics of both")))
    if findings["training"] is not None:
        curves = Markup(_curves(findings["training"]))
        sections.append(section("Training", paragraph(_training_line(findings)), curves))
    sections.append(section("Speed", _table(_speed_rows(findings), "speed of both")))
    return page("Comparison of Estimator and Keras", sections)


def _table(rows: list[list[str]], caption: str) -> Markup:
    return table(rows[0], [[row[0], *map(Markup, map(text, row[1:]))] for row in rows[1:]], caption)
