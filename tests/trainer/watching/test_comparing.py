"""Two versions on shared traffic: intervals that hold at every look, and the right verdict."""

import json
import math

import numpy as np
import pytest

from trainer.watching import comparing

pytestmark = pytest.mark.quick


def test_looking_every_day_raises_no_false_alarm():
    # 400 comparisons of equal versions, looked at after each 50 units of each version.
    rng = np.random.default_rng(3)
    outcomes = rng.normal(0, 1, (400, 2, 2000))
    units = np.arange(50, 2001, 50)
    sums = np.cumsum(outcomes, axis=2)[:, :, units - 1] / units
    gaps = np.abs(sums[:, 1] - sums[:, 0])
    widths = np.array([comparing.find_half_width(2 / n, 0.2) for n in units])
    ordinary = 1.96 * np.sqrt(2 / units)
    assert (gaps > widths).any(axis=1).mean() <= 0.05
    # What is valid at one look only is wrong far more often at forty.
    assert (gaps > ordinary).any(axis=1).mean() > 0.2


def test_the_number_of_units_gives_the_power_that_it_promises():
    needed, once = comparing.count_units(1.0, 0.2)
    assert once == 393 and once < needed < 4 * once
    rng = np.random.default_rng(4)
    gaps = 0.2 + rng.normal(0, math.sqrt(2 / needed), 4000)
    assert (gaps > comparing.find_half_width(2 / needed, 0.2)).mean() == pytest.approx(
        0.8, abs=0.03
    )


def test_units_are_assigned_by_a_hash():
    versions = [comparing.assign_version(f"u{n}", ("6", "7"), 0.2, "may") for n in range(5000)]
    assert versions == [
        comparing.assign_version(f"u{n}", ("6", "7"), 0.2, "may") for n in range(5000)
    ]
    assert versions.count("7") == pytest.approx(1000, abs=100)
    others = [comparing.assign_version(f"u{n}", ("6", "7"), 0.2, "june") for n in range(5000)]
    assert sum(a == b == "7" for a, b in zip(versions, others)) == pytest.approx(200, abs=60)


@pytest.mark.long
def test_a_better_a_worse_and_an_equal_version(watch, log, make, tmp_path, capsys):
    labels = tmp_path / "labels"
    labels.mkdir()

    def serve(row):
        version = comparing.assign_version(row["id"], ("6", "7"), 0.5, "test")
        row["model_version"] = version
        if version == "7":
            # Its scores are nearer to the truth.
            row["logistic"] = 0.97 if row["logistic"] > 0.5 else 0.03

    for day in range(3):
        log.write(day, serve)
        truth = make.rows(400, seed=100 + day)
        rows = [{"id": f"{day}-{row['id']}", "bought": row["bought"]} for row in truth]
        make.csv(labels / f"{day}.csv", rows)
    flags = [f"--labels={labels}", "--metric=log_loss", "--reference_days=1"]

    def compare(status, versions, *more):
        watch(status, *flags, f"--compare={versions}", "--effect=0.02", *more)
        return json.loads((tmp_path / "state/compare.json").read_text())

    better = compare(0, "6,7")
    assert better["verdict"] == "blessed" and better["high"] < 0
    assert better["first"]["units"] + better["second"]["units"] == 1200 and better["both"] == 0
    assert compare(3, "7,6")["verdict"] == "not blessed"
    wrong = compare(4, "6,7", "--share=0.2")
    assert wrong["verdict"] == "inconclusive" and "not 20%" in wrong["reason"]
    assert "squared_error" not in watch(2, *flags[:1], "--compare=6,7", "--metric=r2", "--effect=1")
    assert "version 8 has 0" in watch(2, *flags, "--compare=6,8", "--effect=1")
    assert "--effect" in watch(2, *flags, "--compare=6,7")
