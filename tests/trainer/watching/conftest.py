"""A described export without a graph, and logs of made-up requests to it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from trainer import config as config_lib
from trainer import job_layout
from trainer.console import Console
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.schema import Schema
from trainer.schema.statistics import dump_public_statistics
from trainer.watching import command

# 2026-03-02 is a Monday.
FIRST_DAY = 20_514
FEATURES = ("age", "hours", "city", "job", "level")
ROWS_A_DAY = 400


def name_day(day):
    return str(np.datetime64("1970-01-01") + np.timedelta64(FIRST_DAY + day, "D"))


class Log:
    """Writes requests of make_rows to a folder, a file for each day, with scores that are right."""

    start = FIRST_DAY * 86_400

    def __init__(self, folder, make):
        self.folder, self._make = folder, make
        folder.mkdir(exist_ok=True)

    def rows(self, day, change=None, rows=ROWS_A_DAY):
        """Rows of a day; `change` alters one row, and returns nothing."""
        logged = []
        for number, row in enumerate(self._make.rows(rows, seed=100 + day)):
            score = 0.9 if row["bought"] == "yes" else 0.1
            one = {name: row[name] for name in ("id", *FEATURES)}
            one["id"] = f"{day}-{row['id']}"
            one.update(
                logistic=score + 0.05 * (number % 3 - 1),
                time=(FIRST_DAY + day) * 86_400 + 60 * number,
                model_version="7",
            )
            if change is not None:
                change(one)
            logged.append(one)
        return logged

    def write(self, day, change=None, rows=ROWS_A_DAY):
        """Writes a day as JSON lines and returns the path."""
        path = self.folder / f"{name_day(day)}.jsonl"
        lines = [json.dumps(row) + "\n" for row in self.rows(day, change, rows)]
        path.write_text("".join(lines))
        return path


@pytest.fixture(scope="session")
def described(make, tmp_path_factory):
    """describe(schema values=None) → a folder with schema and statistics, as an export has them."""

    def describe(values=None, name="export"):
        folder = tmp_path_factory.mktemp(name)
        data = make.csv(folder / "train.csv", make.rows(4000, seed=1))
        schema = Schema.model_validate(values or make.schema_values("bought"))
        files = find_files([data], "csv", "data")
        scan = scan_files(files, schema, config_lib.DataConfig(), Console())
        extra = folder / "assets.extra"
        extra.mkdir()
        (extra / job_layout.SCHEMA).write_text(schema.model_dump_json())
        statistics = dump_public_statistics(scan.statistics, schema)
        (extra / job_layout.STATISTICS).write_text(json.dumps(statistics))
        return folder

    return describe


@pytest.fixture(scope="session")
def export(described):
    return described()


@pytest.fixture
def log(make, tmp_path):
    return Log(tmp_path / "logs", make)


@pytest.fixture
def watch(export, tmp_path, capsys):
    """watch(status, *flags) → watch.json; of status 2, the error."""

    def run(status, *flags, model=export, state="state"):
        argv = [f"--export={model}", f"--requests={tmp_path / 'logs'}"]
        argv += [f"--state={tmp_path / state}", "--reference_days=2", *flags]
        got = command.main(argv)
        out, err = capsys.readouterr()
        assert got == status, out + err
        if status == 2:
            return err
        document = json.loads((tmp_path / state / "watch.json").read_text())
        assert out.startswith(document["status"])
        return document

    return run


@pytest.fixture
def copy_of():
    """copy_of(folder, to) → a copy of a folder."""
    return lambda folder, to: Path(shutil.copytree(folder, to))
