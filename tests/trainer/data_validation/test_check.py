"""trainer.schema check: data checked against a schema and for drift."""

import io
import json
import re
import shutil
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from trainer.config import DataConfig, commands
from trainer.console import Console
from trainer.data_validation import drift
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.schema import dump_statistics, load_schema, parse_statistics
from trainer.schema.__main__ import main
from trainer.schema.statistics import MAX_CATEGORIES


@pytest.fixture(scope="module")
def trained(make, tmp_path_factory):
    """A folder with a schema, data and the statistics of 2,000 training rows."""
    folder = tmp_path_factory.mktemp("check")
    make.yaml(folder / "schema.yaml", make.schema_values("bought"))
    make.csv(folder / "train.csv", make.rows(2000, seed=1))
    schema = load_schema(str(folder / "schema.yaml"))
    files = find_files([str(folder / "train.csv")], "auto", "data")
    statistics = scan_files(files, schema, DataConfig(), Console()).statistics
    (folder / "statistics.json").write_text(json.dumps(dump_statistics(statistics)))
    return folder


def _check(capsys, folder, data, *more):
    status = main(
        [
            "check",
            f"--schema={folder / 'schema.yaml'}",
            f"--data={data}",
            f"--statistics={folder}",
            "--format=json",
            *more,
        ]
    )
    report = json.loads(capsys.readouterr().out)
    return status, report, {finding["column"]: finding for finding in report["columns"]}


def test_data_like_the_training_data_fit(make, trained, tmp_path, capsys):
    path = make.csv(tmp_path / "a.csv", make.rows(1000, seed=2))
    status, report, columns = _check(capsys, trained, path)
    assert status == 0 and report["rows"] == 1000 and report["bad_rows"] == 0
    assert {columns[name]["verdict"] for name in columns if name != "city"} == {"fits"}
    # Rom and Prag are outside the vocabulary: the schema's oov_buckets take them.
    assert "outside the vocabulary" in columns["city"]["drift"][0]
    assert columns["age"]["missing"] == pytest.approx(0.1, abs=0.03)
    assert columns["age"]["trained_missing"] == pytest.approx(0.1, abs=0.03)
    assert 0 <= columns["age"]["psi"] < 0.1


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [40, 80])
def test_the_table_fits_the_terminal(make, trained, tmp_path, monkeypatch, columns):
    rows = make.rows(300, seed=2)
    rows[3]["age"] = "old"
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", _Terminal())
    schema, data = trained / "schema.yaml", make.csv(tmp_path / "a.csv", rows)
    assert main(["check", f"--schema={schema}", f"--data={data}", f"--statistics={trained}"]) == 3
    table = sys.stdout.getvalue().partition("\n\n")[2].partition("\n\n")[0].splitlines()
    lines = [line for line in table if ".csv" not in line]
    assert max(map(len, lines)) <= columns
    (age,) = (line for line in lines if line.startswith("age"))
    if columns == 40:
        missing = r"\d+(\.\d+)? %"
        assert re.fullmatch(f"age: does not fit · missing {missing} ·", age)
    else:
        assert lines[0].split() == ["column", "missing", "trained", "PSI", "verdict"]
        assert age.endswith("  does not fit")


def test_problems_are_reported_by_column(make, trained, tmp_path, capsys):
    rows = make.rows(100, seed=3, missing=False)
    rows[10]["bought"] = "maybe"
    rows[11]["bought"] = None
    rows[12]["level"] = None
    rows[13]["age"] = float("inf")
    for index in range(20, 30):
        rows[index]["age"] = "old"
    path = make.csv(tmp_path / "a.csv", rows)
    with open(path, "a") as stream:
        stream.write("short,row\n")
    status, report, columns = _check(capsys, trained, path)
    assert status == 3 and report["rows"] == 86 and report["bad_rows"] == 15
    assert columns[""]["does_not_fit"]["fields"]["rows"] == 1
    unparsable = columns["age"]["does_not_fit"]["unparsable"]
    assert unparsable["rows"] == 10 and len(unparsable["examples"]) == 5
    assert "'old' is not a float" in unparsable["examples"][0]
    assert columns["age"]["does_not_fit"]["not finite"]["rows"] == 1
    assert columns["level"]["does_not_fit"]["missing"]["rows"] == 1
    assert columns["bought"]["does_not_fit"]["unknown class"]["rows"] == 1
    assert columns["bought"]["does_not_fit"]["label missing"]["rows"] == 1


