"""Processes that joblib starts: they need the old names too, before they read their tasks."""

import functools
from collections.abc import Callable
from typing import Any

from estimator_bridge.process.importing import call_when_imported

__all__ = ["call_first"]


def call_first(function: Callable[..., None], *arguments: Any) -> None:
    """Lets each process that joblib starts from now on call a function first.

    Args:
      function: of a module, which the process imports.
      *arguments: of the function.
    """
    call_when_imported(
        "joblib._parallel_backends", functools.partial(_call_first, function, arguments)
    )


def _call_first(function: Callable[..., None], initargs: tuple[Any, ...]) -> None:
    from joblib._parallel_backends import LokyBackend

    configure = LokyBackend.configure

    @functools.wraps(configure)
    def replacing(self, *arguments, **options):
        if "initializer" not in {**options, **getattr(self, "backend_kwargs", {})}:
            options.update(initializer=function, initargs=initargs)
        return configure(self, *arguments, **options)

    LokyBackend.configure = replacing
