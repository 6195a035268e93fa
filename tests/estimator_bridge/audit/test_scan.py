"""Tests which uses of TensorFlow the audit finds in source code."""

import json
import sys
import textwrap

import pytest

from estimator_bridge.audit import audit

pytestmark = [pytest.mark.newest, pytest.mark.quick]


def write(root, **files):
    """Writes files; `trainer__model` means trainer/model.py."""
    for name, source in files.items():
        parts = name.replace("__init__", "%").replace("__", "/").replace("%", "__init__")
        path = root / (parts + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
    return str(root)


def uses(report):
    """Returns (file, line, column, symbol) of every finding."""
    return [(one.path, one.line, one.column, one.symbol.name) for one in report.findings]


def symbols(root, source):
    return [name for *_, name in uses(audit(write(root, main=source)))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tensorflow as tf\ntf.estimator.RunConfig()", ["tf.estimator.RunConfig"]),
        ("import tensorflow\ntensorflow.estimator.RunConfig()", ["tf.estimator.RunConfig"]),
        (
            "from tensorflow import estimator as e\ne.RunConfig()",
            ["tf.estimator", "tf.estimator.RunConfig"],
        ),
        (
            "from tensorflow.estimator import RunConfig as R\nR()",
            ["tf.estimator.RunConfig", "tf.estimator.RunConfig"],
        ),
        ('__import__("tensorflow.contrib.slim")', ["tf.contrib.slim"]),
        ('__import__("tensorflow").contrib.slim', ["tf.contrib.slim"]),
        (
            'm = __import__("tensorflow.contrib.slim", fromlist=["nets"])\nm.conv2d()',
            ["tf.contrib.slim", "tf.contrib.slim.conv2d"],
        ),
        (
            'from importlib import import_module as load\nload("tensorflow.contrib.slim").conv2d()',
            ["tf.contrib.slim.conv2d"],
        ),
        (
            "import tensorflow.compat.v1 as tf\ntf.placeholder(tf.float32)",
            ["tf.compat.v1.placeholder"],
        ),
        (
            "import tensorflow as tf\ntf = tf.compat.v1\ntf.Session()",
            ["tf.compat.v1.Session"],
        ),
        (
            "from tensorflow.compat import v1 as tf\ntf.Session()",
            ["tf.compat.v1.Session"],
        ),
        (
            "import tensorflow as tf\nlayers = tf.contrib.layers\nlayers.flatten(1)",
            ["tf.contrib.layers", "tf.contrib.layers.flatten"],
        ),
        (
            "import tensorflow as tf\na, b = tf.layers, 2\na.dense(b)",
            ["tf.layers", "tf.layers.dense"],
        ),
        ("import tensorflow as tf\nx = getattr(tf, 'place' 'holder')", ["tf.placeholder"]),
        (
            "import tensorflow as tf\ngetattr(tf, 'contrib').rnn.GRUCell(1)",
            ["tf.contrib.rnn.GRUCell"],
        ),
        (
            "import importlib\nm = importlib.import_module('tensorflow.' + 'contrib.crf')\n"
            "m.crf_decode()",
            ["tf.contrib.crf", "tf.contrib.crf.crf_decode"],
        ),
        (
            "from importlib import import_module\nimport_module('tensorflow').Session()",
            ["tf.Session"],
        ),
        ("m = __import__('tensorflow.contrib.crf')\nm.Session()", ["tf.contrib.crf", "tf.Session"]),
        ("import tensorflow as tf\nf = lambda tf: tf.Session()\n", []),
        ("import tensorflow as tf\ndef f(tf):\n    return tf.Session()\n", []),
        ("import tensorflow as tf\nf = lambda x: tf.Session()\n", ["tf.Session"]),
        (
            "import tensorflow as tf\ndef f():\n    est = tf.estimator\n    def g():\n"
            "        return est.ModeKeys.TRAIN\n    return g",
            ["tf.estimator", "tf.estimator.ModeKeys"],
        ),
        (
            "import tensorflow as tf\nclass A:\n    def go(self):\n        return self.l.dense(1)\n"
            "    def __init__(self):\n        self.l = tf.layers",
            ["tf.layers.dense", "tf.layers"],
        ),
        (
            "import tensorflow as tf\nclass A:\n    cell = tf.contrib.rnn\n    def go(self):\n"
            "        return self.cell.GRUCell(1)",
            ["tf.contrib.rnn", "tf.contrib.rnn.GRUCell"],
        ),
        ("import tensorflow as tf\n@tf.contrib.framework.add_arg_scope\ndef f(): pass", None),
        (
            "import tensorflow as tf\nclass H(tf.train.SessionRunHook): pass",
            ["tf.train.SessionRunHook"],
        ),
        ("import tensorflow as tf\ndef f(x=tf.app.flags): pass", ["tf.app.flags"]),
        (
            "import tensorflow as tf\ndef f():\n    return g()\ndef g():\n    global tf\n"
            "    import tensorflow.compat.v1 as tf\n    return tf.Session()",
            ["tf.compat.v1.Session"],
        ),
        ("import tensorflow as tf\n[tf.Session() for _ in range(3)]", ["tf.Session"]),
        ("import tensorflow as tf\nx = f'{tf.Session()}'", ["tf.Session"]),
        (
            "from tensorflow.contrib.layers import *\nxavier_initializer()\nprint(other)",
            ["tf.contrib.layers", "tf.contrib.layers.xavier_initializer"],
        ),
        (
            "import tensorflow as tf\ntf.reduce_sum(1, keep_dims=True)",
            ["tf.reduce_sum(keep_dims=)"],
        ),
        ("import tensorflow as tf\ntf.reduce_sum(1, keepdims=True)", []),
        ("import tensorflow as tf\ntf.data.Dataset.range(3).map(str).batch(2)", []),
        (
            "import tensorflow as tf\ntf.data.Dataset.range(3).make_one_shot_iterator()",
            [".make_one_shot_iterator()"],
        ),
        (
            "from tensorflow_estimator.python.estimator.canned import head\nhead.x()",
            [
                "tensorflow_estimator.python.estimator.canned.head",
                "tensorflow_estimator.python.estimator.canned.head.x",
            ],
        ),
        (
            "from tensorflow.contrib.learn.python.learn import learn_runner",
            ["tf.contrib.learn.python.learn.learn_runner"],
        ),
        ("from estimator_bridge import tf, estimator\nestimator.RunConfig()", None),
    ],
)
def test_imports_and_aliases(tmp_path, source, expected):
    found = symbols(tmp_path, source)
    if expected is None:
        assert found, source
    else:
        assert found == expected


