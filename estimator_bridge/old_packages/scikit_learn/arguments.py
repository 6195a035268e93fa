"""Takes the arguments of scikit-learn 0.17 to 0.24: by position, and those that were renamed.

`orders.json` has the order in which 0.21.3 took the arguments of each public class and function,
and after a bar those that only 0.19.2 took. Most are keyword-only since 1.0.
"""

import functools
import importlib.resources
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

from estimator_bridge.old_packages.scikit_learn import changes
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install", "install_set_params", "keep"]


class _Arguments:
    """Converts the arguments of one callable.

    Args:
      function: the callable; a method's `self` is not among the arguments.
      name: its name, or the class's.
      order: names of the old arguments, in order; after a bar, those without a position.
    """

    def __init__(self, function: Callable[..., Any], name: str, order: str):
        self._function = function
        self._name = name
        positions, _, others = order.partition("|")
        self._order = positions.split()
        self._old = {*self._order, *others.split()}
        # Old arguments that instances keep as attributes.
        self.kept: Sequence[str] = ()

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names that the callable takes today."""
        found = inspect.signature(self._function).parameters.values()
        return frozenset(one.name for one in found if one.kind != one.VAR_KEYWORD)

    @functools.cached_property
    def limit(self) -> float:
        """The number of arguments that the callable takes by position today."""
        found = inspect.signature(self._function).parameters.values()
        if any(one.kind == one.VAR_POSITIONAL for one in found):
            return float("inf")
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return sum(one.kind in kinds and one.name != "self" for one in found)

    @property
    def differ(self) -> bool:
        """Whether the callable took other arguments or values than today."""
        more = self.limit < len(self._order) or not self._old <= self.names
        return more or not self._old.isdisjoint(changes.VALUES)

    def convert(
        self, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Returns the arguments of today; unknown ones as they are, for the package's own error.

        Args:
          arguments: those by position.
          options: those by name.
        """
        options = dict(options)
        # A removed argument can change what another one means, which then needs its name.
        by_name = any(name in self._old and name not in self.names for name in options)
        if (by_name or self.limit < len(arguments)) and len(arguments) <= len(self._order):
            named = dict(zip(self._order, arguments))
            if not named.keys() & options.keys():
                arguments, options = (), {**named, **options}
        values = [
            changes.replace_value(self._name, name, value) if name in changes.VALUES else value
            for name, value in zip(self._order, arguments)
        ]
        return [*values, *arguments[len(values) :]], self.rename(options)

    def rename(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the named arguments of today.

        Args:
          options: those of then.
        """
        for name in [*options]:
            if name in self.names or name in self.kept or name not in self._old:
                continue
            changes.replace(self._name, name, options, self.names)
        for name in options.keys() & changes.VALUES.keys():
            options[name] = changes.replace_value(self._name, name, options[name])
        return options


def keep(kind: type, names: Sequence[str]) -> None:
    """Lets a class keep old arguments as attributes, which `get_params` and `clone` know.

    Args:
      kind: the class.
      names: of the arguments. Only what is not None is kept.
    """
    owner: Any = kind
    owner.__init__.old_arguments.kept = names
    get_params = owner.get_params

    @functools.wraps(get_params)
    def with_kept(self, deep=True):
        found = get_params(self, deep)
        # Not of a subclass whose constructor does not take them.
        if type(self).__init__ is owner.__init__:
            found.update({name: vars(self)[name] for name in names if name in vars(self)})
        return found

    owner.get_params = with_kept


def _wrap_class(kind: Any, order: str) -> None:
    initialize = kind.__init__
    known = _Arguments(initialize, kind.__name__, order)
    if not known.differ:
        return

    @functools.wraps(initialize)
    def replacing(self, *arguments, **options):
        arguments, options = known.convert(arguments, options)
        kept = {name: options.pop(name) for name in known.kept if name in options}
        initialize(self, *arguments, **options)
        vars(self).update({name: value for name, value in kept.items() if value is not None})

    replacing.old_arguments = known  # type: ignore[attr-defined]
    kind.__init__ = replacing


def _wrap_function(function: Any, module: str, order: str) -> Any:
    known = _Arguments(function, function.__name__, order)
    if not known.differ:
        return function

    @functools.wraps(function)
    def replacing(*arguments, **options):
        arguments, options = known.convert(arguments, options)
        return function(*arguments, **options)

    # pickle finds the wrapper there, and the function itself where it was defined.
    replacing.__module__ = module
    return replacing


def _wrap_module(module: Any, orders: Mapping[str, str]) -> None:
    for name, order in orders.items():
        value = vars(module).get(name)
        if inspect.isclass(value):
            _wrap_class(value, order)
        elif value is not None:
            setattr(module, name, _wrap_function(value, module.__name__, order))


def install() -> None:
    """Wraps the classes and functions of each module when it is imported."""
    text = importlib.resources.files(__package__).joinpath("orders.json").read_text("utf-8")
    for name, orders in json.loads(text).items():

        def wrap(name=name, orders=orders):
            _wrap_module(sys.modules[name], orders)

        call_when_imported(name, wrap)


def install_set_params() -> None:
    """Lets set_params of the imported sklearn.base take the old names and values."""
    base = sys.modules["sklearn.base"].BaseEstimator
    set_params = base.set_params

    @functools.wraps(set_params)
    def replacing(self, **params):
        known: Optional[_Arguments] = getattr(type(self).__init__, "old_arguments", None)
        if known is None:
            return set_params(self, **params)
        nested = {name: value for name, value in params.items() if "__" in name}
        own = known.rename({name: params[name] for name in params if name not in nested})
        vars(self).update({name: own.pop(name) for name in known.kept if name in own})
        for name in list(nested):
            first, _, rest = name.partition("__")
            new = changes.RENAMED.get(first)
            if first not in known.names and new in known.names:
                nested[f"{new}__{rest}"] = nested.pop(name)
        return set_params(self, **own, **nested)

    base.set_params = replacing
