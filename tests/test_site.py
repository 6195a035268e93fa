"""The documents as a site: built without warnings, and without requests to other places."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import trainer

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


def test_the_first_page_leads_to_everything(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    for words in ("trainer.task", "report.html", "trainer.load(", "export/best/", "tutorial/"):
        assert words in re.sub("<[^>]*>", "", text) or words in text, words
    assert (site / "tutorial" / "index.html").is_file() and (site / "notebook.ipynb").is_file()


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


def test_every_preset_is_in_the_gallery():
    text = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    assert all(f"`{path.stem}`" in text for path in (ROOT / "hparams").glob("*.yaml"))
