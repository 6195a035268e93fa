"""trainer.inputs.scan: one pass that counts rows and computes statistics."""

import numpy as np
import pytest

from trainer.errors import UserError


def _statistics(make, tmp_path, values, default=0):
    from trainer.schema import Schema

    schema = Schema.model_validate(
        {
            "columns": {"x": {"type": "float", "default": default}, "y": {"type": "int"}},
            "label": {"column": "y"},
        }
    )
    files = np.array_split(np.arange(len(values)), 3)
    paths = [
        make.csv(tmp_path / f"{number}.csv", [{"x": values[row], "y": row} for row in part])
        for number, part in enumerate(files)
        if len(part)
    ]
    return make.prepare(make.config(rows=paths), schema).train_scan


def test_moments_over_several_files(make, tmp_path):
    values = np.random.default_rng(1).normal(1e6, 0.5, 999).astype(np.float32).tolist()
    seen = _statistics(make, tmp_path, values).statistics.columns["x"]
    # Plain sums of squares, even in float64, would lose these digits.
    assert seen.mean == pytest.approx(np.mean(values), rel=1e-12)
    assert seen.std == pytest.approx(np.std(values), rel=1e-6)
    assert (seen.min, seen.max, seen.count) == (min(values), max(values), 999)


def test_missing_values_are_not_counted(make, tmp_path):
    scan = _statistics(make, tmp_path, [1.0, None, 3.0, None, None, 8.0])
    seen = scan.statistics.columns["x"]
    assert (seen.count, seen.missing, seen.mean) == (3, 3, 4.0)
    assert scan.statistics.num_rows == 6
    assert sorted(scan.rows.values()) == [2, 2, 2]


def test_a_column_without_any_value(make, tmp_path):
    seen = _statistics(make, tmp_path, [None, None, None], default="mean").statistics.columns["x"]
    assert (seen.count, seen.mean, seen.std) == (0, 0.0, 0.0)


def test_a_constant_column(make, tmp_path):
    seen = _statistics(make, tmp_path, [2.5] * 5).statistics.columns["x"]
    assert (seen.mean, seen.std, seen.min, seen.max) == (2.5, 0.0, 2.5, 2.5)


def test_only_used_columns_are_read(make, tmp_path):
    schema = make.schema("bought")
    assert schema.input_columns == ["id", "age", "hours", "city", "job", "level", "bought"]
    rows = make.rows(20, missing=False)
    # Unused columns may have any values, or be absent.
    for row in rows:
        row["grade"] = "not a number"
        del row["colour"]
    make.prepare(make.config(rows=make.csv(tmp_path / "a.csv", rows)), schema)


def test_the_evaluation_data_are_checked_before_training(make, tmp_path):
    rows = make.rows(20, missing=False)
    good = make.csv(tmp_path / "good.csv", rows)
    rows[13]["age"] = "old"
    bad = make.csv(tmp_path / "bad.csv", rows)
    with pytest.raises(UserError, match=r"bad.csv: row 15, column age: 'old' is not a float"):
        make.prepare(make.config(rows=good, eval_rows=bad), make.schema("bought"))


def test_a_header_among_the_rows_is_named(make, tmp_path):
    path = tmp_path / "joined.csv"
    make.csv(path, make.rows(20))
    path.write_text(2 * path.read_text())
    with pytest.raises(UserError, match="joined.csv: row 22 is the header again; remove it"):
        make.prepare(make.config(rows=str(path)), make.schema())


def test_a_header_may_name_many_other_columns(make, tmp_path):
    rows = make.rows(20, missing=False)
    more = [{**{f"more{n}": "v" for n in range(40)}, **row} for row in rows]
    schema, path = make.schema("bought"), make.csv(tmp_path / "wide.csv", more)
    scan = make.prepare(make.config(rows=path), schema).train_scan
    assert scan.statistics.num_rows == 20
    assert scan.statistics.columns["age"].mean == pytest.approx(np.mean([r["age"] for r in rows]))
    for row in more:
        del row["hours"]
    lacking = make.csv(tmp_path / "lacking.csv", more)
    with pytest.raises(UserError, match=r"lacking.csv: no column 'hours' \(it has more0"):
        make.prepare(make.config(rows=path, eval_rows=lacking), schema)


def test_a_file_in_utf_16_among_others_is_named(make, tmp_path):
    paths = [make.csv(tmp_path / name, make.rows(20)) for name in ("a.csv", "b.csv")]
    text = (tmp_path / "b.csv").read_text()
    (tmp_path / "b.csv").write_text(text, "utf-16")
    with pytest.raises(UserError, match="b.csv: its text is UTF-16, not utf-8; write the file in"):
        make.prepare(make.config(rows=paths), make.schema("bought"))


def test_a_header_with_other_names_is_recognisable(make, tmp_path):
    rows = [{name.upper(): value for name, value in row.items()} for row in make.rows(20)]
    path = make.csv(tmp_path / "upper.csv", rows)
    with pytest.raises(UserError, match="'AGE' is not a float.*in a header, write .* such as age"):
        make.prepare(make.config(rows=path), make.schema("bought"))


def test_unknown_metrics_are_rejected_before_training(make, shop):
    for options in ({"best_metric": "auc"}, {"best_metric": "rmsee", "best_mode": "min"}):
        config = make.config(rows=shop / "train.csv", export=options)
        with pytest.raises(UserError, match="export.best_metric: .*a regression model has .*rmse"):
            make.prepare(config, make.schema("price"))
