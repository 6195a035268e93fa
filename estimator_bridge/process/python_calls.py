"""Calls of Python's standard library that Python 3.8 to 3.13 refuse, as Python 3.7 took them."""

import array
import base64
import builtins
import functools
import importlib
import importlib.abc
import importlib.util
import io
import json
import locale
import math
import random
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable, Set
from typing import Any

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.special_methods import add_method
from estimator_bridge.process import local_variables
from estimator_bridge.process.importing import call_when_imported

__all__ = ["NAMES", "install"]

# (owner, name, value) of each name that Python had.
NAMES = [
    (threading.Thread, "isAlive", threading.Thread.is_alive),
    (base64, "encodestring", base64.encodebytes),
    (base64, "decodestring", base64.decodebytes),
    (sys, "setcheckinterval", lambda interval: None),
    (locale, "format", locale.format_string),
]

# Module that Python has removed -> the package in which others keep it.
_PACKAGES = {
    "audioop": "audioop-lts",
    **{
        name: f"standard-{name}"
        for name in (
            *("aifc", "asynchat", "asyncore", "cgi", "cgitb", "chunk", "mailcap", "nntplib"),
            *("smtpd", "sndhdr", "sunau", "telnetlib", "uu", "xdrlib"),
        )
    },
}
_GLOBAL_FLAGS = re.compile(r"\(\?([aiLmsux]+)\)")


def install() -> None:
    """Makes the functions take these calls, where they no longer do."""
    random.Random.sample = _sample(random.Random.sample)  # type: ignore[method-assign]
    random.Random.shuffle = _shuffle(random.Random.shuffle)  # type: ignore[method-assign]
    random.Random.randrange = _of_integers(random.Random.randrange)  # type: ignore[method-assign]
    random.Random.seed = _seed(random.Random.seed)  # type: ignore[method-assign]
    # The functions of the module are methods of one generator.
    for name in ("sample", "shuffle", "randrange", "randint", "seed"):
        setattr(random, name, getattr(random._inst, name))
    math.factorial = _of_integers(math.factorial)
    json.load, json.loads = _without_encoding(json.load), _without_encoding(json.loads)
    builtins.open = io.open = _Open(builtins.open)
    local_variables.install()
    if sys.version_info >= (3, 11):
        re._compile = _move_flags(re._compile)  # type: ignore[attr-defined]
    _add(array.array, tostring=array.array.tobytes, fromstring=array.array.frombytes)
    call_when_imported("asyncio", _asyncio)
    call_when_imported("xml.etree.ElementTree", _element_tree)
    call_when_imported("html.parser", _html_parser)
    sys.meta_path.append(_Adviser())
    # Python 3.7 showed none of these.
    warnings.filterwarnings(
        "ignore", r'.*invalid escape sequence|"is( not)?" with', category=SyntaxWarning
    )


def _add(kind: type, **methods: Callable[..., Any]) -> None:
    """Adds methods to a class written in C, if it has none of these names."""
    for name, method in methods.items():
        if not hasattr(kind, name):
            # `list` alone would be no method.
            add_method(kind, name, lambda self, *args, _method=method: _method(self, *args))


def _asyncio() -> None:
    import asyncio

    set_missing(asyncio, coroutine=types.coroutine)


def _element_tree() -> None:
    from xml.etree import ElementTree

    _add(ElementTree.Element, getchildren=list, getiterator=ElementTree.Element.iter)
    set_missing(ElementTree.ElementTree, getiterator=ElementTree.ElementTree.iter)


def _html_parser() -> None:
    from html import unescape
    from html.parser import HTMLParser

    set_missing(HTMLParser, unescape=lambda self, text: unescape(text))


def _sample(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def sample(self: Any, population: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(population, Set):
            population = tuple(population)
        return original(self, population, *args, **kwargs)

    return sample


def _shuffle(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def shuffle(self: Any, x: Any, random: Any = None) -> None:
        if random is None:
            original(self, x)
            return
        for place in reversed(range(1, len(x))):
            other = int(random() * (place + 1))
            x[place], x[other] = x[other], x[place]

    return shuffle


def _seed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        if a is not None and not isinstance(a, (int, float, str, bytes, bytearray)):
            a = hash(a)
        original(self, a, version)

    return seed


def _of_integers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes whole numbers of type float too."""

    @functools.wraps(original)
    def call(*args: Any) -> Any:
        return original(
            *(int(one) if isinstance(one, float) and one.is_integer() else one for one in args)
        )

    return call


def _without_encoding(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        # Python 3.1 to 3.8 ignored it.
        kwargs.pop("encoding", None)
        return original(*args, **kwargs)

    return load


class _Open:
    """open, which takes the mode U for all ends of lines; no function, which would be a method."""

    def __init__(self, original: Callable[..., Any]):
        self._original = original
        functools.update_wrapper(self, original)

    def __call__(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if "U" in mode:
            mode = mode.replace("U", "")
            mode = mode if "r" in mode else f"r{mode}"
        return self._original(file, mode, *args, **kwargs)


def _move_flags(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns re._compile, which takes flags of the whole expression at any place."""

    @functools.wraps(original)
    def _compile(pattern: Any, flags: Any) -> Any:
        try:
            return original(pattern, flags)
        except re.error as error:
            if "global flags not at the start" not in str(error) or not isinstance(pattern, str):
                raise
            found = "".join(sorted(set("".join(_GLOBAL_FLAGS.findall(pattern)))))
            return original(f"(?{found})" + _GLOBAL_FLAGS.sub("", pattern), flags)

    return _compile


class _Adviser(importlib.abc.MetaPathFinder):
    """Names the package that has a module which Python has removed, where none is installed."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        del path, target
        if fullname in _PACKAGES and not _is_only_asked():
            message = f"No module named '{fullname}', which Python 3.12 or 3.13 removed: "
            message += f"pip install {_PACKAGES[fullname]}"
            raise ModuleNotFoundError(message, name=fullname)


def _is_only_asked() -> bool:
    """Tells whether importlib.util.find_spec asks, which returns None for missing modules."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
        if frame.f_code is importlib.util.find_spec.__code__:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
