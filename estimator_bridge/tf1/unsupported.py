"""The error for a 1.x symbol that is not supplied, raised where the program uses it.

Importing such a symbol succeeds and binds a stand-in, because many programs import symbols that
they do not use.
"""

import types

from estimator_bridge.errors import BridgeError

__all__ = ["GENERAL_ADVICE", "NotSuppliedError", "StandIn", "advise"]

GENERAL_ADVICE = (
    "tf.contrib ended with TensorFlow 1.15. Keep what you need of it in your program, or use what"
    " replaced it in "
    "TensorFlow 2 or one of its libraries"
)


class NotSuppliedError(BridgeError, AttributeError):
    """The program used a symbol of TensorFlow 1.x that is not supplied.

    It is also an AttributeError, so that `hasattr` returns False.
    """


def advise(symbol: str, advice: str) -> str:
    """Returns the message for a symbol that is not supplied.

    Args:
      symbol: its full name, such as tf.contrib.slim.nets.
      advice: what to do instead.
    """
    return f"{symbol} is not supplied to TensorFlow 1.x programs: {advice}"


class StandIn(types.ModuleType):
    """Replaces a missing function, class or module, and raises NotSuppliedError when it is used.

    It is a module, so that the import system accepts it in place of any of them.

    Args:
      symbol: its full name, such as tf.contrib.slim.nets.
      advice: what to do instead.
    """

    def __init__(self, symbol: str, advice: str):
        super().__init__(symbol)
        self.__dict__.update(_message=advise(symbol, advice), _advice=advice)

    def _advice_for(self, name):
        """Returns symbol and advice of a name below this one, which is missing too."""
        return f"{self.__name__}.{name}", self._advice

    def __call__(self, *args, **kwargs):
        """Raises NotSuppliedError."""
        raise NotSuppliedError(self._message)

    def __mro_entries__(self, bases):
        raise NotSuppliedError(self._message)

    def __getattr__(self, name):
        # The import system and `inspect` read dunder names. This is not a use of the symbol.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise NotSuppliedError(self._message)

    def __repr__(self):
        return f"<not supplied: {self.__name__}>"