MODERN = """
match x:
    case {"a": 1, **rest} if tf.Session():
        tf.placeholder(1)
    case Point(x=0, y=[1, *others]) | None | True:
        tf.Session()
try:
    pass
except* ValueError as error:
    tf.placeholder(2)
type Alias[T] = list[T]
def generic[T](a: T) -> T:
    return tf.Session()
"""


def test_every_kind_of_statement_is_read(tmp_path):
    source = """\
        import tensorflow as tf
        def outer():
            state = 1
            def inner():
                nonlocal state
                state = tf.Session()
                del state, tf.x
                assert tf.Session(), "no"
                raise tf.Session() from tf.Session()
            async def other(a=tf.Session(), *b: tf.Session, **c):
                async with tf.Session() as d, tf.Session() as (e, f):
                    yield await tf.Session()
                async for g in tf.Session():
                    a[tf.Session() : 1] = yield
                while tf.Session():
                    break
                else:
                    tf.Session()
                a += tf.Session()
                a[0].b: tf.Session = tf.Session()
                (i async for i in tf.Session() if (j := tf.Session()))
                return lambda k: tf.Session()
        """
    found = symbols(tmp_path, source)
    assert found.count("tf.Session") == source.count("tf.Session")


def test_variables_of_loops_and_of_with_hide_names(tmp_path):
    source = """\
        import tensorflow as tf
        def branch(names):
            if names:
                for tf in names:
                    tf.upper()
                with open(names[0]) as tf:
                    tf.write("a")
            return tf.Session()
        def comprehensions(names):
            found = [tf.upper() for tf in tf.Session() if tf.lower()]
            found += ([tf.upper() for tf in tf] for tf in names)
            return found, {tf.name: tf for tf in names}, tf.Session()
        for tf in ["a"]:
            tf.upper()
        with open("a") as tf:
            tf.write("a")
        def called_before_the_loop_or_elsewhere():
            return tf.Session()
        """
    assert symbols(tmp_path, source) == ["tf.Session"] * source.count("tf.Session")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_statements_of_python_3_12_are_read(tmp_path):
    found = symbols(tmp_path, "import tensorflow as tf\n" + MODERN)
    assert len(found) == MODERN.count("tf.")


def test_lines_and_columns(tmp_path):
    root = write(
        tmp_path,
        trainer__model="""\
            # A comment with an umlaut: ü
            import tensorflow as tf

            def build():
                return tf.estimator.DNNClassifier(
                    [8], feature_columns=[tf.feature_column.numeric_column("a")])
            """,
    )
    assert uses(audit(root)) == [
        ("trainer/model.py", 5, 12, "tf.estimator.DNNClassifier"),
        ("trainer/model.py", 6, 31, "tf.feature_column.numeric_column"),
    ]


