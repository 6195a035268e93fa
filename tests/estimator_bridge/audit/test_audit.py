"""Tests the audit as a command: verdicts, order, formats, exit status, large code bases."""

import html.parser
import io
import json
import os
import pathlib
import random as randomness
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from estimator_bridge.audit import audit, command, files, sources, to_json
from estimator_bridge.audit.html import render as render_html
from estimator_bridge.audit.text import hours, summary
from estimator_bridge.audit.text import render as render_text
from estimator_bridge.command_line.signals import SignalReceived
from estimator_bridge.output.html_page import SCRIPT_POLICY

pytestmark = [pytest.mark.newest, pytest.mark.quick]

MAIN = '\nif __name__ == "__main__":\n    main()\n'

PLAIN = "import tensorflow as tf\ndef build():\n    return tf.estimator.LinearRegressor([])\n"
OLD = """import tensorflow as tf
def build():
    return tf.layers.dense(tf.placeholder(tf.int32), 1)
"""
LOST = (
    "import tensorflow as tf\ndef build():\n    return tf.contrib.tensorrt.create_inference_graph\n"
)


def write(root, content):
    for name, source in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
    return str(root)


def run(*args, cwd=None, **kwargs):
    """Runs the command in a separate process."""
    command = [sys.executable, "-m", "estimator_bridge", "audit", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, **kwargs)


def entry_of(report, path):
    return {entry.path: entry for entry in report.entries}[path]


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        (PLAIN, "plain", "runs unchanged under the bridge"),
        (OLD, "--tf1", "runs unchanged with --tf1"),
        (PLAIN.replace("tf.estimator", "tf.compat.v1.estimator"), "plain", "under the bridge"),
        (
            "import tensorflow.compat.v1 as tf\nx = tf.placeholder(tf.int32)\n",
            "today",
            "runs unchanged on today's TensorFlow",
        ),
        (OLD + "    tf.contrib.stat_summarizer.StatSummarizer()\n", "port", "needs a port"),
        (LOST, "port", "needs a port"),
        (OLD + "tf.no_such_name()\ntf.nor_this_one()\n", "edits", "needs these 2 edits"),
        (PLAIN + "tf.no_such_name()\n", "edits", "needs this 1 edit"),
        (
            PLAIN + "x = tf.summary.create_file_writer\ny = tf.GradientTape\n",
            "plain",
            "runs unchanged under the bridge",
        ),
        (
            OLD + "x = tf.summary.create_file_writer\n",
            "edits",
            "needs this 1 edit, then runs with --tf1",
        ),
        (
            "try:\n    from tensorflow.contrib import text\nexcept ImportError:\n    pass\n"
            + PLAIN,
            "plain",
            "runs unchanged under the bridge",
        ),
    ],
)
def test_verdict_includes_imported_files(tmp_path, source, verdict, words):
    root = write(
        tmp_path,
        {
            "trainer/__init__.py": "",
            "trainer/model.py": source,
            "trainer/middle.py": "from . import model",
            "trainer/task.py": "from trainer import middle\ndef main(): pass\n" + MAIN,
            "trainer/other.py": LOST,
        },
    )
    entry = entry_of(audit(root), "trainer/task.py")
    assert (entry.verdict, words in entry.text) == (verdict, True), entry.text
    assert set(entry.files) == {
        f"trainer/{name}.py" for name in ("__init__", "model", "middle", "task")
    }
    if verdict in ("plain", "--tf1"):
        option = "--tf1 " if verdict == "--tf1" else ""
        assert entry.command == f"python -m estimator_bridge run {option}-m trainer.task"


def command_of(folder, path, source):
    """Returns the command for a program in a code base of several folders."""
    files = {"app/pkg/__init__.py": "", "app/pkg/near.py": "", "app/bare/near.py": ""}
    files.update({"helper.py": "", "tool/near.py": "", path: f"{source}\n{PLAIN}{MAIN}"})
    return entry_of(audit(write(folder, files)), path).command


@pytest.mark.parametrize(
    ("path", "source", "command"),
    [
        ("main.py", "import helper", "main.py"),
        ("tool/main.py", "import near", "tool/main.py"),
        ("app/pkg/task.py", "from pkg import near", "-m pkg.task"),
        ("app/pkg/task.py", "from . import near", "-m pkg.task"),
        ("app/bare/task.py", "from bare import near", "-m bare.task"),
        ("app/pkg/__main__.py", "from pkg import near", "-m pkg"),
    ],
)
def test_command_starts_in_the_folder_of_the_imports(tmp_path, path, source, command):
    start = "cd app && " if command.startswith("-m") else ""
    found = command_of(tmp_path, path, source)
    assert found == f"{start}python -m estimator_bridge run {command}"


