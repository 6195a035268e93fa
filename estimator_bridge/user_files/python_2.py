"""Recognises programs for Python 2: their syntax, and names that only Python 2 has."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Optional

__all__ = [
    "ATTRIBUTES",
    "DICT_METHODS",
    "DIVISION",
    "MODULES",
    "NAMES",
    "REMEDY",
    "describe_syntax",
    "find_divisions",
    "find_names",
    "find_names_in",
    "format_lines",
]

# What Python 2 had under another name. Under `run --tf1`, programs get these
# (process/python_2.py). Built-in name -> what to write.
NAMES = {
    "basestring": "str", "cmp": "(a > b) - (a < b)", "long": "int", "raw_input": "input",
    "reduce": "functools.reduce", "reload": "importlib.reload", "unichr": "chr", "unicode": "str",
    "xrange": "range",
}  # fmt: skip
# Module -> the module that has its names.
MODULES = {
    "ConfigParser": "configparser", "HTMLParser": "html.parser", "Queue": "queue",
    "StringIO": "io", "__builtin__": "builtins", "cPickle": "pickle", "cStringIO": "io",
    "commands": "subprocess", "cookielib": "http.cookiejar", "copy_reg": "copyreg",
    "httplib": "http.client", "urllib2": "urllib.request", "urlparse": "urllib.parse",
}  # fmt: skip
# Attribute of a module -> what to write.
ATTRIBUTES = {
    "itertools.ifilter": "filter", "itertools.ifilterfalse": "itertools.filterfalse",
    "itertools.imap": "map", "itertools.izip": "zip",
    "itertools.izip_longest": "itertools.zip_longest", "os.getcwdu": "os.getcwd",
    "string.letters": "string.ascii_letters", "string.lowercase": "string.ascii_lowercase",
    "string.maketrans": "str.maketrans", "string.uppercase": "string.ascii_uppercase",
    "sys.maxint": "sys.maxsize", "sys.setdefaultencoding": "pass",
    "urllib.quote": "urllib.parse.quote",
    "urllib.quote_plus": "urllib.parse.quote_plus", "urllib.unquote": "urllib.parse.unquote",
    "urllib.unquote_plus": "urllib.parse.unquote_plus",
    "urllib.urlencode": "urllib.parse.urlencode", "urllib.urlopen": "urllib.request.urlopen",
    "urllib.urlretrieve": "urllib.request.urlretrieve",
}  # fmt: skip
# Method of dictionaries -> its name in Python 3.
DICT_METHODS = {
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys",
    "viewitems": "items", "viewvalues": "values", "viewkeys": "keys",
}  # fmt: skip

REMEDY = "convert it with 2to3: pip install fissix, then python -m fissix -w -n FILE"
_TABS_REMEDY = "first expand the tabs: expand -i -t 8 FILE > NEW"
# What to say of lines with a division.
DIVISION = "Python 2 divides integers without a fraction: check / in {}, and write // for it"
# How many lines are named.
_NAMED = 12
# Characters of a line that are searched; some patterns take quadratic time.
_SEARCHED = 400
_PATTERNS = (
    (re.compile(r"^\s*print\s+[^\s=(.,)]|^\s*print\s*$|^\s*print\s*>>"), "print statement"),
    (
        re.compile(r"^\s*(?:elif|else|except|for|if|try|while)\b[^'\"]*:\s*print\s+[\w'\"]"),
        "print statement",
    ),
    (re.compile(r"^\s*except\s+[\w.()\s,]+,\s*\w+\s*:"), "except X, e"),
    (re.compile(r"^\s*raise\s+[\w.]+\s*,"), "raise X, message"),
    (re.compile(r"^\s*exec\s+['\"\w]"), "exec statement"),
    (re.compile(r"\bur['\"]"), "ur'' string"),
    (re.compile(r"[\w)\]'\"]\s*<>\s*[\w(\['\"]"), "operator <>"),
    (re.compile(r"(?<![\w.])0[0-7]+(?![\w.])|(?<![\w.])\d+[lL]\b"), "number like 0777 or 10L"),
    (re.compile(r"\blambda\s*\(|def\s+\w+\s*\([^)]*\("), "tuple parameter"),
    (re.compile(r"`[^`\n]+`"), "backticks"),
)
_INDENTED = re.compile(r"^(?: +\S|\t)", re.M)
# A division, outside strings and comments.
_DIVISION = re.compile(
    r"(\"\"\"|''')(?:\\.|(?!\1).)*\1|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*"
    # Nor is one side a float.
    r"|(?:\b\d+\.\d*|\.\d+)\s*/|/\s*(?:\d*\.\d|\d+\.|float\()|//|(?P<division>/)",
    re.S,
)
_TRUE_DIVISION = re.compile(r"^from\s+__future__\s+import\s[^#]*?\bdivision\b", re.M)
# What a `try` catches that asks whether a name exists; without a type, it catches everything.
_ASKS = frozenset(("NameError", "UnboundLocalError"))
_ASKS_IN_ONE_LINE = frozenset(("", "Exception", "BaseException", "StandardError"))
_ANY_NAME = re.compile(rf"\b(?:{'|'.join(NAMES)})\b")


def describe_syntax(text: str, error: SyntaxError) -> str:
    """Returns what of Python 2 a syntax error is about, and the remedy; "" if it is another error.

    Args:
      text: the source.
      error: the error.
    """
    line = error.lineno or 0
    lines = text.splitlines()
    wrong = lines[line - 1][:_SEARCHED] if 0 < line <= len(lines) else ""
    for pattern, name in _PATTERNS:
        if pattern.search(wrong):
            return f"Python 2 source ({name}); {REMEDY}"
    if isinstance(error, IndentationError):
        indents = {one[0] for one in _INDENTED.findall(text)}
        if isinstance(error, TabError) or len(indents) == 2:
            return f"Python 2 source (tabs and spaces mixed); {_TABS_REMEDY}"
    return ""


def find_divisions(text: str) -> list[int]:
    """Returns the lines, from 1, with a `/` that drops the fraction of integers in Python 2.

    The types of the operands are not known: where neither is a float, the line is returned.

    Args:
      text: a source, which Python 3 may not be able to parse.
    """
    if _TRUE_DIVISION.search(text):
        return []
    found = (one for one in _DIVISION.finditer(text) if one["division"])
    return sorted({text.count("\n", 0, one.start()) + 1 for one in found})


def format_lines(lines: Sequence[int]) -> str:
    """Returns "line 3", "lines 3, 5 and 7", or the first lines and the number of the others.

    Args:
      lines: numbers of lines.
    """
    words = [str(line) for line in lines]
    if len(words) == 1:
        return f"line {words[0]}"
    if len(words) > _NAMED:
        return f"lines {', '.join(words[:_NAMED])} and {len(words) - _NAMED} more"
    return f"lines {', '.join(words[:-1])} and {words[-1]}"


def find_names(text: str) -> set[str]:
    """Returns the built-in names of Python 2 that a module uses and never asks for.

    A module asks for a name if it uses it in a `try` that catches the NameError, or under a
    condition: it has an alternative without the name.

    Args:
      text: source of the module.
    """
    if not _ANY_NAME.search(text):
        return set()
    try:
        return find_names_in(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return set()


def find_names_in(tree: ast.Module) -> set[str]:
    """Returns the names that find_names returns, of a parsed module.

    Args:
      tree: its syntax tree.
    """
    used = set(_used(tree))
    return used and used - {name for part in _asking(tree) for name in _used(part)}


def _used(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in NAMES:
            yield node.id


def _asking(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields the statements that run only if names exist, or only in one version of Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            caught = {name for handler in node.handlers for name in _types(handler.type)}
            is_line = len(node.body) == 1 and not hasattr(node.body[0], "body")
            if caught & _ASKS or (is_line and caught & _ASKS_IN_ONE_LINE):
                yield from node.body
        elif isinstance(node, (ast.If, ast.IfExp)) and _asks_version(node.test):
            yield from ast.iter_child_nodes(node)


def _types(kind: Optional[ast.expr]) -> Iterator[str]:
    kinds: Sequence[Optional[ast.expr]] = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    for one in kinds:
        yield "" if one is None else getattr(one, "attr", getattr(one, "id", "?"))


def _asks_version(test: ast.expr) -> bool:
    words = ast.unparse(test).lower()
    return any(word in words for word in ("version", "py2", "py3", "python2", "python3"))
