"""The documents as a site: built without warnings, and without requests to other places."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import trainer
from trainer.command_line import COMMANDS
from trainer.completion import list_flags
from trainer.schema import Column, Schema

pytestmark = [pytest.mark.newest, pytest.mark.quick]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    words = ["build", "--strict", "--quiet", f"--site-dir={folder}"]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_the_first_page_leads_to_everything(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    for words in ("trainer.task", "report.html", "trainer.load(", "export/best/", "tutorial/"):
        assert words in re.sub("<[^>]*>", "", text) or words in text, words
    assert (site / "tutorial" / "index.html").is_file() and (site / "notebook.ipynb").is_file()


@pytest.mark.long
def test_every_document_is_a_page_and_loads_nothing_from_elsewhere(site):
    for path in (ROOT / "docs").glob("*.md"):
        page = site / ("" if path.stem == "index" else path.stem) / "index.html"
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"', text)
        assert not [url for url in loaded if url.startswith(("http", "//"))], path.name


def test_the_reference_has_every_name_of_the_package(site):
    text = (site / "api" / "index.html").read_text(encoding="utf-8")
    missing = [name for name in trainer.__all__ if not re.search(rf'id="[\w.]*\.{name}"', text)]
    assert not missing
    # The arguments come from the docstrings.
    assert "eval_data" in text and "the evaluation data, in the same way" in text


def test_every_document_is_in_the_navigation():
    listed = re.findall(r": (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_every_preset_is_in_the_gallery():
    text = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    assert all(f"`{path.stem}`" in text for path in (ROOT / "hparams").glob("*.yaml"))


def test_the_page_on_data_names_every_field_of_a_schema():
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    fields = {*Schema.model_fields, *Column.model_fields}
    assert not [name for name in fields if f"`{name}`" not in text]


def test_the_first_page_tells_how_to_train_look_predict_and_export():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == ["Install", "Train", "Look", "Predict, also from Python", "Export"]
    shown = dict(zip(titles, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]))
    assert "trainer.task " in shown["Train"] and "report.html" in shown["Look"]
    assert "trainer.load(" in shown["Predict, also from Python"]
    assert "export/best/" in shown["Export"]
    # Its commands have these flags.
    lines = re.findall(r"python -m trainer\.(\w+)((?: |\\\n|[^`\n])*)", text)
    assert {command for command, _ in lines} >= {"schema", "task", "report", "evaluate", "predict"}
    for command, rest in lines:
        known = {flag.name for flag in list_flags(command)} if command in COMMANDS else set()
        given = re.findall(r"--([\w.]+)", rest)
        assert set(given) <= known | {"help", "helpfull"}, command