@pytest.mark.parametrize(
    ("path", "source", "declaration", "command"),
    [
        ("main.py", "", "tensorflow==2.8.4", "--as=2.8 main.py"),
        ("app/pkg/task.py", "from pkg import near", "tensorflow>=2.4,<2.9", "--as=2.8 -m pkg.task"),
        # What 2.12 and 1.15 declare is no other interface of TensorFlow 2.
        ("main.py", "", "tensorflow==2.12.1", "main.py"),
        ("main.py", "", "tensorflow==1.15.5", "main.py"),
        ("main.py", "import tensorflow.optimizers as o; o.SGD(lr=1)", "", "--as=2.10 main.py"),
    ],
)
def test_the_command_names_the_declared_version(tmp_path, path, source, declaration, command):
    (tmp_path / "requirements.txt").write_text(f"{declaration}\n")
    start = "cd app && " if "-m" in command else ""
    found = command_of(tmp_path, path, source)
    assert found == f"{start}python -m estimator_bridge run {command}"


# Prints where the library would be found; the lines that use it are not reached.
START = """
import importlib.util
print("started", importlib.util.find_spec("tensorflow").origin)
raise SystemExit(0)
"""


@pytest.mark.parametrize(
    ("path", "files", "command"),
    [
        # Python 2 found modules of the own package by their bare names.
        ("pkg/task.py", {"pkg/__init__.py": "", "pkg/near.py": ""}, "pkg/task.py"),
        ("pkg/task.py", {"pkg/__init__.py": "", "pkg/near.py": "from pkg import deep",
                         "pkg/deep.py": ""}, "PYTHONPATH=. pkg/task.py"),
        ("pkg/task.py", {"pkg/__init__.py": "", "pkg/near.py": "", "pkg/own.py": "import near",
                         "pkg/.first": "from . import own"}, "PYTHONPATH=pkg -m pkg.task"),
        ("app/pkg/task.py", {"app/pkg/near.py": "", "app/pkg/.first": "from . import near"},
         "cd app -m pkg.task"),
        ("scripts/task.py", {"src/near/__init__.py": "from near import deep",
                             "src/near/deep.py": ""}, "PYTHONPATH=src scripts/task.py"),
        # A file named like a module of the standard library is not what is imported.
        ("pkg/task.py", {"pkg/__init__.py": "", "pkg/sub/__init__.py": "",
                         "pkg/sub/json.py": "raise 1", "pkg/sub/near.py": "import json",
                         "pkg/.first": "from pkg.sub import near"}, "-m pkg.task"),
        ("tensorflow/task.py", {"tensorflow/__init__.py": "", "tensorflow/near.py": ""},
         "tensorflow/task.py"),
        ("tensorflow/pkg/task.py", {"tensorflow/__init__.py": "", "tensorflow/pkg/__init__.py": "",
                                    "tensorflow/pkg/near.py": "",
                                    "tensorflow/pkg/.first": "from . import near"},
         "cd tensorflow -m pkg.task"),
        ("v1.0/task.py", {"v1.0/__init__.py": "", "v1.0/near.py": ""}, "v1.0/task.py"),
    ],
)  # fmt: skip
def test_every_printed_command_starts(tmp_path, path, files, command):
    first = [text for name, text in files.items() if name.endswith(".first")]
    files = {name: text for name, text in files.items() if not name.endswith(".first")}
    source = (first or ["import near"])[0] + START + PLAIN + MAIN
    printed = entry_of(audit(write(tmp_path, {**files, path: source})), path).command
    short = printed.replace(" &&", "").replace("python -m estimator_bridge run ", "")
    assert short == command
    # As in a shell, with this Python, which finds the packages in the checkout.
    root = pathlib.Path(__file__).parents[3]
    before, python, after = printed.partition("python ")
    before = re.sub(r"PYTHONPATH=(\S+)", rf"PYTHONPATH=\1{os.pathsep}{root}", before)
    line = f"{before}{shlex.quote(sys.executable)} {after}"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        line, shell=True, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60
    )
    assert (done.returncode, done.stdout[:8]) == (0, "started "), done.stderr
    assert str(tmp_path) not in done.stdout