def test_drift_is_reported_by_column(make, trained, tmp_path, capsys):
    rows = make.rows(1000, seed=4)
    for index, row in enumerate(rows):
        row["age"] = row["age"] + 30 if row["age"] else None
        row["job"] = "astronaut" if index % 2 else row["job"]
        row["hours"] = None if index % 2 else row["hours"]
    path = make.parquet(tmp_path / "a.parquet", rows)
    status, _, columns = _check(capsys, trained, path)
    assert status == 0
    assert columns["age"]["verdict"] == "drifted" and columns["age"]["psi"] > 0.25
    assert any("in training from" in text for text in columns["age"]["drift"])
    assert columns["job"]["verdict"] == "drifted"
    assert any("never seen in training, such as 'astronaut'" in t for t in columns["job"]["drift"])
    assert columns["hours"]["verdict"] == "drifted"
    assert any("missing in 5" in text for text in columns["hours"]["drift"])
    assert columns["level"]["verdict"] == "fits"
    assert _check(capsys, trained, path, "--fail_on_drift")[0] == 3


def test_small_samples_are_not_called_drifted(make, trained, tmp_path, capsys):
    for seed in range(5):
        path = make.csv(tmp_path / "a.csv", make.rows(25, seed=seed, missing=False))
        _, _, columns = _check(capsys, trained, path)
        # Rom and Prag are unknown to the vocabulary, and nothing is missing here.
        drifted = {name for name in columns if columns[name]["verdict"] == "drifted"}
        assert drifted <= {"city"}


def test_unreadable_files_are_reported(make, trained, tmp_path, capsys):
    good = make.csv(tmp_path / "a.csv", make.rows(20))
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + b"\1" * 50)
    lacking = make.csv(
        tmp_path / "c.csv", [{k: v for k, v in row.items() if k != "age"} for row in make.rows(5)]
    )
    status, report, columns = _check(capsys, trained, f"{good},{tmp_path / 'b.parquet'},{lacking}")
    assert status == 3 and report["rows"] == 20
    files = columns[""]["does_not_fit"]["files"]
    assert files["files"] == 2 and "no column 'age'" in files["examples"][1]


def test_serving_data_have_no_label(make, trained, tmp_path, capsys):
    rows = [{k: v for k, v in row.items() if k != "bought"} for row in make.rows(50)]
    for header in (True, False):
        path = make.csv(tmp_path / "a.csv", rows, header=header)
        assert _check(capsys, trained, path)[0] == 3
        status, report, columns = _check(capsys, trained, path, "--serving")
        assert status == 0 and report["rows"] == 50 and "bought" not in columns