def test_names_are_followed_through_the_code_base(tmp_path):
    root = write(
        tmp_path,
        trainer____init__="",
        trainer__compat="""\
            import tensorflow.compat.v1 as tf1
            from tensorflow import estimator as est
            """,
        trainer__again="from .compat import *\nfrom . import compat",
        trainer__deep____init__="from trainer.again import est as inner",
        trainer__model="""\
            from trainer.compat import est
            from .deep import inner
            from trainer import again
            import trainer.again as ag
            est.DNNClassifier()
            inner.DNNRegressor()
            again.est.LinearClassifier()
            ag.compat.tf1.layers.dense()
            """,
    )
    found = [(line, name) for path, line, _, name in uses(audit(root)) if path.endswith("model.py")]
    assert [one for one in found if one[0] >= 5] == [
        (5, "tf.estimator.DNNClassifier"),
        (6, "tf.estimator.DNNRegressor"),
        (7, "tf.estimator.LinearClassifier"),
        (8, "tf.compat.v1.layers.dense"),
    ]
    # The audit of the package alone, whose modules import each other by its name, finds the same.
    inside = audit(str(tmp_path / "trainer"))
    assert [one[3] for one in uses(inside)] == [one[3] for one in uses(audit(root))]


def test_import_cycles_terminate(tmp_path):
    root = write(
        tmp_path,
        a="from b import *\nfrom b import est\nest.RunConfig()",
        b="from a import *\nfrom a import est",
    )
    assert uses(audit(root)) == []


def test_local_modules_are_not_tensorflow(tmp_path):
    root = write(
        tmp_path,
        tensorflow__helper="",
        layers="def dense(): pass",
        main="import layers\nimport tensorflow as tf\nlayers.dense()\ntf.layers.dense(1)",
    )
    assert uses(audit(root)) == [("main.py", 4, 1, "tf.layers.dense")]


def test_first_import_of_a_try_counts_and_is_guarded(tmp_path):
    root = write(
        tmp_path,
        main="""\
            try:
                import tensorflow.compat.v1 as tf
            except ImportError:
                import tensorflow as tf
            try:
                from tensorflow.contrib import crf
            except ImportError:
                crf = None
            if hasattr(tf, "contrib"):
                tf.contrib.layers.flatten(1)
            tf.Session()
            """,
    )
    found = {one.symbol.name: one.guarded for one in audit(root).findings}
    assert found == {
        "tf.contrib.crf": True,
        "tf.contrib.layers.flatten": True,
        "tf.compat.v1.Session": False,
    }


def test_branches_count_as_the_one_that_runs(tmp_path):
    source = """\
        import tensorflow as tf
        if tf.__version__ >= "2":
            est = tf.compat.v1.estimator
            lib = tf.contrib.layers
        else:
            est = tf.estimator
        est.inputs.numpy_input_fn(1)
        """
    report = audit(write(tmp_path, main=source))
    last = report.findings[-1]
    assert (last.symbol.name, last.symbol.runs) == (
        "tf.compat.v1.estimator.inputs.numpy_input_fn",
        "plain",
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("exec(name)", "code in a string"),
        ("importlib.import_module('tensorflow.contrib.' + name)", "module's name"),
        ("importlib.import_module(f'tensorflow.{name}')", "module's name"),
        ("__import__(name)", "module's name"),
        ("getattr(tf.train, name + 'Optimizer')", "the name is computed"),
        ("eval('tf.train.' + name)", "code in a string"),
    ],
)
def test_dynamic_names_are_listed_as_not_followed(tmp_path, line, why):
    source = f"import importlib\nimport tensorflow as tf\nname = input()\nx = {line}\n"
    (one,) = audit(write(tmp_path, main=source)).not_followed
    assert (one.path, one.line) == ("main.py", 4)
    assert why in one.text


def test_dynamic_names_are_listed_where_tensorflow_comes_from_another_module(tmp_path):
    source = "from a import tf\ntf.Session()\ngetattr(tf, name)()"
    root = write(tmp_path, a="import tensorflow as tf", b=source)
    assert [one.path for one in audit(root).not_followed] == ["b.py"]


def test_dynamic_names_without_tensorflow_are_ignored(tmp_path):
    root = write(tmp_path, a="exec(input())", b="import tensorflow as tf\ntf.Session()")
    assert audit(root).not_followed == []


def notebook(*cells, **metadata):
    def cell(kind, source):
        return {"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": []}

    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": [cell(*one) for one in cells]})


