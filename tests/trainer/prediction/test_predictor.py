"""trainer.predict: predictions for rows on the command line."""

import json

import pytest

from trainer.errors import UserError
from trainer.prediction import command as predict
from trainer.prediction.predictor import Predictor


@pytest.fixture(scope="module")
def export(trained, make):
    """Returns the path of an export and rows for it."""
    done = trained("linear", "bought")
    names = [*done.schema.used_features, "id"]
    rows = [{name: row[name] for name in names} for row in make.rows(4, seed=6, missing=False)]
    return done.export, rows


def test_predictions_do_not_depend_on_other_rows(export):
    path, rows = export
    predictor = Predictor(path)
    together = predictor.predict(rows)
    assert [answer["id"] for answer in together] == [row["id"] for row in rows]
    for row, answer in zip(rows, together):
        (alone,) = predictor.predict([row])
        assert alone["probabilities"] == pytest.approx(answer["probabilities"], rel=1e-6)


def test_the_command_prints_a_prediction_per_row(export, capsys):
    path, rows = export
    arguments = [f"--export={path}", *(f"--row={json.dumps(row)}" for row in rows[:2])]
    assert predict.main(arguments) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["id"] for answer in answers] == [row["id"] for row in rows[:2]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": None}, ["age", "give NaN"]),
        ({"age": "old"}, ["age", "'old'"]),
        ({"age": [1.0, 2.0]}, ["age"]),
        ({"level": 1.5}, ["level", "1.5"]),
        ({"city": 5}, ["city", "5"]),
    ],
)
def test_a_value_of_the_wrong_type(export, capsys, change, words):
    path, rows = export
    good, bad = rows[0], {**rows[1], **change}
    status = predict.main(
        [f"--export={path}", f"--row={json.dumps(good)}", f"--row={json.dumps(bad)}"]
    )
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2 and line.startswith("error: ")
    for word in words:
        assert word in line


def test_a_row_without_an_input(export):
    path, rows = export
    short = {name: value for name, value in rows[0].items() if name != "city"}
    with pytest.raises(UserError, match="no value for 'city'"):
        Predictor(path).predict([short])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--export", "--help"]),
        (["--export=/nowhere", "--row={}"], ["/nowhere", "no such folder"]),
        (["--export={export}", "--row=nothing"], ["nothing", "JSON"]),
        (["--export={export}", "--row=[1]"], ["[1]", "JSON object"]),
        (["--export={export}", "--row=" + "[" * 100_000], ["[[[", "JSON"]),
        (["--export={export}", '--row={"age": NaN}'], ["NaN", "JSON"]),
        (["--export={export}", '--row={"age": -1e999}'], ["-inf is not a finite number"]),
        (["--export={export}", '--row={"age": 1, "age": 2}'], ["'age'", "twice"]),
        (["--exprot={export}", "--row={}"], ["exprot"]),
    ],
)
def test_invalid_arguments(export, capsys, arguments, words):
    path, _ = export
    status = predict.main([argument.replace("{export}", path) for argument in arguments])
    captured = capsys.readouterr()
    assert status == 2 and captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


def test_redact_hides_the_values_of_rows(export, capsys):
    path, rows = export
    for row in ({**rows[0], "age": "old5"}, {"id": "old5"}):
        assert predict.main([f"--export={path}", f"--row={json.dumps(row)}", "--redact"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "row 1" in line and "old5" not in line
    assert predict.main([f"--export={path}", "--row={old5", "--redact"]) == 2
    assert "old5" not in capsys.readouterr().err


def test_a_limit_of_the_file_is_a_flag(export, make, tmp_path, capsys):
    path, _ = export
    rows = make.rows(4, missing=False)
    rows[2]["job"] = "x" * (3 << 20)
    data = make.csv(tmp_path / "long.csv", rows)
    flags = [f"--export={path}", f"--data={data}", f"--output={tmp_path / 'out.csv'}"]
    assert predict.main(flags) == 2
    assert "raise --data.max_row_mib" in capsys.readouterr().err
    assert predict.main([*flags, "--data.max_row_mib=8"]) == 0
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 5


def test_a_damaged_export(export, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\xff\x00 not a model")
    with pytest.raises(UserError, match="cannot be loaded"):
        Predictor(str(tmp_path))
