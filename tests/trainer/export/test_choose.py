"""trainer.export.choose: every command serves the same export of a job."""

import errno
import itertools
import json
import os
from pathlib import Path

import pytest

from trainer import config as config_lib
from trainer.console import Console
from trainer.errors import UserError
from trainer.export.choose import ORDER, choose_export, choose_from_files, find_export
from trainer.export.exporters import list_exports
from trainer.prediction import command
from trainer.training.report import publish_model

SUBSETS = [
    names for number in range(1, 4) for names in itertools.combinations(sorted(ORDER), number)
]


def write_exports(job_dir, exporters):
    """Writes two exports per exporter; each saved_model.pb contains its own folder."""
    for number, exporter in enumerate(exporters):
        # The second exporter's exports are the newer ones: age must not decide between exporters.
        for stamp in (999 + number, 1_700_000_000 + number):
            folder = Path(job_dir, "export", exporter, str(stamp))
            folder.mkdir(parents=True)
            (folder / "saved_model.pb").write_text(str(folder))
    return {name: list_exports(str(Path(job_dir, "export", name))) for name in exporters}


@pytest.fixture
def predicted(monkeypatch, capsys):
    """predicted(job_dir) → path of the export that `trainer.predict --job_dir` loads."""

    class FakePredictor:
        def __init__(self, path):
            self.path = path

        def predict(self, rows):
            return [{"export": self.path} for _ in rows]

    def predict(job_dir):
        monkeypatch.setattr(command, "Predictor", FakePredictor)
        assert command.main([f"--job_dir={job_dir}", "--row={}"]) == 0
        return json.loads(capsys.readouterr().out)["export"]

    return predict


@pytest.mark.parametrize("exporters", SUBSETS, ids="-".join)
def test_predict_and_vertex_serve_the_same_export(exporters, predicted, monkeypatch, tmp_path):
    exports = write_exports(tmp_path / "job", exporters)
    monkeypatch.setenv("AIP_MODEL_DIR", str(tmp_path / "model"))
    publish_model(exports, config_lib.StorageConfig(), Console(quiet=True))
    published = (tmp_path / "model" / "saved_model.pb").read_text()
    assert predicted(tmp_path / "job") == published
    # The files of a job in a bucket are chosen from by name.
    job_dir = tmp_path / "job"
    names = [path.relative_to(job_dir).as_posix() for path in job_dir.rglob("*") if path.is_file()]
    assert str(job_dir / choose_from_files(names, str(job_dir), "--job_dir")) == published


def test_best_comes_before_final_before_latest():
    exports = {"latest": ["l/1"], "final": ["f/1"], "best": ["b/1", "b/2"]}
    assert choose_export(exports) == "b/2"
    assert choose_export({**exports, "best": []}) == "f/1"
    assert choose_export({"latest": ["l/1"]}) == "l/1"
    assert choose_export({"best": []}) is None
    assert choose_export({"census": ["c/1"]}) is None


def test_timestamps_are_compared_as_numbers(tmp_path):
    exports = write_exports(tmp_path, ["final"])
    assert find_export(str(tmp_path)) == exports["final"][-1]
    assert exports["final"][-1].endswith("/1700000000")


def test_unfinished_exports_are_not_served():
    names = [
        "export/best/1700000002/variables/variables.index",
        "export/best/temp-1700000003/saved_model.pb",
        "export/best/best.json",
        "export/final/1700000001/saved_model.pb",
        "export/final/1700000001/assets.extra/saved_model.pb",
    ]
    assert choose_from_files(names, "job", "--export") == "export/final/1700000001"


def test_a_job_without_exports_is_refused(tmp_path):
    with pytest.raises(UserError) as error:
        find_export(str(tmp_path))
    assert str(error.value) == (
        f"--job_dir={tmp_path}: no saved_model.pb there, and no export in any of export/best, "
        "export/final, export/latest; name an export, or a job that was trained with "
        "--export.exporters"
    )


def test_a_folder_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(UserError, match="Permission denied; make it readable"):
        find_export(str(tmp_path))


def test_a_folder_stands_for_an_export(tmp_path):
    exports = write_exports(tmp_path, ["final", "latest"])
    newest = exports["final"][-1]
    assert find_export(newest, "--export") == newest
    assert find_export(str(Path(newest).parent), "--export") == newest
    assert find_export(str(tmp_path), "--export") == newest
    with pytest.raises(UserError, match=f"--export={tmp_path}/none: no such folder; name"):
        find_export(f"{tmp_path}/none", "--export")
    # Which version a served model stands for depends on its labels.
    names = ["push.json", "9/saved_model.pb", "10/saved_model.pb"]
    told = "served: contains versions of a served model; name one .* the newest, served/10$"
    with pytest.raises(UserError, match=told):
        choose_from_files(names, "served", "--export")


@pytest.mark.parametrize("given", ["job", "job/export/best", "job/export/best/1700000002"])
def test_a_folder_of_a_bucket_stands_for_an_export(given):
    files = [f"job/export/best/170000000{number}/saved_model.pb" for number in (1, 2)]
    names = [name.removeprefix(f"{given}/") for name in files if name.startswith(f"{given}/")]
    chosen = choose_from_files(names, given, "--export")
    assert f"{given}/{chosen}".rstrip("/") == "job/export/best/1700000002"
