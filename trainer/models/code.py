"""Loads and calls code that the user names as package.module:name."""

import contextlib
import importlib
import inspect
import re
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

from estimator_bridge.command_line import current_folder
from trainer import config as config_lib
from trainer.environment.variables import read_secret
from trainer.errors import UserError

# Frames in these files are not the user's own code.
OWN_FOLDERS = (str(Path(__file__).parents[1]), "<frozen")

# TensorFlow's message about an operation: a stack of frames, then the operation's name and its
# error.
_FAILED_NODE = re.compile(
    r"Node: '([^'\n]+)'\n(.+?)(?:\n\s*\[\[|\n\s*Original stack trace|\Z)", re.S
)


class HParams(Mapping[str, Any]):
    """Hyperparameters by name: hparams.depth, hparams["depth"], hparams.get("depth", 3).

    They are the values under `user:` in the hparams file and those of --user.NAME=VALUE, then the
    options of model and train by the last part of their names (hparams.learning_rate,
    hparams.hidden_units). max_steps is always the number of steps, even if the user gave epochs. A
    secret (--secret.NAME=VARIABLE) is read from its environment variable each time it is needed.

    Args:
        config: the whole configuration.
        statistics: of the training data; None if the data has not been read.
        max_steps: length of the run in steps; unset: train.max_steps.

    Attributes:
        config: as given.
        statistics: as given.
    """

    def __init__(
        self, config: config_lib.Config, statistics: Any = None, max_steps: Any = None
    ) -> None:
        self._values = {**dict(config.model), **dict(config.train)}
        self._values["max_steps"] = max_steps or config.train.max_steps
        self._values.update(config.user)
        self.config = config
        self.statistics = statistics

    def __getitem__(self, name: str) -> Any:
        if name in self.config.secret:
            return read_secret(name, self.config.secret[name])
        if name not in self._values:
            raise KeyError(self._explain(name))
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self:
            raise AttributeError(self._explain(name))
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._values, *self.config.secret])

    def __len__(self) -> int:
        return len(self._values) + len(self.config.secret)

    def _explain(self, name: str) -> str:
        known = vars(self).get("_values", {})
        return f"no hyperparameter {name!r}{config_lib.nearest(name, known)}; give --user.{name}="


def load_code(reference: str, option: str) -> Any:
    """Returns the object that package.module:name refers to.

    Args:
        reference: a dotted module, a colon, and a name in it (a.b for an attribute).
        option: the option that gave the reference, for messages.

    Raises:
        UserError: the module cannot be imported, or it does not contain the name.
    """
    where = f"{option} {reference}"
    module_name, _, name = reference.partition(":")
    with translate_user_errors(where, f"importing {module_name}"):
        try:
            current_folder.prepend()
            found = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not error.name or not f"{module_name}.".startswith(f"{error.name}."):
                raise
            package = __name__.split(".")[0]
            remedy = (
                f"{package} is this program's own package: give yours another name"
                if error.name.split(".")[0] == package
                else "start from the folder that contains it, or add that folder to PYTHONPATH"
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


def load_function(reference: str, option: str) -> Callable[..., Any]:
    """Returns the callable that package.module:name refers to.

    Args:
        reference: a dotted module, a colon, and a name in it (a.b for an attribute).
        option: the option that gave the reference, for messages.

    Raises:
        UserError: the module cannot be imported, or the name is missing or not callable.
    """
    found: Callable[..., Any] = load_code(reference, option)
    if not callable(found):
        raise UserError(f"{option} {reference}: got {found!r:.60}, which is not callable")
    return found


def call_code(function: Callable[..., Any], where: str, **given: Any) -> Any:
    """Calls a user's function with those arguments for which it has parameters.

    Args:
        function: the user's function or class.
        where: option and reference, for messages.
        given: name → value of every argument that the function may have.

    Returns:
        The result of the function.

    Raises:
        UserError: the function requires another argument, or it fails.
    """
    named: list[inspect.Parameter] = []
    has_keywords = False
    # Some built-in functions have no signature.
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(function).parameters.values()
        named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        has_keywords = any(one.kind is one.VAR_KEYWORD for one in parameters)
    unknown = [one.name for one in named if one.default is one.empty and one.name not in given]
    if unknown:
        raise UserError(
            f"{where}: it requires {', '.join(unknown)}; the parameters available are "
            f"{', '.join(given)}"
        )
    # The signature of a class without an __init__ seems to accept any keyword, but it accepts none.
    takes_all = has_keywords and not inspect.isclass(function)
    names = list(given) if takes_all else [one.name for one in named if one.name in given]
    with translate_user_errors(where, "it"):
        return function(**{name: given[name] for name in names})


@contextlib.contextmanager
def translate_user_errors(
    where: str, action: str, passthrough: tuple[type[BaseException], ...] = ()
) -> Iterator[None]:
    """Translates any error of a user's code into a UserError of one line.

    The original error is kept as the cause, with its traceback.

    Args:
        where: option and reference of the code, for the message.
        action: subject of the phrase "... failed" in the message.
        passthrough: types of errors that are raised unchanged.

    Raises:
        UserError: the block raised an error. The message contains its type, its text, and the file
            and line in the user's code.
    """
    unchanged: tuple[type[BaseException], ...] = (UserError, *passthrough)
    try:
        yield
    except unchanged:
        raise
    # The import of a script without a main guard may raise SystemExit.
    except (Exception, SystemExit) as error:
        message = _shorten_message(str(error)) or "no message"
        raise UserError(
            f"{where}: {action} failed: {type(error).__name__}: {message:.300}{_find_line(error)}"
            " (--verbosity=debug shows the traceback)"
        ) from error


def _shorten_message(message: str) -> str:
    """Returns an error's message on one line; without the stack of a failed operation."""
    failed = _FAILED_NODE.search(message)
    if failed:
        message = f"{failed.group(2)} (operation {failed.group(1)})"
    return " ".join(message.split())


def _find_line(error: BaseException) -> str:
    """Returns " (file.py line 3)" for the innermost frame in the user's code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename} line {error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        library = "site-packages" in frame.filename or "importlib" in frame.filename
        if not library and not frame.filename.startswith(OWN_FOLDERS):
            return f" ({frame.filename} line {frame.lineno})"
    return ""
