"""The error for a 1.x symbol that the bridge does not supply, raised where the program uses it.

An import of such a symbol succeeds and binds a stand-in: many programs import more than they use.
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
    """A symbol of TensorFlow 1.x was used that is not supplied.

    It is an AttributeError too, so that `hasattr` answers as it did on a version without the
    symbol.
    """


def advise(symbol: str, advice: str) -> str:
    """Returns the message for `symbol` (`tf.contrib.slim.nets`): what is missing, where it went,
    what to do.
    """
    return f"{symbol} is not supplied to TensorFlow 1.x programs: {advice}"


class StandIn(types.ModuleType):
    """Stands for a missing function, class or module until it is used; then it raises
    NotSuppliedError.

    It is a module by type so that the import system takes it in either place.
    """

    def __init__(self, symbol: str, advice: str):
        super().__init__(symbol)
        self.__dict__.update(_message=advise(symbol, advice), _advice=advice)

    def _advice_for(self, name):
        """What is below a missing package is missing too."""
        return f"{self.__name__}.{name}", self._advice

    def __call__(self, *args, **kwargs):
        raise NotSuppliedError(self._message)

    def __mro_entries__(self, bases):
        raise NotSuppliedError(self._message)

    def __getattr__(self, name):
        # The import system and `inspect` probe for dunder names; those are no use of the symbol.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise NotSuppliedError(self._message)

    def __repr__(self):
        return f"<not supplied: {self.__name__}>"
