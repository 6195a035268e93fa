"""The rows to label next are the telling ones, and weighted figures of them stay unbiased."""

import csv

import numpy as np
import pytest

from trainer.watching import labelling

pytestmark = pytest.mark.quick


def test_weighted_figures_are_unbiased_and_interesting_rows_are_preferred():
    rng = np.random.default_rng(1)
    interest = rng.random(2000) ** 4
    truth = (rng.random(2000) < 0.2 + 0.5 * interest).astype(float)
    plain, weighted = [], []
    for seed in range(300):
        chosen = labelling.choose(interest, 100, 8000, seed)
        assert len(set(chosen.rows.tolist())) == 100
        plain.append(truth[chosen.rows].mean())
        weighted.append((chosen.weights * truth[chosen.rows]).sum() / 8000)
    assert np.mean(weighted) == pytest.approx(truth.mean(), abs=0.01)
    # Without the weights, the figure is far off.
    assert np.mean(plain) > truth.mean() + 0.1


def test_more_rows_than_there_are():
    chosen = labelling.choose(np.array([0.0, 5.0, 0.0]), 10, 3, 0)
    assert sorted(chosen.rows.tolist()) == [0, 1, 2] and np.allclose(chosen.weights, 1)


def test_the_file_names_the_reason_and_comes_back_as_labels(watch, log, tmp_path):
    def change(row):
        number = int(row["id"][-5:])
        row["logistic"] = 0.5 if number % 10 == 0 else 0.01
        row["age"] = 999.0 if number % 10 == 5 else row["age"]

    for day in range(2):
        log.write(day, change)
    watch(3, "--label_next=50")
    path = tmp_path / "state/label_next.csv"
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    reasons = [row["label_reason"] for row in rows]
    assert len(rows) == 50 and len({row["id"] for row in rows}) == 50
    # Each is a tenth of the rows.
    assert sum("unsure" in one for one in reasons) >= 10
    assert sum("unusual age" in one for one in reasons) >= 10
    assert reasons.count("random") >= 2
    assert sum(float(row["label_weight"]) for row in rows) == pytest.approx(800, rel=0.5)
    # The values of a hashed column are nowhere.
    assert set(rows[0]) == {"id", "age", "hours", "city", "level", "label_score",
                            "label_reason", "label_weight", "bought"}  # fmt: skip
    for row in rows:
        row["bought"] = "yes"
    labels = tmp_path / "labelled.csv"
    with labels.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = watch(3, f"--labels={labels}")
    assert sum(one["labels"] for one in found["labels"]) == 50