def test_notebooks_by_cell_and_line(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        notebook(
            ("markdown", "# tf.estimator"),
            ("code", "%matplotlib inline\n!pip install tensorflow\nimport tensorflow as tf\n"),
            ("code", "%%bash\nif true; then echo tf.Session; fi\n"),
            ("code", "files = !ls\nfor f in files:\n    !echo {f}\nprint 'two'\n"),
            ("code", "x = 1\ntf.estimator.DNNClassifier?\ny = tf.contrib.layers.flatten(x)\n"),
        ),
        encoding="utf-8",
    )
    report = audit(str(tmp_path))
    (one,) = report.findings
    assert (one.path, one.cell, one.line, one.column) == ("a.ipynb", 5, 3, 5)
    ((path, line, why),) = report.passed_over
    assert (path, line) == ("a.ipynb", 4)
    assert "cell 4" in why and "Python 2" in why
    (entry,) = report.entries
    assert (entry.path, entry.how) == ("a.ipynb", "notebook")


@pytest.mark.parametrize(
    ("cells", "option"),
    [
        (["import tensorflow as tf", "tf.estimator.DNNClassifier"], ""),
        (["import tensorflow as tf", "tf.contrib.layers.flatten"], "--tf1 "),
        (["%%writefile a/b.py\nimport tensorflow as tf\ntf.app.run()"], "--tf1 "),
        (["!pip install tensorflow==2.4\nimport tensorflow.estimator"], "--as=2.4 "),
    ],
)
def test_a_notebook_has_a_command(tmp_path, cells, option):
    (tmp_path / "in").mkdir()
    content = notebook(*(("code", text) for text in cells))
    (tmp_path / "in" / "a b.ipynb").write_text(content, encoding="utf-8")
    (entry,) = audit(str(tmp_path)).entries
    assert entry.how == "notebook"
    assert entry.command == f"python -m estimator_bridge run {option}'in/a b.ipynb'"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [3]}', b"\xff"])
def test_invalid_notebooks_are_skipped(tmp_path, content):
    (tmp_path / "a.ipynb").write_bytes(content)
    ((path, _, why),) = audit(str(tmp_path)).passed_over
    assert path == "a.ipynb"
    assert "not a notebook" in why


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"print 'a'\n", 1, ["Python 2", "print statement", "2to3"]),
        (b"try:\n    pass\nexcept ValueError, e:\n    pass\n", 3, ["Python 2", "2to3"]),
        (b"x = 1\nraise ValueError, 'no'\n", 2, ["Python 2"]),
        (b"x = 0777\n", 1, ["Python 2"]),
        (b"if True:\n        x = 1\n\ty = 2\n", 3, ["Python 2", "tabs"]),
        (b"def f(:\n", 1, ["cannot be parsed"]),
        (b"x = '\xff'\n", 1, ["utf-8", "0xff"]),
        (b"# coding: no-such\n", 0, ["encoding"]),
        (b"x = 1\0\n", 0, ["cannot be parsed"]),
        (b"x = " + b"(" * 5000 + b")" * 5000, None, ["cannot be parsed"]),
        (b"x = " + b"-" * 200000 + b"1", None, ["cannot be parsed"]),
    ],
)
def test_broken_files_are_reported_and_skipped(tmp_path, content, line, words):
    (tmp_path / "bad.py").write_bytes(content)
    write(tmp_path, good="import tensorflow as tf\ntf.Session()")
    report = audit(str(tmp_path))
    ((path, where, why),) = report.passed_over
    assert path == "bad.py"
    assert line is None or where in (line, 0)
    assert all(word in why for word in words), why
    assert [one[3] for one in uses(report)] == ["tf.Session"]


def test_other_encodings_are_read(tmp_path):
    head = "# -*- coding: latin-1 -*-\n"
    source = head + "x = 'ü'\nimport tensorflow as tf\ntf.Session()"
    (tmp_path / "a.py").write_bytes(source.encode("latin-1"))
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbfimport tensorflow as tf\r\ntf.Session()\r\n")
    assert [(one[0], one[1]) for one in uses(audit(str(tmp_path)))] == [("a.py", 4), ("b.py", 2)]


def test_folders_of_third_party_code_are_skipped(tmp_path):
    source = "import tensorflow as tf\ntf.Session()"
    write(tmp_path, main=source, venv__lib__x=source, tool__lib__site__y=source)
    write(tmp_path / ".git", z=source)
    (tmp_path / "tool" / "pyvenv.cfg").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [one[0] for one in uses(audit(str(tmp_path)))] == ["main.py"]


def test_a_function_of_the_module_hides_a_name_of_its_star_import(tmp_path):
    source = """
        from tensorflow.contrib.layers import *

        def model_fn(features):
            return flatten(features)

        try:
            from tensorflow.contrib.rnn import *
        except ImportError:
            class LSTMCell: pass
        """
    main = "import near\nnear.model_fn(1)\nnear.flatten\nnear.LSTMCell\n"
    found = [
        use for use in uses(audit(write(tmp_path, near=source, main=main))) if use[0] == "main.py"
    ]
    assert [(line, name) for _, line, _, name in found][0] == (3, "tf.contrib.layers.flatten")
    assert {line for _, line, _, _ in found} == {3, 4}
