"""The section of a job's page that shows the weights of the wide part."""

from collections.abc import Sequence
from typing import NamedTuple

from trainer.reporting import html
from trainer.reporting.html import Markup

SHOWN_WEIGHTS = 30


class WideWeight(NamedTuple):
    """One weight of the wide part.

    Attributes:
        column: a column, a part of a date, or a cross.
        value: the value of the data to which the weight belongs.
        of_class: the class whose score the weight changes; "" if there is only one score.
        weight: what is added to the score.
    """

    column: str
    value: str
    of_class: str
    weight: float


def describe_weights(task: str, weights: Sequence[WideWeight]) -> list[tuple[str, Markup]]:
    """Returns the section of the largest weights, in a list; an empty list without weights.

    Args:
        task: binary, multiclass or regression.
        weights: the largest first.
    """
    if not weights:
        return []
    has_classes = any(one.of_class for one in weights)
    rows: list[list[html.Content]] = []
    for one in weights[:SHOWN_WEIGHTS]:
        of_class = [one.of_class] if has_classes else []
        rows.append([one.column, one.value, *of_class, one.weight])
    header = ["column", "value", *(["class"] if has_classes else []), "weight"]
    left = len(weights) - len(rows)
    caption = f"The {len(rows)} largest of {len(weights):,} weights" if left else "All weights"
    what = {
        "binary": "the logit: 0.69 doubles the odds of the positive class, and -0.69 halves them",
        "multiclass": "the score of a class",
        "regression": "the prediction, in units of the label as it is trained",
    }[task]
    note = f"A row that has the value adds the weight to {what}. A deep part adds its own share."
    section = html.section(
        "Weights of the wide part",
        html.table(header, rows, caption),
        html.paragraph(note, note=True),
    )
    return [section]