def test_implicit_relative_imports_are_a_category_of_their_own(tmp_path):
    files = {
        "pkg/__init__.py": "",
        "pkg/near.py": "",
        "pkg/own.py": "import os\nimport near\nfrom near import x",
        "pkg/task.py": "from . import own\n" + PLAIN + MAIN,
    }
    report = audit(write(tmp_path, files))
    (entry,) = report.entries
    assert entry.verdict == "plain" and not entry.broken
    assert entry.text.endswith("has implicit relative imports of Python 2, whose folders the "
                               "command names")  # fmt: skip
    assert entry.command.startswith("PYTHONPATH=pkg ")
    (found,) = json.loads(to_json(report))["implicit_imports"]
    assert found == {"file": "pkg/own.py", "line": 2, "module": "near", "fails": False}
    for shown in ("\n".join(render_text(report, 120)), render_html(report)):
        assert "implicit relative import of near: write from . import near" in shown
    # Python runs the one in the folder where the program starts.
    report = audit(write(tmp_path, {"near.py": ""}))
    (entry,) = report.entries
    assert (entry.verdict, entry.command) == ("edits", "")
    assert entry.broken[0][0] == "pkg/own.py"
    assert "line 2: implicit relative import of near; another module" in entry.broken[0][1]


def test_one_name_in_two_packages_is_ambiguous(tmp_path):
    files = {
        f"{package}/{name}.py": source
        for package in ("one", "two")
        for name, source in (("__init__", ""), ("near", ""), ("own", "import near"))
    }
    files["task.py"] = "from one import own\nfrom two import own as other\n" + PLAIN + MAIN
    (entry,) = audit(write(tmp_path, files)).entries
    assert [path for path, _ in entry.broken] == ["one/own.py", "two/own.py"]
    # A script finds the modules beside it in Python 3, too.
    (tmp_path / "task.py").unlink()
    (tmp_path / "one" / "task.py").write_text("import near\n" + PLAIN + MAIN)
    (entry,) = audit(str(tmp_path)).entries
    assert not entry.implicit and entry.verdict == "plain"


@pytest.mark.parametrize(
    ("path", "files", "words"),
    [
        ("pkg/task.py", {"pkg/__init__.py": "from . import task", "tensorflow/__init__.py": "",
                         "near.py": ""}, "tensorflow/__init__.py hides the library; rename it"),
        ("tensorflow/task.py", {"tensorflow/__init__.py": "", "tensorflow/near.py": ""},
         "rename its folder tensorflow"),
        ("task.py", {"near.py": ""}, "lead out of the audited folder"),
    ],
)  # fmt: skip
def test_a_program_that_no_command_starts_says_why(tmp_path, path, files, words):
    first = "import near\n" if "hides" in words else "from . import near\n"
    entry = entry_of(audit(write(tmp_path, {**files, path: first + PLAIN + MAIN})), path)
    assert entry.command == "" and words in entry.text, entry


@pytest.mark.parametrize("name", ["a b;id.py", "$(id).py", "-c.py", "it's.py"])
def test_the_command_is_quoted_for_the_shell(tmp_path, name):
    entry = entry_of(audit(write(tmp_path, {name: f"{PLAIN}{MAIN}"})), name)
    *_, last = shlex.split(entry.command)
    assert last == (f"./{name}" if name.startswith("-") else name)


def test_each_edit_is_listed_once(tmp_path):
    source = """\
        import tensorflow as tf
        from tensorflow import no_such_name as gone
        gone(1)
        gone(2)
        x = tf.nor_this; y = tf.nor_this
        """
    root = write(tmp_path, {"main.py": textwrap.dedent(source) + MAIN})
    entry = entry_of(audit(root), "main.py")
    assert [(edit.line, edit.symbol.name) for edit in entry.edits] == [
        (2, "tf.no_such_name"),
        (5, "tf.nor_this"),
    ]


def test_entry_points(tmp_path):
    use = "import tensorflow as tf\ntf.Session()\n"
    root = write(
        tmp_path,
        {
            "guard.py": use + MAIN,
            "tf_app.py": use + "tf.app.run()\n",
            "absl_app.py": use + "from absl import app\napp.run(main)\n",
            "tool/__main__.py": use,
            "library.py": use,
            "elsewhere.py": "print('no TensorFlow')" + MAIN,
        },
    )
    found = {entry.path: entry.how for entry in audit(root).entries}
    assert found == {
        "guard.py": "__main__",
        "tf_app.py": "app.run",
        "absl_app.py": "app.run",
        "tool/__main__.py": "__main__",
    }


