"""The names of metrics and their directions."""

import pytest

from trainer.errors import UserError
from trainer.metrics.catalogue import choose_direction


@pytest.mark.parametrize(
    ("metric", "mode", "direction"),
    [
        ("loss", "auto", "min"),
        ("rmse", "auto", "min"),
        ("auc", "auto", "max"),
        ("precision_at_0.3", "auto", "max"),
        ("r2", "auto", "max"),
        ("label/mean", "max", "max"),
        ("auc", "min", "min"),
    ],
)
def test_direction(metric, mode, direction):
    assert choose_direction(metric, mode) == direction


def test_unknown_direction():
    with pytest.raises(UserError, match="export.best_metric: 'label/mean'.*best_mode=min or max"):
        choose_direction("label/mean", "auto")
