"""The notebook of the documents, run by a real Jupyter kernel."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.newest
# Only the environment of the newest TensorFlow has them.
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The outputs of each cell of code."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    wrong = nbformat.v4.new_code_cell('trainer.evaluate("jobs/notebook", by=["origins"])')
    wrong.metadata["tags"] = ["raises-exception"]
    notebook.cells.append(wrong)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def _text(output):
    return output.get("text") or output["data"]["text/plain"]


def test_the_stored_notebook_has_no_outputs():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert not any(cell.get("outputs") for cell in cells)


def test_the_notebook_shows_what_it_promises(outputs):
    _, schema, trained, table, row, slices, columns, export, _ = outputs
    assert "label: {column: arrival, vocabulary: [in time, late]}" in _text(schema[0])
    streams = [one for one in trained if one.output_type == "stream"]
    assert all(one.name == "stdout" for one in streams)
    # One line of progress, which was redrawn.
    (progress,) = [one for one in trained if one.output_type == "display_data"]
    assert "/500 · loss" in _text(progress)
    assert "Summary of jobs/notebook" in _text(trained[-1])
    assert "data:image/png;base64," in trained[-1]["data"]["text/html"]
    assert "probabilities" in table[0]["data"]["text/html"]
    assert "'classes': 'late'" in _text(row[0])
    assert "EWR" in _text(slices[-1]) and "dep_delay" in _text(columns[-1]).splitlines()[1]
    assert "jobs/notebook/export/best/" in _text(export[0])


def test_an_error_is_that_of_the_command(outputs):
    (error,) = [one for one in outputs[-1] if one.output_type == "error"]
    assert error.ename == "UserError"
    assert error.evalue.startswith("--by: the schema has no column 'origins'; did you mean origin?")