def test_broken_import_of_a_program_is_an_edit(tmp_path):
    root = write(
        tmp_path,
        {"main.py": "import old\n" + PLAIN + MAIN, "old.py": "print 'tensorflow'\n"},
    )
    entry = entry_of(audit(root), "main.py")
    assert entry.verdict == "edits"
    ((path, why),) = entry.broken
    assert path == "old.py"
    assert "Python 2" in why


def test_order_puts_imports_first_and_cycles_together(tmp_path):
    use = "import tensorflow as tf\ntf.Session()\n"
    root = write(
        tmp_path,
        {
            "a_task.py": "import b_model\n" + use,
            "b_model.py": "import through\n" + use,
            "through.py": "import z_columns",
            "z_columns.py": use,
            "one.py": "import two\n" + use,
            "two.py": "import one\n" + use,
            "pkg/__init__.py": "from .inner import f\n" + use,
            "pkg/inner.py": "import pkg\nfrom pkg import other\n" + use,
            "pkg/other.py": use,
        },
    )
    steps = [step.paths for step in audit(root).order]
    place = {path: number for number, paths in enumerate(steps) for path in paths}
    assert place["z_columns.py"] < place["b_model.py"] < place["a_task.py"]
    assert ("one.py", "two.py") in steps
    assert place["pkg/other.py"] < place["pkg/inner.py"]
    assert len(place) == 8


def test_effort_grows_with_the_work(tmp_path):
    def efforts(name, source):
        return audit(write(tmp_path / name, {"main.py": source + MAIN})).effort

    plain, old, lost = efforts("a", PLAIN), efforts("b", OLD), efforts("c", LOST)
    assert plain.run == old.run == pytest.approx(0.5)
    assert lost.run >= 8
    assert 0 < old.keras < plain.keras < 8
    assert [hours(value) for value in (0, 0.1, 0.5, 3.2, 24)] == [
        "nothing",
        "5 min",
        "30 min",
        "3 h",
        "3 days",
    ]


@pytest.fixture(scope="module")
def code_base(tmp_path_factory):
    return write(
        tmp_path_factory.mktemp("code") / "shop",
        {
            "trainer/__init__.py": "",
            "trainer/task.py": "from trainer import model\n" + MAIN,
            "trainer/model.py": PLAIN + OLD + "    getattr(tf, input())\n",
            "trainer/<script>.py": "x = 'tensorflow'\nprint 'a'\n",
            "plain.py": PLAIN + MAIN,
            "port.py": LOST + MAIN,
        },
    )


def test_summary_of_several_programs(tmp_path):
    programs = {"a.py": PLAIN, "b.py": PLAIN, "c.py": LOST, "d.py": LOST, "e.py": OLD}
    report = audit(write(tmp_path, {name: source + MAIN for name, source in programs.items()}))
    assert summary(report).endswith(
        "Of 5 programs: 2 run unchanged under the bridge; 1 runs unchanged with --tf1; "
        "2 need a port."
    )


def test_text(code_base):
    done = run("shop", cwd=os.path.dirname(code_base), env={**os.environ, "COLUMNS": "80"})
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    for expected in (
        "trainer/model.py\n      3:12  tf.estimator.LinearRegressor",
        "plain.py: runs unchanged under the bridge\n    python -m estimator_bridge run plain.py",
        "trainer/task.py: runs unchanged with --tf1\n"
        "    python -m estimator_bridge run --tf1 -m trainer.task\n",
        "port.py: needs a port",
        "Loss reduction",
        "removed in 2.16",
        "Keras: keras.Input",
        "SKIPPED",
        "NOT FOLLOWED",
        "Rule: ",
        "1. ",
    ):
        assert expected in done.stdout, expected
    last = done.stdout[done.stdout.rindex("\n\n") :].replace("\n", " ")
    assert "Of 3 programs" in last and "1 file skipped" in last
    # Progress is not part of the result.
    assert re.search(r"audit: 6 files read in [\d.]+ s", done.stderr)


