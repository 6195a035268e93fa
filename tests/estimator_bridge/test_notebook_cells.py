"""The code of notebooks."""

import json

import pytest

from estimator_bridge import notebook_cells
from estimator_bridge.era import TF1, choice

pytestmark = pytest.mark.quick


def make(*cells, **metadata):
    made = [{"cell_type": kind, "source": source} for kind, source in cells]
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": made}).encode()


def test_cells_have_their_numbers_and_text():
    cells = notebook_cells.read(
        make(("markdown", "# A"), ("code", ["x = 1\n", "!ls"]), ("raw", "r"))
    )
    assert cells == [notebook_cells.Cell(2, "x = 1\n!ls", False)]


def test_version_3_of_the_format_is_read():
    cell = {"cell_type": "code", "input": "x = 1", "metadata": {"tags": ["raises-exception"]}}
    data = json.dumps({"worksheets": [{"cells": [cell]}]}).encode()
    assert notebook_cells.read(data) == [notebook_cells.Cell(1, "x = 1", True)]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("for f in x:\n    !echo {f}\n", "for f in x:\n    pass\n"),
        ("x = !ls\ny = %pwd\nz = 3 % 2", "x = None\ny = None\nz = 3 % 2"),
        ("f?\n# why?", "pass\n# why?"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("%%bash\nls", ""),
    ],
)
def test_syntax_of_ipython_is_left_out(text, source):
    assert notebook_cells.Cell(1, text, False).source == source


def test_a_notebook_of_another_language_has_no_python():
    assert notebook_cells.read(make(("code", "x <- 1"), kernelspec={"language": "R"})) == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [3]}', b"\xff"])
def test_other_content_is_no_notebook(data):
    with pytest.raises(ValueError, match="not a notebook: "):
        notebook_cells.read(data)


@pytest.mark.parametrize(
    ("cells", "where"),
    [
        (["import tensorflow as tf", "x = (", "tf.Session()"], "cell 3, line 1, uses tf.Session"),
        (
            ["# 2020\n%tensorflow_version 1.x", "import tensorflow as tf\nprint(tf.__version__)"],
            "cell 1, line 2, has %tensorflow_version 1.x",
        ),
        (["%tensorflow_version 2.x\nimport tensorflow as tf"], None),
    ],
)
def test_cells_tell_the_version(tmp_path, cells, where):
    path = tmp_path / "a.ipynb"
    path.write_bytes(make(*(("code", text) for text in cells)))
    found = choice.choose(str(path), str(path))
    assert found == (where and choice.Choice(TF1, f"a.ipynb, {where}"))
