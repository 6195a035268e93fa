"""Served rows come back with their labels: each key once, in one file for good, with its weight."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trainer import config as config_lib
from trainer.console import Console
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.schema import Schema
from trainer.watching import join_command

pytestmark = pytest.mark.quick


@pytest.fixture
def join(export, log, tmp_path, capsys):
    """join(status, *flags, to=folder) → (training rows, evaluation rows, output)."""

    def run(status, *flags, to="rows"):
        output = tmp_path / to
        argv = [f"--export={export}", f"--requests={log.folder}", f"--output={output}", *flags]
        got = join_command.main(argv)
        out, err = capsys.readouterr()
        assert got == status, out + err
        if status:
            return err
        files = (output / "train.parquet", output / "eval.parquet")
        assert sorted(output.iterdir()) == sorted(files)
        return *(pq.read_table(file).to_pylist() for file in files), out

    return run


def label(tmp_path, names, rows):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([names, *rows]) + "\n")
    return f"--labels={path}"


def test_labelled_rows_are_divided_for_good_and_each_key_is_there_once(join, log, tmp_path, make):
    served = {row["id"]: row for day in range(2) for row in log.rows(day)}
    log.write(0)
    ids = list(served)[:300]
    flag = label(tmp_path, "id,bought", [f"{one},no" for one in ids] + [f"{ids[0]},yes", "x,no"])
    train, evaluated, out = join(0, flag)
    assert len(train) + len(evaluated) == 300 and 40 <= len(evaluated) <= 80
    assert f"400 served rows: {len(train)} in " in out
    assert "1 labels have no row in --requests" in out
    rows = {row["id"]: row for row in (*train, *evaluated)}
    assert list(rows) != ids and set(rows) == set(ids)
    # Of two labels, the last counts.
    assert [one for one in ids if rows[one]["bought"] == "yes"] == ids[:1]
    for one in ids:
        given = {name: served[one][name] for name in ("age", "hours", "city", "job", "level")}
        assert {name: rows[one][name] for name in given} == given
    # A second day, and the first logged again: no row changes its file.
    log.write(1)
    (log.folder / "again.jsonl").write_text("".join(json.dumps(r) + "\n" for r in log.rows(0)))
    flag = label(tmp_path, "id,bought", [f"{one},no" for one in served])
    more, more_evaluated, _ = join(0, flag, "--overwrite")
    assert len(more) + len(more_evaluated) == 800
    assert {row["id"] for row in evaluated} < {row["id"] for row in more_evaluated}
    schema = Schema.model_validate(make.schema_values("bought"))
    files = find_files([str(tmp_path / "rows/train.parquet")], "parquet", "data")
    scan = scan_files(files, schema, config_lib.DataConfig(), Console())
    assert sum(scan.rows.values()) == len(more) and not scan.absent


def test_weights_of_drawn_rows_come_with_them(join, log, tmp_path, watch):
    def doubt(row):
        row["logistic"] = 0.5 if row["id"].endswith("0") else 0.01

    log.write(0, doubt)
    watch(0, "--label_next=40")
    lines = (tmp_path / "state/label_next.csv").read_text().splitlines()
    drawn = {line.split(",")[0] for line in lines[1:]}
    other = next(row["id"] for row in log.rows(0) if row["id"] not in drawn)
    flag = label(tmp_path, lines[0], [f"{line}yes" for line in lines[1:]] + [f"{other},,,,,,,,yes"])
    train, evaluated, _ = join(0, flag, "--eval_share=0.5")
    weights = {row["id"]: row["label_weight"] for row in (*train, *evaluated)}
    assert set(weights) == {*drawn, other}
    assert sum(weights[one] for one in drawn) == pytest.approx(400, rel=0.5)
    # A row that was labelled for another reason stands for itself.
    assert weights[other] == 1


def test_columns_without_a_use_are_written_and_can_be_the_key(described, join, log, tmp_path, make):
    values = make.schema_values("bought")
    values.pop("key")
    values["columns"]["id"] = {"type": "string", "use": []}
    values["columns"]["user"] = {"type": "string", "use": []}
    model = described(values, "unused")
    log.write(0, lambda row: row.update(user=row["id"][-1]))
    flag = label(tmp_path, "id,bought", [f"{row['id']},no" for row in log.rows(0)])
    flags = (f"--export={model}", "--key=id", "--eval_by=user", "--eval_share=0.4")
    train, evaluated, _ = join(0, flag, *flags)
    assert len(train) + len(evaluated) == 400
    users = [{row["user"] for row in rows} for rows in (train, evaluated)]
    assert all(users) and not users[0] & users[1]
    assert all(row["user"] == row["id"][-1] for row in train)


def test_a_schema_with_the_weight_of_labels_has_one_column_of_it(described, join, log, tmp_path):
    model = described(name="weighted")
    path = model / "assets.extra/schema.json"
    values = json.loads(path.read_text())
    values["columns"]["label_weight"] = {"type": "float", "use": []}
    path.write_text(json.dumps({**values, "weight": "label_weight"}))
    log.write(0)
    first, second = [row["id"] for row in log.rows(0)][:2]
    flag = label(tmp_path, "id,bought,label_weight", [f"{first},no,7", f"{second},no,"])
    train, evaluated, _ = join(0, flag, f"--export={model}")
    assert {row["id"]: row["label_weight"] for row in (*train, *evaluated)} == {
        first: 7,
        second: 1,
    }


def test_a_group_stays_in_one_file(join, log, tmp_path):
    log.write(0)
    flag = label(tmp_path, "id,bought", [f"{row['id']},no" for row in log.rows(0)])
    train, evaluated, _ = join(0, flag, "--eval_by=city", "--eval_share=0.4")
    cities = [{row["city"] for row in rows} for rows in (train, evaluated)]
    assert all(cities) and not cities[0] & cities[1]


def test_logs_as_tables_and_incomplete_files(join, log, tmp_path):
    rows = log.rows(0)
    log.folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows[:200]), log.folder / "a.parquet")
    text = "".join(json.dumps(row) + "\n" for row in rows[200:])
    (log.folder / "b.jsonl").write_text(text[:-30])
    flag = label(tmp_path, "id,bought", [f"{row['id']},no" for row in rows])
    train, evaluated, out = join(0, flag)
    assert len(train) + len(evaluated) == 399
    assert "b.jsonl: its last line is incomplete" in out


def test_each_mistake_is_one_line_and_nothing_is_overwritten(join, log, tmp_path):
    first, second = [row["id"] for row in log.rows(0)][:2]
    good = label(tmp_path, "id,bought", [f"{first},no", f"{second},yes"])
    assert "--labels" in join(2)
    assert "--key: the schema has no column 'idd'; did you mean id?" in join(2, good, "--key=idd")
    assert "--eval_by: the schema has no column 'town'" in join(2, good, "--eval_by=town")
    assert "--requests: the files contain no rows" in join(2, good)
    log.write(0)
    (tmp_path / "wrong.csv").write_text("id,bought\n0-00003,maybe\n")
    wrong = join(2, f"--labels={tmp_path / 'wrong.csv'}")
    assert "wrong.csv: no row has a value in id and a known label in bought" in wrong
    assert "the files contain no rows" in join(2, "--labels=nowhere/*.csv")
    join(0, good)
    before = {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()}
    assert "exists; name another folder, or add --overwrite" in join(2, good)
    data = f"--labels={tmp_path / 'rows' / 'train.parquet'}"
    assert "train.parquet is one of --labels" in join(2, data, "--overwrite")
    (tmp_path / "other.csv").write_text("id,bought\nx,no\n")
    none = join(2, f"--labels={tmp_path / 'other.csv'}", "--overwrite")
    assert "none of 400 served rows has a label" in none
    assert {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()} == before


def test_served_text_of_a_hashed_column_is_kept(join, log, tmp_path):
    log.write(0)
    flag = label(tmp_path, "id,bought", [f"{row['id']},no" for row in log.rows(0)])
    train, _, _ = join(0, flag)
    assert np.mean([bool(row["job"]) for row in train]) > 0.5
