"""`run --tf1` gives a program the names of Python 2 that Python 3 has under another name."""

import subprocess
import sys
import textwrap

import pytest

from estimator_bridge.process import python_2

pytestmark = [pytest.mark.newest, pytest.mark.quick]

FILES = {
    "trainer/__init__.py": "",
    "trainer/near.py": "from parts.deep import N\nimport numbers_of\nM = N + numbers_of.K\n",
    "trainer/numbers_of.py": "K = 4\n",
    "trainer/parts/__init__.py": "import numbers_of\n",
    "trainer/parts/numbers_of.py": "K = 50\n",
    "trainer/parts/deep.py": "import numbers_of\nN = numbers_of.K\n",
    "trainer/asking.py": """
        import itertools, urllib
        try:
            unicode
            is_old = True
        except NameError:
            is_old = False
        try:
            import cPickle, Queue
            is_old = True
        except ImportError:
            import pickle as cPickle
        try:
            from StringIO import StringIO
        except ImportError:
            from io import BytesIO as StringIO
        try:
            import numbers_of
            is_old = True
        except ImportError:
            from . import numbers_of
        try:
            from urllib import quote
            is_old = True
        except ImportError:
            from urllib.parse import quote
        try:
            from itertools import izip
            is_old = True
        except ImportError:
            izip = zip
        """,
    "trainer/task.py": """
        import sys
        reload(sys)
        sys.setdefaultencoding("utf-8")
        import __builtin__, ConfigParser, Queue, StringIO, cPickle, cStringIO, commands, csv
        import httplib, itertools, os, string, urllib, urllib2, urlparse
        import near
        from urllib import quote
        from trainer import asking

        assert near.M == 54 and near.__name__ == "trainer.near", near
        assert not {"near", "parts", "numbers_of"} & set(sys.modules)
        assert not asking.is_old and asking.StringIO().write(b"a") == 1
        for name in ("Queue", "cPickle", "StringIO"):
            assert name not in sys.modules, name
        assert isinstance(u"a", unicode) and isinstance("a", basestring) and long("3") == 3
        assert unichr(65) == "A" and reduce(lambda a, b: a + b, [1, 2]) == 3 and cmp(1, 2) == -1
        assert list(xrange(2)) == [0, 1] and raw_input is input
        found = {"a": 1}
        assert found.has_key("a") and list(found.iteritems()) == [("a", 1)]
        assert next(found.itervalues()) == 1
        assert next(found.iterkeys()) == "a" and ("a", 1) in found.viewitems()
        assert csv.reader(["a,b"]).next() == ["a", "b"] and (c for c in "a").next() == "a"
        assert os.getcwdu() == os.getcwd() and sys.maxint == sys.maxsize
        assert list(itertools.izip([1], itertools.imap(str, [2]))) == [(1, "2")]
        assert string.letters[:3] + string.uppercase[:1] == "abcA"
        assert quote("a b") == urllib.quote("a b") == "a%20b"
        assert urllib.urlencode({"a": 1}) == "a=1" and urllib2.Request("http://a/").host == "a"
        assert urlparse.urlparse("http://a/b").netloc == "a" and httplib.HTTPConnection
        assert commands.getoutput("echo a") == "a" and __builtin__.len([]) == 0
        parser = ConfigParser.SafeConfigParser()
        parser.readfp(StringIO.StringIO("[a]\\nb=1\\n"))
        assert parser.getint("a", "b") == 1 and Queue.Queue().empty()
        assert cPickle.loads(cPickle.dumps(1)) == 1 and cStringIO.StringIO("a").read() == "a"
        assert not hasattr(urllib, "no_such")
        # Libraries get the names of Python 3.
        import json.decoder, types
        library = types.ModuleType("library")
        code = compile("import itertools\\ndef has(): return hasattr(itertools, 'izip')\\n"
                       "def load(): import cPickle", json.__file__, "exec")
        exec(code, vars(library))
        assert not library.has() and hasattr(itertools, "izip")
        try:
            library.load()
        except ImportError as error:
            print("as in Python 3:", error)
        """,
}


def run(folder, *args):
    return subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "run", "--tf1", *args],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(textwrap.dedent(text))


def test_names_of_python_2_are_those_of_python_3_unless_code_asks_for_them(tmp_path):
    write(tmp_path, FILES)
    done = run(tmp_path, "-m", "trainer.task")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "as in Python 3: No module named 'cPickle'\n"


def test_the_syntax_of_python_2_is_an_error_of_one_line(tmp_path):
    write(tmp_path, {"task.py": "import helper\n", "helper.py": "def f(x):\n    print 'a', x\n"})
    done = run(tmp_path, "task.py")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and not done.stdout
    assert line.startswith(
        "estimator_bridge run: helper.py, line 2: Python 2 source (print statement); convert it"
    )
    assert "python -m fissix -w -n helper.py; `python -m estimator_bridge audit .` lists" in line


def test_a_failure_that_python_2_did_not_have_has_advice(tmp_path):
    write(tmp_path, {"task.py": "rows = [1, 2, 3]\nprint(rows[:len(rows) / 2])\n"})
    done = run(tmp_path, "task.py")
    assert done.returncode == 1
    *_, error, advice = done.stderr.splitlines()
    assert error.startswith("TypeError: slice indices")
    assert advice.endswith("there, / of two integers gave an integer: write //.")


def error_of(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each case has its own kind
        call()
    return caught.value


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: {}.keys()[0], "write list(...) around them"),
        (lambda: map(str, [])[0], "write list(...) around them"),
        (lambda: len(zip([])), "write list(...) around them"),
        (lambda: range(2) + [1], "write list(...) around them"),
        (lambda: {}.keys().sort(), "write list(...) around them"),
        (lambda: range(4 / 2), "write //"),
        (lambda: list("a")[2 / 2], "write //"),
        (lambda: sorted([1], cmp=None), "functools.cmp_to_key"),
        (lambda: [1].sort(cmp=None), "functools.cmp_to_key"),
        (lambda: sorted([1], lambda a, b: 0), "functools.cmp_to_key"),
        (lambda: [1].sort(lambda a, b: 0), "functools.cmp_to_key"),
        (lambda: b"\xff".decode("ascii"), "encoding='latin1'"),
    ],
)
def test_failures_of_lists_and_divisions_have_advice(call, advice):
    assert advice in python_2.describe(error_of(call), (1, 15))
    # A program for a later TensorFlow was never one for Python 2.
    assert python_2.describe(error_of(call), (2, 2)) == ""


@pytest.mark.parametrize(
    ("source", "name"),
    [("import cPickle", "cPickle"), ("{}.has_key(1)", "has_key"), ("unicode(1)", "unicode")],
)
def test_without_tf1_a_name_of_python_2_has_advice(source, name):
    error = error_of(lambda: exec(source, {}))  # noqa: S102 - it must fail as a program does
    line = python_2.describe(error, None)
    assert line.startswith(f"estimator_bridge: {name} is a name of Python 2") and "--tf1" in line


def test_other_failures_have_none():
    assert python_2.describe(error_of(lambda: {}["a"]), (1, 15)) == ""
    assert python_2.describe(error_of(lambda: {}.items().no_such), None) == ""
    assert python_2.describe_syntax(error_of(lambda: compile("x = (", "no_file.py", "exec"))) == ""
