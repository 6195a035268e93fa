"""Logged rows are asked again, whatever happens to a run; a difference is shown."""

import contextlib
import csv
import json
import sqlite3

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.watching import replay

pytestmark = pytest.mark.newest


@pytest.fixture
def answer(trained, log, make):
    """answer(kind) → an export, and rows that it has answered itself."""
    from trainer.prediction.predictor import Predictor

    def run(kind):
        export = trained(kind, "bought").export
        rows = [row for row in log.rows(0) if None not in row.values()][:200]
        with Predictor(export) as predictor:
            inputs = [
                {name: row[name] for name in ("id", "age", "hours", "city", "job", "level")}
                for row in rows
            ]
            for row, answer in zip(rows, predictor.predict(inputs)):
                row["logistic"] = answer["logistic"]
        return export, rows

    return run


@pytest.fixture
def answered(answer):
    """The answers of a small export."""
    return answer("linear")


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


@pytest.fixture
def different(answered, log, copy_of, tmp_path):
    """A copy of the export, and two files of 60 rows that were answered by another model."""
    export, rows = answered
    for row in rows:
        row["logistic"] = [0.123]
    for name, start in (("a", 0), ("b", 60)):
        lines = [json.dumps(row) + "\n" for row in rows[start : start + 60]]
        (log.folder / f"{name}.jsonl").write_text("".join(lines))
    return copy_of(export, tmp_path / "7"), rows


@contextlib.contextmanager
def cut_off(export):
    (path,) = export.glob("variables/variables.data-*")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    yield
    path.write_bytes(whole)


def query(folder, text):
    with contextlib.closing(sqlite3.connect(folder / "watch.sqlite")) as database:
        return database.execute(text).fetchall()


@pytest.mark.long
def test_a_watch_that_is_killed_before_its_replay_replays_in_the_next_run(
    different, watch, log, tmp_path, start_module
):
    export, _ = different
    state = tmp_path / "state"
    flags = [f"--export={export}", f"--requests={log.folder}", f"--state={state}"]
    process = start_module("trainer.watch", *flags, fresh=True)
    read = 0
    while read < 2:
        assert process.poll() is None, process.communicate()
        with contextlib.suppress(sqlite3.OperationalError):
            read = len(query(state, "SELECT * FROM files")) if state.exists() else 0
    process.kill()
    process.wait()
    assert not (state / "watch.json").exists()
    found = watch(3, model=export)
    assert found["new_rows"] == 0 and found["replay"]["rows"] == 120
    assert found["replay"]["different"] == 120
    assert watch(3, model=export)["replay"] == found["replay"]
    assert query(state, "SELECT * FROM parts") == []


def test_rows_of_a_failed_replay_are_replayed_once_by_the_next_run(different, watch, log, tmp_path):
    export, rows = different
    path = log.folder / "b.jsonl"
    with cut_off(export):
        assert "cut off" in watch(2, model=export)
        # The file grows, and fails once more.
        with path.open("a") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows[120:130])
        assert "cut off" in watch(2, model=export)
        assert watch(0, "--noreplay", model=export, state="none")["replay"] == {}
    with path.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows[130:140])
    found = watch(3, model=export)
    assert found["new_rows"] == 10
    assert found["replay"] == watch(3, model=export, state="at once")["replay"]
    assert found["replay"]["rows"] == found["replay"]["different"] == 140
    assert query(tmp_path / "state", "SELECT * FROM parts") == []
    # Rows that were read without a replay are not replayed later.
    assert watch(3, model=export, state="none")["replay"]["rows"] == 10


def test_rows_to_label_of_a_failed_run_are_chosen_by_the_next_one(different, watch, tmp_path):
    export, _ = different
    path = tmp_path / "state/label_next.csv"
    with cut_off(export):
        watch(2, "--label_next=20", model=export)
    assert not path.exists()
    watch(3, "--label_next=20", model=export)
    with path.open() as stream:
        weights = [float(row["label_weight"]) for row in csv.DictReader(stream)]
    assert len(weights) == 20 and sum(weights) == pytest.approx(120, rel=0.5)
    path.unlink()
    watch(3, "--label_next=20", model=export)
    assert not path.exists()


def test_a_log_that_is_gone_before_its_replay_is_told(different, watch, log):
    export, rows = different
    with cut_off(export):
        watch(2, model=export)
    (log.folder / "a.jsonl").unlink()
    lines = [json.dumps(row) + "\n" for row in rows[120:180]]
    (log.folder / "c.jsonl").write_text("".join(lines))
    (log.folder / "b.jsonl").write_text("")
    found = watch(3, model=export)
    assert found["replay"]["rows"] == 60
    gone = [one for one in found["problems"] if "was removed or replaced before the replay" in one]
    assert len(gone) == 2 and "a.jsonl" in gone[0] and "b.jsonl" in gone[1]
    assert watch(3, model=export)["problems"] == []


def test_an_answer_that_is_not_a_number_is_a_difference(answer, watch, log):
    export, rows = answer("wide_deep")
    for number, row in enumerate(rows[:4]):
        row["age"] = (1e39, -1e39)[number % 2]
    (log.folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = watch(3, "--served_version=7", model=export)["replay"]
    assert found["different"] == 4
    assert "nan" in [one["model"] for one in found["differences"]]


def test_a_row_on_which_the_export_fails_is_a_difference():
    class Failing:
        def ask(self, chunk, finite):
            if 3 in chunk["x"]:
                raise UserError("fails on these rows")
            return chunk["x"] / 10

    logged = np.array([0.1, 0.2, 0.3])
    answers, errors = replay._ask(Failing(), {"x": np.array([1.0, 2.0, 3.0])}, logged)
    assert answers[:2].tolist() == [0.1, 0.2] and np.isnan(answers[2])
    assert errors == {2: "fails on these rows"}
