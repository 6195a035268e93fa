"""The code of notebooks."""

import json

import pytest

from estimator_bridge.era import TF1, choice
from estimator_bridge.user_files import notebook_cells

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
        ("%%javascript\nx", ""),
        ("%%writefile a/b.py\nx = 1", "pass\nx = 1"),
        ("%%file -a 'b.py'\nx = 1", "pass\nx = 1"),
        ("%%writefile b.json\n{}", ""),
        ("%%python3\nx = 1", "pass\nx = 1"),
        ("%time f(x)\n%timeit -n 1 f(x)\n%time", "f(x)\npass\npass"),
        ("!a \\\n  --b \\\n  --c\nx = 1", "pass\n\n\nx = 1"),
        ("x = !a \\\n  --b", "x = None\n"),
        ("a.b, c = !ls", "a.b, c = None"),
        ("print('%d'\n      % 3)", "print('%d'\n      % 3)"),
        ("x = '%d' \\\n  % 3", "x = '%d' \\\n  % 3"),
        ('x = """\n%d?\n!ls\n"""\n!ls', 'x = """\n%d?\n!ls\n"""\npass'),
        ("x = ')' # (\n!ls", "x = ')' # (\npass"),
        ("f('\\'')\n%pwd", "f('\\'')\npass"),
        ("tf.f()  # why?\ntf.f??", "tf.f()  # why?\npass"),
    ],
)
def test_syntax_of_ipython_is_left_out(text, source):
    assert notebook_cells.Cell(1, text, False).source == source


@pytest.mark.parametrize(
    "metadata",
    [{"kernelspec": {"language": "R"}}, {"kernelspec": {}, "language_info": {"name": "R"}}],
)
def test_a_notebook_of_another_language_has_no_python(metadata):
    assert notebook_cells.read(make(("code", "x <- 1"), **metadata)) == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [3]}', b"\xff"])
def test_other_content_is_no_notebook(data):
    with pytest.raises(ValueError, match="not a notebook: "):
        notebook_cells.read(data)


IMPORT = "import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("cells", "version", "where"),
    [
        ([IMPORT, "x = (", "tf.Session()"], TF1, "cell 3, line 1, uses tf.Session"),
        (
            ["# 2020\n%tensorflow_version 1.x", f"{IMPORT}tf.keras"],
            TF1,
            "cell 1, line 2, has %tensorflow_version 1.x",
        ),
        (["%tensorflow_version 2.x\nimport tensorflow as tf"], None, None),
        # It writes a program of 1.x, to convert it.
        (["%tensorflow_version 2.x", f"%%writefile a.py\n{IMPORT}tf.Session()"], None, None),
        ([f"%%writefile a.py\n{IMPORT}tf.Session()"], TF1, "cell 1, line 3, uses tf.Session"),
        # Notebooks print the version.
        ([IMPORT, "tf.__version__", "tf.Session()"], TF1, "cell 3, line 1, uses tf.Session"),
        ([IMPORT, "print(tf.VERSION)\ntf.Session()"], TF1, "cell 2, line 2, uses tf.Session"),
        ([IMPORT, "assert np.__version__\ntf.app"], TF1, "cell 2, line 2, uses tf.app"),
        ([IMPORT, "if tf.__version__ < '2':\n    tf.Session()"], None, None),
        ([IMPORT, "check(tf.__version__)\ntf.Session()"], None, None),
        (["!pip install 'tensorflow==2.4.1'"], (2, 4), "!pip install 'tensorflow==2.4.1'"),
        (["%pip install tensorflow-gpu==1.9"], TF1, "%pip install tensorflow-gpu==1.9"),
        (
            ["%%bash\n", "%%bash\npip install tensorflow==2.1 # x"],
            (2, 1),
            "cell 2, line 2, says pip install tensorflow==2.1",
        ),
        (["# !pip install tensorflow==1.14", "x = 'tensorflow==1.14'"], None, None),
        (["os.environ['TFVERSION'] = '1.8'"], TF1, "os.environ['TFVERSION'] = '1.8'"),
        (
            ["!pip install tensorflow==2.4", "%tensorflow_version 1.x"],
            TF1,
            "cell 2, line 1, has %tensorflow_version 1.x",
        ),
    ],
)
def test_cells_tell_the_version(tmp_path, cells, version, where):
    path = tmp_path / "a.ipynb"
    path.write_bytes(make(*(("code", text) for text in cells)))
    found = choice.choose(str(path), str(path))
    assert (found and found.version) == version
    assert found is None or found.where.startswith("a.ipynb, cell ")
    assert found is None or found.where.endswith(where)


def test_a_notebook_tells_more_than_its_project(tmp_path):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.8\n")
    path = tmp_path / "a.ipynb"
    path.write_bytes(make(("code", "%tensorflow_version 1.x")))
    assert choice.choose(str(path), str(path)).version == TF1
    path.write_bytes(make(("code", "x = 1")))
    assert choice.choose(str(path), str(path)).version == (2, 8)