def test_json(code_base):
    done = run(code_base, "--format=json")
    value = json.loads(done.stdout)
    assert value["format_version"] == 1
    assert value["files"]["found"] == 6
    first = value["findings"][0]
    assert first == {
        "file": "plain.py",
        "line": 3,
        "column": 12,
        "how": "use",
        "guarded": False,
        "symbol": "tf.estimator.LinearRegressor",
        "kind": "estimator",
        "runs": "plain",
        "runs_under_bridge": True,
        "runs_with_tf1": True,
        "gone_since": "2.16",
        "instead": None,
        "keras": first["keras"],
        "keras_work": "canned",
        "traps": first["traps"],
    }
    assert "loss_reduction" in first["traps"]
    assert set(first["traps"]) <= set(value["traps"])
    verdicts = {entry["file"]: entry["verdict"] for entry in value["entry_points"]}
    assert verdicts == {"plain.py": "plain", "port.py": "port", "trainer/task.py": "--tf1"}
    assert value["effort"]["rule"]
    assert {path for step in value["order"] for path in step["files"]} == {
        "plain.py",
        "port.py",
        "trainer/model.py",
    }
    assert [one["line"] for one in value["passed_over"]] == [2]
    assert value["not_followed"][0]["file"] == "trainer/model.py"


class Page(html.parser.HTMLParser):
    """Parses a page; collects its tables and references, and checks that its tags are closed."""

    VOID = ("meta", "input", "br", "wbr")
    IMPLIED = ("li",)

    def __init__(self):
        super().__init__()
        self.open, self.tables, self.loads, self.text = [], 0, [], []

    def handle_starttag(self, tag, attrs):
        self.tables += tag == "table"
        names = dict(attrs)
        self.loads += [names[key] for key in ("src", "href") if key in names]
        if tag not in self.VOID + self.IMPLIED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.IMPLIED:
            assert self.open.pop() == tag

    def handle_data(self, text):
        self.text.append(text)


def test_html_is_a_valid_page_that_loads_nothing(code_base):
    page = Page()
    text = render_html(audit(code_base))
    page.feed(text)
    page.close()
    assert page.open == []
    # A table of programs for each verdict, the symbols and the uses.
    assert page.tables == 5
    assert all(target.startswith("#") for target in page.loads)
    # The frame of all pages: no request, light and dark, links to the sections.
    assert f'Content-Security-Policy" content="{SCRIPT_POLICY}"' in text
    assert "prefers-color-scheme: dark" in text and '<a href="#s1">Programs</a>' in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<script>.py" not in text and "trainer/<script>.py" in "".join(page.text)
    for target in set(page.loads):
        assert f'id="{target[1:]}"' in text
    assert text.count('class="words sortable"') == 5
    for words in ("runs unchanged under the bridge", "runs unchanged with --tf1", "needs a port"):
        assert f"<details open><summary>1 {words}</summary>" in text
    # What to write in Keras is the widest column, and is labelled where rows are blocks.
    assert '<td data-label="Keras" class=wide>' in text
    assert "or write<br><span class=whole>tf.compat.v1.layers.dense</span>" in text


def test_code_base_without_findings(tmp_path):
    root = write(tmp_path, {"a.py": "print(1)"})
    report = audit(root)
    assert "No use of tf.estimator" in "\n".join(render_text(report, 80))
    assert json.loads(to_json(report))["findings"] == []
    assert "No use of tf.estimator" in render_html(report)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], ["PATH"]),
        (["no-such-folder"], ["no such file or folder", "no-such-folder"]),
        (["notes.txt"], ["notes.txt", ".py"]),
        (["empty"], ["no .py or .ipynb file", "empty"]),
        (["code", "--format=xml"], ["xml", "text", "json", "html"]),
        (["code", "--fail_on=sometimes"], ["sometimes", "edits"]),
        (["code", "--colour"], ["--colour"]),
        (["code", "--output=notes.txt"], ["notes.txt", "exists already"]),
        (["code", "--output=no/such/out.html"], ["no/such/out.html", "cannot be written"]),
    ],
)
def test_invalid_arguments_print_one_line_and_exit_with_2(tmp_path, args, words):
    write(tmp_path, {"code/a.py": PLAIN, "notes.txt": "mine"})
    (tmp_path / "empty").mkdir()
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2
    *progress, line = done.stderr.splitlines()
    assert all(one.startswith("audit: ") for one in progress)
    assert line.startswith("estimator_bridge: audit: ")
    assert all(word in line for word in words), line
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("source", "statuses"),
    [
        ("print(1)", {"never": 0, "edits": 0, "tf1": 0, "any": 0}),
        (PLAIN + MAIN, {"never": 0, "edits": 0, "tf1": 0, "any": 1}),
        (OLD + MAIN, {"never": 0, "edits": 0, "tf1": 1, "any": 1}),
        (LOST + MAIN, {"never": 0, "edits": 1, "tf1": 1, "any": 1}),
    ],
)
def test_exit_status(tmp_path, capsys, source, statuses):
    from estimator_bridge.audit.command import main

    root = write(tmp_path, {"a.py": source})
    for fail_on, status in statuses.items():
        assert main([root, f"--fail_on={fail_on}"]) == status, fail_on


