"""`tensorflow.examples`: the two modules of `tutorials.mnist`, from which programs imported."""

import types

from estimator_bridge.tf1.examples import input_data, mnist
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = ["tutorials"]

_KEEP_A_COPY = "keep a copy of the example in the program"


class _Examples(types.ModuleType):
    """A package of examples; names that it lacks raise an error that says what to do.

    Args:
      path: its name below `tensorflow.examples`.
      contents: its modules.
    """

    def __init__(self, path: str, **contents: types.ModuleType):
        super().__init__(f"tensorflow.examples.{path}")
        self.__dict__.update(contents)

    def _advice_for(self, name):
        return f"{self.__name__}.{name}", _KEEP_A_COPY

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSuppliedError(advise(*self._advice_for(name)))


tutorials = _Examples(
    "tutorials", mnist=_Examples("tutorials.mnist", input_data=input_data, mnist=mnist)
)


def _advice_for(name):
    return f"tensorflow.examples.{name}", _KEEP_A_COPY


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotSuppliedError(advise(*_advice_for(name)))
