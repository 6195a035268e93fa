"""Code that is not ours, named package.module:name, and what it is given."""

import contextlib
import importlib
import inspect
import re
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

from trainer import config as config_lib
from trainer.errors import UserError

# Files whose frames tell a user nothing of where in their code it happened.
OWN_FOLDERS = tuple(str(folder) for folder in (Path(__file__).parents[1],)) + ("<frozen",)


# TensorFlow's account of an operation: a stack of frames, then its name and what went wrong.
_FAILED_NODE = re.compile(
    r"Node: '([^'\n]+)'\n(.+?)(?:\n\s*\[\[|\n\s*Original stack trace|\Z)", re.S
)


class HParams(Mapping):
    """Hyperparameters by name: hparams.depth, hparams["depth"], hparams.get("depth", 3).

    They are those under `user:` in the hparams file and --user.NAME=VALUE; behind them the options
    of model and train by their last name (hparams.learning_rate, hparams.hidden_units), where
    max_steps is the number of steps whatever it was given as.

    Attributes:
        config: the whole configuration.
        statistics: of the training data; None where they were not read.
    """

    def __init__(self, config: config_lib.Config, statistics: Any = None, max_steps: Any = None):
        self._values = {**dict(config.model), **dict(config.train)}
        self._values["max_steps"] = max_steps or config.train.max_steps
        self._values.update(config.user)
        self.config = config
        self.statistics = statistics

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(self._explain(name))
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(self._explain(name))
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _explain(self, name: str) -> str:
        known = vars(self).get("_values", {})
        return f"no hyperparameter {name!r}{config_lib.nearest(name, known)}; give --user.{name}="


def load_code(reference: str, option: str) -> Any:
    """The object that package.module:name refers to.

    Args:
        reference: a dotted module, a colon, a name in it (a.b for an attribute).
        option: the option that gave it, for messages.

    Raises:
        UserError: the module cannot be imported, or has no such name.
    """
    where = f"{option} {reference}"
    module_name, _, name = reference.partition(":")
    with translate_user_errors(where, f"importing {module_name}"):
        try:
            found = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not error.name or not f"{module_name}.".startswith(f"{error.name}."):
                raise
            own = error.name.split(".")[0] == __name__.split(".")[0]
            remedy = (
                f"{__name__.split('.')[0]} is this program's own package: give yours another name"
                if own
                else "start from the folder that holds it, or put that folder into PYTHONPATH"
            )
            raise UserError(f"{where}: no module {error.name!r}; {remedy}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in vars(found) if not known.startswith("_")]
            raise UserError(
                f"{where}: module {module_name} has no {name!r}{config_lib.nearest(part, known)}"
            )
        found = getattr(found, part)
    return found


def load_function(reference: str, option: str) -> Callable:
    """The same for something that can be called.

    Raises:
        UserError: also where it cannot be called.
    """
    found = load_code(reference, option)
    if not callable(found):
        raise UserError(f"{option} {reference}: it is {found!r:.60}, nothing that can be called")
    return found


def call_code(function: Callable, where: str, **given: Any) -> Any:
    """Calls a user's function with those of the named values that its parameters ask for.

    Args:
        function: theirs.
        where: option and reference, for messages.
        given: what it may ask for.

    Raises:
        UserError: it asks for something else, or fails.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # Some built-in functions do not tell.
        parameters = ()
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    unknown = [one.name for one in named if one.default is one.empty and one.name not in given]
    if unknown:
        raise UserError(
            f"{where}: it asks for {', '.join(unknown)}; what it can be given is {', '.join(given)}"
        )
    # A class without an __init__ of its own seems to take anything and takes nothing.
    takes_all = not inspect.isclass(function) and any(
        one.kind is one.VAR_KEYWORD for one in parameters
    )
    names = list(given) if takes_all else [one.name for one in named if one.name in given]
    with translate_user_errors(where, "it"):
        return function(**{name: given[name] for name in names})


@contextlib.contextmanager
def translate_user_errors(
    where: str, what: str, passing: tuple[type[BaseException], ...] = ()
) -> Iterator[None]:
    """Turns whatever a user's code raises into one line; the cause keeps their traceback.

    Errors of the types in `passing` are nobody's fault and go through.

    Raises:
        UserError: of `where`, that `what` failed, how, and in which line of their code.
    """
    try:
        yield
    except (UserError, *passing):
        raise
    # An import may also exit: a script without a main guard.
    except (Exception, SystemExit) as error:
        message = _find_words(str(error)) or "no message"
        raise UserError(
            f"{where}: {what} failed: {type(error).__name__}: {message:.300}{_place(error)}"
            " (--verbosity=debug shows the traceback)"
        ) from error


def _find_words(message: str) -> str:
    """What an error says, on one line; of an operation that failed, without where it was made."""
    of_node = _FAILED_NODE.search(message)
    if of_node:
        message = f"{of_node.group(2)} (operation {of_node.group(1)})"
    return " ".join(message.split())


def _place(error: BaseException) -> str:
    """ " (file.py line 3)": the innermost frame that is the user's own."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename} line {error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        library = "site-packages" in frame.filename or "importlib" in frame.filename
        if not library and not frame.filename.startswith(OWN_FOLDERS):
            return f" ({frame.filename} line {frame.lineno})"
    return ""