@pytest.mark.parametrize(
    "metadata", [[], None, 3, "x", {"kernelspec": None}, {"kernelspec": {"language": ["python"]}}]
)
@pytest.mark.parametrize("more", [{}, {"worksheets": {"a": 1}}])
def test_a_notebook_with_odd_metadata(tmp_path, metadata, more):
    cell = {"cell_type": "code", "source": "import tensorflow as tf\ntf.contrib.layers\n"}
    notebook = {"cells": [cell], "metadata": metadata, **more}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    report = audit(str(tmp_path))
    assert report.findings or report.passed_over or "language" in json.dumps(metadata)


@pytest.mark.long
def test_files_that_are_no_regular_files_cost_one_line_each(tmp_path, monkeypatch):
    outside, root = tmp_path / "outside.py", tmp_path / "root"
    write(root, {"good.py": "import tensorflow as tf\ntf.Session()\n", "inner/x.py": "y = 1\n"})
    outside.write_text("import tensorflow as tf\ntf.contrib.secret\n")
    os.mkfifo(root / "pipe.py")
    for name, target in [
        ("device.py", "/dev/zero"),
        ("leaves.py", "../outside.py"),
        ("absolute.py", outside),
        ("lost.py", "nowhere.py"),
        ("loop.py", "loop.py"),
        ("stays.py", "inner/x.py"),
    ]:
        (root / name).symlink_to(target)
    monkeypatch.setattr("estimator_bridge.audit.sources._MAX_BYTES", {".py": 1000})
    write(root, {"large.py": "x = 1\n" * 1000})
    name = b"bad\xff\x1b[2J.py"
    with open(os.path.join(os.fsencode(root), name), "wb") as file:
        file.write(b"import tensorflow as tf\ntf.contrib.layers\n")
    report = audit(str(root))
    problems = {path: what for path, _, what in report.passed_over}
    assert set(problems) == {
        "pipe.py", "device.py", "leaves.py", "absolute.py", "lost.py", "loop.py", "large.py"
    }  # fmt: skip
    assert "not a regular file" in problems["pipe.py"]
    assert "outside the folder" in problems["leaves.py"] == problems["absolute.py"]
    assert "larger than" in problems["large.py"]
    assert not any("secret" in finding.symbol.name for finding in report.findings)
    for form in ("text", "json", "html"):
        done = run(str(root), f"--format={form}", f"--output={tmp_path / form}")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        shown = (tmp_path / form).read_text(encoding="utf-8")
        assert "udcff" in shown and ("\x1b" not in shown or form == "html")
    assert "bad\\udcff\\x1b[2J.py" in run(str(root)).stdout


@pytest.mark.parametrize(
    "text",
    [
        "from " + "." * 60_000,
        "from " + " " * 60_000,
        "from a import (\n" * 8_000,
        "from a import (#(\n" * 8_000,
        "from a import " + "(" * 60_000,
        "def f(" * 10_000 + "\n",
        "except " + "a, " * 20_000 + "\n",
        "x" + " " * 60_000 + "y\n",
    ],
    ids=range(8),
)
def test_no_text_takes_quadratic_time(text):
    """A pattern that took quadratic time would take minutes."""
    data = text.encode()
    files._imports(data, frozenset(["tensorflow"]))
    assert sources.parse("a.py", data).tree is None


def test_single_file_and_output_file(tmp_path):
    write(tmp_path, {"a.py": PLAIN + MAIN, "b.py": LOST})
    done = run("a.py", "--format=html", "--output=out.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "LinearRegressor" in text and "tensorrt" not in text


def test_an_output_that_could_not_be_written_is_not_left(tmp_path):
    def lines():
        yield "first"
        raise SignalReceived(signal.SIGTERM)

    with pytest.raises(SignalReceived):
        command._write(lines(), str(tmp_path / "out.txt"))
    assert not (tmp_path / "out.txt").exists()


# Sends Ctrl-C to the processes that parse, as a terminal does.
PARSE = """
import multiprocessing, os, signal, time
from estimator_bridge.audit import files

if __name__ == "__main__":
    results = files._in_processes([("a.py", b"import os", frozenset())] * 200, 2)
    next(results)
    for child in multiprocessing.active_children():
        os.kill(child.pid, signal.SIGINT)
    time.sleep(1)
    print(1 + len(list(results)))
"""


def test_ctrl_c_in_a_terminal_prints_nothing_of_the_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PARSE)
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("200\n", "")


