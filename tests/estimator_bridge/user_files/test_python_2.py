"""Programs for Python 2 are recognised by their syntax and names."""

import ast

import pytest

from estimator_bridge.user_files import python_2

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("print 'a'", "print statement"),
        ("print >>f, 'a' % x, 0777", "print statement"),
        ("for x in y: print x,", "print statement"),
        ("if a <> 'b': pass", "operator <>"),
        ("try:\n    f()\nexcept (A, B), e:\n    pass", "except X, e"),
        ("raise A, 'b'", "raise X, message"),
        ("exec code in names", "exec statement"),
        ("os.chmod(p, 0644)", "number like"),
        ("x = 10L", "number like"),
        ("f = lambda (a, b): a", "tuple parameter"),
        ("x = `y`", "backticks"),
        ("if a:\n\tf()\n        g()", "tabs and spaces"),
        ("if a:\n        f()\n\tg()", "tabs and spaces"),
    ],
)
def test_syntax_of_python_2_is_named(source, what):
    with pytest.raises(SyntaxError) as caught:
        ast.parse(source)
    assert python_2.describe_syntax(source, caught.value).startswith(f"Python 2 source ({what}")


@pytest.mark.parametrize(
    "source", ["x = (", "x = 'a: print it", "def f(:\n    pass", "if a:\nf()", "if a:\n  f()\n g()"]
)
def test_other_errors_are_not(source):
    with pytest.raises(SyntaxError) as caught:
        ast.parse(source)
    assert python_2.describe_syntax(source, caught.value) == ""


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("unicode(x)", {"unicode"}),
        ("try:\n    run(long(3))\nexcept KeyboardInterrupt:\n    pass", {"long"}),
        ("try:\n    f()\n    unicode(x)\nexcept Exception as e:\n    log(e)", {"unicode"}),
        ("try:\n    unicode\nexcept NameError:\n    unicode = str\nunicode(x)", set()),
        ("try:\n    text = unicode\nexcept:\n    text = str", set()),
        ("try:\n    unicode\nexcept (NameError, KeyError):\n    pass\nlong(1)", {"long"}),
        ("import six\nif six.PY2:\n    text = unicode\nelse:\n    text = str", set()),
        ("import sys\ntext = str if sys.version_info[0] > 2 else unicode", set()),
        ("x = 'unicode'", set()),
        ("print unicode", set()),
    ],
)
def test_names_are_found_unless_the_module_asks_for_them(source, names):
    assert python_2.find_names(source) == names


def test_divisions_are_found_outside_strings_and_of_no_floats():
    source = "print 'a/b'\nn = a / b  # c/d\nx = 'it\\'s' + \"/\"\n'''/\n/'''\ny = a // b\nz /= 2\n"
    assert python_2.find_divisions(source) == [2, 7]
    assert python_2.find_divisions("x = a / 2.0\ny = 1. / a\nz = a / float(b)\n") == []
    assert python_2.find_divisions("from __future__ import print_function, division\na / b") == []


def test_lines_are_listed_up_to_a_dozen():
    assert python_2.format_lines([3]) == "line 3"
    assert python_2.format_lines([3, 5, 7]) == "lines 3, 5 and 7"
    assert python_2.format_lines(range(1, 21)).endswith("11, 12 and 8 more")
