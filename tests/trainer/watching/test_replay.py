"""Logged rows are asked again; a difference is shown."""

import json

import pytest

pytestmark = pytest.mark.newest


@pytest.fixture
def answered(trained, log, make):
    """Rows that the export itself has answered, as JSON lines."""
    from trainer.prediction.predictor import Predictor

    export = trained("linear", "bought").export
    rows = [row for row in log.rows(0) if None not in row.values()][:200]
    with Predictor(export) as predictor:
        inputs = [
            {name: row[name] for name in ("id", "age", "hours", "city", "job", "level")}
            for row in rows
        ]
        for row, answer in zip(rows, predictor.predict(inputs)):
            row["logistic"] = answer["logistic"]
    return export, rows


def test_the_same_rows_get_the_same_answers_and_a_difference_is_shown(answered, watch, log):
    export, rows = answered
    lines = [json.dumps({**row, "time": row["time"]}) + "\n" for row in rows]
    (log.folder / "a.jsonl").write_text("".join(lines))
    flag = "--served_version=7"
    # A job of 600 rows: its training data and these rows differ by the rows left out above.
    found = watch(4, flag, model=export)
    assert found["replay"]["status"] == "green" and found["replay"]["rows"] >= 100
    rows[3]["logistic"][0] += 0.01
    (log.folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = watch(3, flag, model=export)["replay"]
    assert found["different"] == 1 and found["differences"][0]["where"].endswith("b.jsonl")
    # Nothing new: what was found stays.
    assert watch(3, flag, model=export)["replay"] == found