def test_closed_pipe_is_no_error(code_base):
    command = [sys.executable, "-m", "estimator_bridge", "audit", code_base, "--format=json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read().decode()
    assert "Traceback" not in errors and "BrokenPipe" not in errors


def test_audit_runs_without_tensorflow(code_base):
    program = (
        "import sys\nsys.modules['tensorflow'] = sys.modules['numpy'] = None\n"
        "from estimator_bridge.cli import main\nmain(['audit', sys.argv[1]])\n"
        "assert not any(name.startswith(('tensorflow', 'keras')) for name in sys.modules "
        "if sys.modules[name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, code_base], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_only_relevant_files_of_a_large_code_base_are_parsed(tmp_path):
    """Only the relevant files of many are parsed, and all of their uses are found."""
    filler = "import os\n" + "def f(x):\n    return [os.path.join(str(y), 'a') for y in x]\n" * 40
    for number in range(2500):
        path = tmp_path / f"pkg{number // 100}" / f"m{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(filler, encoding="utf-8")
    write(
        tmp_path,
        {
            "core/names.py": "import tensorflow as tf\nest = tf.estimator\n",
            "core/more.py": "from core.names import est as again\n",
            "core/user.py": "from core import more\nmore.again.DNNClassifier([1], [])\n",
            "core/plain.py": "import pkg3.m300\n",
            "core/old.py": "print 'x'\n",
            "core/main.py": "from core import user, plain, old\n" + MAIN,
            "core/bytes.py": "",
        },
    )
    (tmp_path / "core" / "bytes.py").write_bytes(b"x = '\xff'\n")
    started = time.process_time()
    report = audit(str(tmp_path))
    assert time.process_time() - started < 8
    assert report.num_files == 2507 and report.num_parsed < 20
    assert [(one.path, one.symbol.name) for one in report.findings] == [
        ("core/more.py", "tf.estimator"),
        ("core/names.py", "tf.estimator"),
        ("core/user.py", "tf.estimator.DNNClassifier"),
    ]
    assert [path for path, _, _ in report.passed_over] == ["core/bytes.py", "core/old.py"]
    entry = entry_of(report, "core/main.py")
    assert "pkg3/m300.py" in entry.files and "core/names.py" in entry.files
    assert entry.broken[0][0] == "core/old.py"


def test_parallel_parsing_finds_the_same(tmp_path, monkeypatch):
    from estimator_bridge.audit import files

    monkeypatch.setattr(files, "_PARALLEL_BYTES", 0)
    root = write(tmp_path, {f"m{number}.py": OLD for number in range(150)})
    assert audit(root, processes=2).findings == audit(root).findings


def test_legacy_programs_of_the_tests_run_unchanged():
    """Audits the old programs that other tests run with --tf1."""
    report = audit(str(pathlib.Path(__file__).parents[1] / "legacy"))
    assert len(report.entries) >= 7
    wrong = {entry.path: entry.text for entry in report.entries if entry.verdict not in RUNS}
    assert wrong == {}


RUNS = ("today", "plain", "--tf1")


@pytest.mark.long
def test_printed_command_works():
    here = pathlib.Path(__file__).parent / "audit_example"
    command = entry_of(audit(str(here)), "tools/score.py").command
    assert command == "python -m estimator_bridge run --tf1 tools/score.py"
    command = [sys.executable, *command.split()[1:]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=here, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["(2, 1)"]), done.stderr


def test_example_in_the_docs_equals_the_output():
    here = pathlib.Path(__file__).parent
    reference = (here.parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    _, block, _ = reference.split("```\n")
    environment = {**os.environ, "COLUMNS": "92"}
    printed = run("audit_example", cwd=here, env=environment).stdout
    place = 0
    for part in block.split("\n...\n"):
        place = printed.find(part.rstrip("\n"), place)
        assert place >= 0, part


@pytest.mark.parametrize(
    "source",
    [
        "from pkg.generated import *\nuse(generated.flags)\n",
        "from .generated import *\nuse(anything.at_all)\n",
        "import pkg\nloop = pkg.loop.once\nuse(loop)\n",
        "import pkg\nif pkg:\n    loop = pkg.loop.a\nelse:\n    loop = pkg.loop.b\nuse(loop.c)\n",
    ],
)
def test_names_that_lead_back_to_themselves(tmp_path, source):
    more = "from pkg import anything, loop\nanything.at_all()\nloop()\n" + PLAIN + MAIN
    root = write(tmp_path, {"pkg/__init__.py": source, "main.py": more})
    assert entry_of(audit(root), "main.py").verdict == "plain"


@pytest.mark.parametrize(
    "code",
    [
        "tf.estimator.RunConfig()",
        "tf.contrib.layers.fully_connected(x, 3)",
        "def f():\n    return tf.placeholder(tf.float32)",
        "tf.reduce_sum(x)",
        "os.path.join(x)",
    ],
)
def test_names_of_tensorflow_that_come_by_a_star_import_are_found(tmp_path, code):
    common, more = (
        "import os\nimport tensorflow as tf\nx = 1\n",
        f"tf.estimator.ModeKeys.EVAL\n{code}\n{MAIN}",
    )
    star = audit(
        write(tmp_path / "a", {"common.py": common, "main.py": "from common import *\n" + more})
    )
    plain = audit(write(tmp_path / "b", {"common.py": common, "main.py": common + more}))

    def tell(result):
        uses = [(one.symbol.name, one.through) for one in result.findings if one.path == "main.py"]
        return entry_of(result, "main.py").verdict, [use for use in uses if "." in use[0]]

    assert tell(star) == tell(plain)


def test_a_long_chain_of_star_imports_is_followed(tmp_path):
    files = {f"m{number}.py": f"from m{number + 1} import *\n" for number in range(900)}
    files["m900.py"] = "from tensorflow.estimator import RunConfig\n"
    files["main.py"] = "from m0 import *\nRunConfig()\n" + MAIN
    assert entry_of(audit(write(tmp_path, files)), "main.py").verdict == "plain"


PIECES = """\
import tensorflow as tf
import pkg.a as b
from . import a
from .. import pkg
from ... import x
from .a import *
from pkg import *
from pkg.b import *
from pkg.absent import *
from .absent.deep import a as tf
from tensorflow import *
from tensorflow.contrib import layers as a
from tensorflow.python.lib.io import file_io
a = b
b = a.a.b
tf = a.tf if x else b
def f(a, *b, c=tf.x, **d): return a.b
class a(b.a, tf.estimator.Estimator): x = tf.y
self.a = tf.contrib
getattr(tf, "estimator").Estimator()
getattr(a, 'b' + c)
__import__("a.b")
importlib.import_module(".a", "pkg")
tf.reduce_sum(a, keep_dims=True)
a.make_one_shot_iterator()
global a
lambda tf: tf.a
[tf for tf in tf.a]
async def a(): await tf.b
try: import a.b
except ImportError: b = None
if __name__ == "__main__": a.b.tf.estimator.Estimator(b)
print "a"
del tf
match a:
    case tf.b: a
""".splitlines()


@pytest.mark.long
def test_any_code_base_is_audited(tmp_path):
    names = ("pkg/__init__.py", "pkg/a.py", "pkg/b.py", "a.py", "b/__init__.py", "tensorflow/x.py")
    random = randomness.Random(7)
    for number in range(150):
        files = {}
        for name in names:
            text = "\n".join(random.choices(PIECES, k=random.randrange(12)))
            if random.random() < 0.2:
                cut = random.randrange(len(text) + 1)
                text = text[:cut] + random.choice("(\t\0\\'\"\ufeff:é") + text[cut:]
            files[name] = text
        files["good.py"] = PLAIN + MAIN
        report = audit(write(tmp_path / str(number), files))
        assert entry_of(report, "good.py").verdict == "plain", files
        to_json(report)
        render_text(report, 80)
        render_html(report)


@pytest.mark.parametrize("columns", [30, 50, 80])
def test_the_line_of_progress_fits_the_terminal(monkeypatch, columns):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", Terminal())
    clock = iter([0.0, 1.0, 3.0])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(clock))
    progress = command._Progress()
    progress("reading", 0, 12_000)
    progress("reading", 4_000, 12_000)
    progress.clear()
    texts = ["audit: reading: 4,000 of 12,000 files", "4 s left", "2,000 files/s"]
    shown = {30: texts[0][:29], 50: " · ".join(texts[:2]), 80: " · ".join(texts)}[columns]
    lines = sys.stderr.getvalue().split("\r")
    assert lines == ["", "audit: reading", shown, " " * len(shown), ""]