def test_text_report(make, trained, tmp_path, capsys):
    path = make.csv(tmp_path / "a.csv", make.rows(200, seed=5))
    argv = ["check", f"--schema={trained / 'schema.yaml'}", f"--data={path}"]
    assert main(argv) == 0
    text = capsys.readouterr().out
    assert "200 rows in 1 file(s) fit, 0 do not" in text and "Siddiqi" not in text
    copy = shutil.copy(path, tmp_path / "copy.csv")
    assert main([*argv[:2], f"--data={tmp_path}"]) == 0
    assert f"--data: {copy} is a copy of {path}, so its rows count twice" in capsys.readouterr().err
    assert main([*argv, f"--statistics={trained / 'statistics.json'}"]) == 0
    text = capsys.readouterr().out
    assert "Siddiqi" in text
    assert [line.split()[0] for line in text.splitlines() if "fits" in line].count("age") == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--data=a.csv"], "--schema: not given"),
        (["--schema=none.yaml", "--data=a.csv"], "none.yaml"),
        (["--schema=SCHEMA", "--data=none.csv"], "no file matches"),
        (["--schema=SCHEMA", "--data=DATA", "--statistics=/nowhere"], "--statistics=/nowhere"),
        (["--schema=SCHEMA", "--data=DATA", "--statistics=DATA"], "cannot be read"),
        (["--schema=SCHEMA", "--data=DATA", "--delimiter=xx"], "delimiter"),
        (["--schema=SCHEMA", "--data=DATA", "--format=pdf"], "format"),
        (["--schema=SCHEMA", "--data=DATA", "more"], "'more' is not a flag"),
    ],
)
def test_wrong_usage(trained, capsys, argv, words):
    names = {"SCHEMA": str(trained / "schema.yaml"), "DATA": str(trained / "train.csv")}
    for name, path in names.items():
        argv = [word.replace(name, path) for word in argv]
    assert commands.run(main, ["check", *argv]) == 2
    _, err = capsys.readouterr()
    assert words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("utf8", "name", "words"),
    [
        ("0", "ü.csv", "the locale is not UTF-8, so this cannot be read; set PYTHONUTF8=1"),
        ("1", "ü.csv", ""),
        ("1", "\udcfc.csv", "is not UTF-8; rename the file"),
    ],
)
def test_a_name_that_cannot_be_decoded(trained, tmp_path, run_module, utf8, name, words):
    data = tmp_path / name
    data.write_bytes((trained / "train.csv").read_bytes())
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": utf8}
    flags = [f"--schema={trained / 'schema.yaml'}", f"--data={data}"]
    done = run_module("trainer.schema", "check", *flags, env=env, fresh=True)
    assert done.returncode == (2 if words else 0), done.stderr
    assert words in done.stderr and done.stderr.count("\n") == bool(words)


def test_statistics_survive_json_and_old_files_have_no_categories(trained):
    stored = json.loads((trained / "statistics.json").read_text())
    statistics = parse_statistics(stored)
    assert dump_statistics(statistics) == stored
    assert statistics.categories["bought"].complete
    assert set(statistics.categories) == {"city", "job", "level", "bought"}
    del stored["categories"]
    for column in stored["columns"].values():
        del column["bins"]
    old = parse_statistics(stored)
    assert old.categories == {} and old.columns["age"].bins is None


def test_statistics_are_bounded(make, tmp_path):
    rows = [{"s": f"word {n}", "y": 1.0} for n in range(3 * MAX_CATEGORIES)]
    values = {
        "columns": {"s": {"type": "string", "hash_buckets": 9}, "y": {"type": "float"}},
        "label": {"column": "y"},
    }
    schema = load_schema(make.yaml(tmp_path / "s.yaml", values))
    files = find_files([make.csv(tmp_path / "a.csv", rows)], "auto", "data")
    statistics = scan_files(files, schema, DataConfig(), Console()).statistics
    categories = statistics.categories["s"]
    assert len(categories.counts) == MAX_CATEGORIES and not categories.complete
    assert categories.count == 3 * MAX_CATEGORIES


def test_psi_by_hand():
    # Half a row is added to each bin.
    distance = drift.measure_psi(np.array([10, 30]), np.array([20, 20]))
    p, q = np.array([10.5, 30.5]) / 41, np.array([0.5, 0.5])
    assert distance.psi == pytest.approx(((p - q) * np.log(p / q)).sum())


def test_noise_of_psi_is_that_of_samples_of_one_distribution():
    rng = np.random.default_rng(0)
    exceeded = 0
    for _ in range(2000):
        now, then = (rng.multinomial(rows, [0.1] * 10) for rows in (200, 1000))
        distance = drift.measure_psi(now, then)
        exceeded += distance.psi > distance.noise
    # One in a hundred, by construction; the approximation is a little off in the tail.
    assert 5 <= exceeded <= 50


def test_psi_finds_a_shift_of_real_measurements():
    petal = load_iris().data[:, 2]
    import pyarrow as pa

    from trainer.inputs.streaming_statistics import RunningMoments, build_bins

    moments = RunningMoments()
    moments.add(pa.array(petal))
    trained = moments.to_range(build_bins(petal))
    assert drift.compare_numbers(petal, trained).verdict == "the same"
    assert drift.compare_numbers(petal + 2, trained).verdict == "drifted"
