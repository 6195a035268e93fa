"""What parses in Python 3 but fails there, and packages that a program needs."""

import ast
import textwrap

import pytest

from estimator_bridge.audit import audit
from estimator_bridge.audit.outdated import find_outdated

pytestmark = [pytest.mark.newest, pytest.mark.quick]


def stops(source):
    return [stop.what for stop in find_outdated(ast.parse(textwrap.dedent(source))).stops]


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
        ("found.has_key(key)", "no .has_key(); write key in"),
        ("from itertools import izip", "no itertools.izip; write zip"),
        ("import os\nos.getcwdu()", "no os.getcwdu; write os.getcwd"),
        ("sorted(x, cmp=compare)", "sorted() has no cmp; write key=functools.cmp_to_key(...)"),
        ("x.sort(cmp=compare)", "sort() has no cmp"),
        ("csv.reader(open(path, 'rb'))", "csv reads and writes text; open the file without b"),
        ("print >>sys.stderr, x", "print is a function"),
        ("print('%s') % x", "print is a function"),
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
        "csv.reader(open(path)), reader(open(path, 'rb'))",
        "pairs.sort(key=first)",
        "from six.moves.urllib.parse import urlencode\nurlencode(x)",
        "print('%s' % x)",
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


def test_what_tf1_supplies_is_no_edit_and_divisions_are_named(tmp_path):
    main = (
        "import tensorflow as tf\nimport helper\nimport cPickle\n"
        "if __name__ == '__main__':\n    tf.app.run()\n"
    )
    helper = (
        "def f(d):\n    for i in xrange(len(d) / 2):\n        unicode(i)\n"
        "    return d.iteritems(), 1 / 2., x / y, int(x) / 2\n"
    )
    (tmp_path / "main.py").write_text(main)
    (tmp_path / "helper.py").write_text(helper)
    (entry,) = audit(str(tmp_path)).entries
    check = "Python 2 divides integers without a fraction: check / in helper.py, {}, and write //"
    assert entry.text == f"runs unchanged with --tf1. {check.format('lines 2 and 4')} for it"
    assert entry.command == "python -m estimator_bridge run --tf1 main.py"
    # A name that the file asks for is not supplied in it.
    asks = "def g(x):\n    try:\n        unicode\n    except NameError:\n        return x\n"
    (tmp_path / "helper.py").write_text(helper + asks + "execfile(x)\n")
    (entry,) = audit(str(tmp_path)).entries
    assert entry.text.startswith("needs these 2 edits, then runs with --tf1. Python 2 divides")
    assert [text.partition(": Python 2: ")[2] for _, text in entry.broken] == [
        "there is no unicode; write str",
        "there is no execfile; write exec(open(...).read())",
    ]
    (tmp_path / "helper.py").write_text("from __future__ import division\n" + helper)
    (entry,) = audit(str(tmp_path)).entries
    assert entry.text == "runs unchanged with --tf1"


def test_the_syntax_of_python_2_comes_with_its_divisions(tmp_path):
    (tmp_path / "main.py").write_text("import tensorflow as tf\nprint 'a/b'\nn = rows / size\n")
    ((_, line, why),) = audit(str(tmp_path)).passed_over
    assert line == 2 and why == (
        "Python 2 source (print statement); convert it with 2to3: pip install fissix, then python "
        "-m fissix -w -n FILE. Python 2 divides integers without a fraction: check / in line 3, "
        "and write // for it"
    )


def test_a_program_with_gan_needs_the_package_that_continues_it(tmp_path):
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\n"
        "losses = tf.contrib.gan.losses.wargs\n"
        "tf.contrib._warning = None\n"
        "if __name__ == '__main__':\n    losses.wasserstein_generator_loss(1.0)\n"
    )
    (entry,) = audit(str(tmp_path)).entries
    assert entry.text.startswith("runs unchanged with --tf1; needs tensorflow-gan (`pip install ")
