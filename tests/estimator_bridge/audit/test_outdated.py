"""What parses in Python 3 but fails there, and packages that a program needs."""

import ast
import textwrap

import pytest

from estimator_bridge.audit import audit
from estimator_bridge.audit.outdated import find_outdated

pytestmark = [pytest.mark.newest, pytest.mark.quick]


def stops(source):
    return [text for _, text in find_outdated(ast.parse(textwrap.dedent(source))).stops]


@pytest.mark.parametrize(
    "source, message",
    [
        ("for key, value in found.iteritems(): pass", "no .iteritems(); write .items()"),
        ("len(map(str, x))", "map(...) has no len(); write list(...) around it"),
        ("len(zip(x, y))", "zip(...) has no len()"),
        ("filter(f, x)[0]", "filter(...) has no index"),
        ("names = d.keys()[0]", ".keys() has no index"),
        ("d.keys().sort()", ".keys() has no sort(); write sorted(...)"),
        ("range(3) + [1]", "a range cannot be added"),
        ("xrange(3)", "there is no xrange; write range"),
        ("import cPickle as pickle", "there is no module cPickle; import pickle"),
        ("from ConfigParser import SafeConfigParser", "no module ConfigParser"),
    ],
)
def test_what_fails_in_python_3_is_named(source, message):
    (found,) = stops(source)
    assert found.startswith("Python 2: ") and message in found


@pytest.mark.parametrize(
    "source",
    [
        "import six\nsix.iteritems(found)",
        "from six.moves import xrange\nxrange(3)",
        "try:\n    unicode\nexcept NameError:\n    unicode = str\nunicode(1)",
        "try:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle",
        "import sys\nif sys.version_info[0] < 3:\n    range = xrange\n    import Queue",
        "class Own:\n    def iteritems(self): pass\nOwn().iteritems()",
        "import pandas\nframe.keys()[0]",
        "len(list(map(str, x)))",
        "len(d.keys())",
        "def f(unicode): return unicode",
        "from .commands import run",
    ],
)
def test_what_works_or_is_guarded_is_left_out(source):
    assert stops(source) == []


def test_the_verdict_counts_places_and_names_packages(tmp_path):
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\nimport tensorflow_ranking\nimport helper\n"
        "if __name__ == '__main__':\n    tf.estimator.RunConfig()\n"
    )
    (tmp_path / "helper.py").write_text("def f(d):\n    return d.iteritems()\n")
    report = audit(str(tmp_path))
    (entry,) = report.entries
    assert entry.text.startswith("needs this 1 edit; needs tensorflow-ranking, whose requirements")
    assert entry.verdict == "edits" and not entry.command
    assert entry.broken == (
        ("helper.py", "line 2: Python 2: dictionaries have no .iteritems(); write .items()"),
    )
    # The file was read.
    assert not report.passed_over
    (tmp_path / "helper.py").write_text("def f(d):\n    return d.items()\n")
    (entry,) = audit(str(tmp_path)).entries
    assert entry.text.startswith("runs unchanged under the bridge; needs tensorflow-ranking, ")
    assert entry.command == "python -m estimator_bridge run main.py"


def test_a_program_with_gan_needs_the_package_that_continues_it(tmp_path):
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\n"
        "losses = tf.contrib.gan.losses.wargs\n"
        "tf.contrib._warning = None\n"
        "if __name__ == '__main__':\n    losses.wasserstein_generator_loss(1.0)\n"
    )
    (entry,) = audit(str(tmp_path)).entries
    assert entry.text.startswith("runs unchanged with --tf1; needs tensorflow-gan (`pip install ")
