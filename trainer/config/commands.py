"""Common parts of the commands: storage flags, output of results, and errors in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Optional

from absl import flags

from estimator_bridge.command_line import commands
from estimator_bridge.errors import BridgeError
from trainer import config as config_lib
from trainer import storage
from trainer.console import show_error
from trainer.errors import USER_ERROR_STATUS, UserError, redact_data
from trainer.storage.disk import is_full_disk

# Options that limit the sizes in data files, and one that says which columns files may lack.
LIMITS = ("data.max_row_mib", "data.max_column_mib", "data.added_columns")
# Flag → the option of the section data that it sets.
DATA_FLAGS = {
    "data_format": "format",
    "header": "header",
    "delimiter": "delimiter",
    "encoding": "encoding",
}
CHOICES = {"data_format": config_lib.DATA_FORMATS, "header": ("auto", "yes", "no")}


def define_storage(values: flags.FlagValues) -> None:
    """Adds the storage flags of trainer.task, which configure access to gs:// paths.

    Args:
        values: where the flags are added.
    """
    for option in config_lib.list_options():
        if option.section == "storage":
            default = "" if option.default is None else f"; unset: {option.default}"
            flags.DEFINE_string(
                option.name, None, f"{option.description}{default}", flag_values=values
            )


def define_reading(values: flags.FlagValues, owner: Optional[str] = None) -> None:
    """Adds --redact, and a flag for each of LIMITS.

    Args:
        values: where the flags are added.
        owner: whose limit holds if a flag is not given, such as "the job's"; None: the default of
            trainer.task.
    """
    for option in config_lib.list_options():
        if option.name in LIMITS:
            unset = option.default if owner is None else owner
            meaning = f"{option.description}; unset: {unset or 'none'}"
            flags.DEFINE_string(option.name, None, meaning, flag_values=values)
        elif option.name == "redact":
            flags.DEFINE_boolean(option.name, False, option.description, flag_values=values)


def define_format(values: flags.FlagValues, owner: Optional[str] = None) -> None:
    """Adds the flags that describe the files of --data: DATA_FLAGS.

    Args:
        values: where the flags are added.
        owner: whose description holds for a flag that is not given, such as "the job's"; None: the
            defaults of trainer.task.
    """
    options = {option.name: option for option in config_lib.list_options()}
    for flag, name in DATA_FLAGS.items():
        option = options[f"data.{name}"]
        default = option.default if owner is None else None
        meaning = option.description + (f"; unset: {owner}" if owner is not None else "")
        choices = CHOICES.get(flag)
        if choices is None:
            flags.DEFINE_string(flag, default, meaning, flag_values=values)
        else:
            flags.DEFINE_enum(flag, default, choices, meaning, flag_values=values)


def get_format(values: flags.FlagValues) -> dict[str, Optional[str]]:
    """Returns the values of the flags of define_format.

    Args:
        values: the parsed flags.

    Returns:
        option of the section data → text; None if neither a flag nor a default gives one.
    """
    return {option: values[flag].value for flag, option in DATA_FLAGS.items()}


def start_reading(values: flags.FlagValues) -> dict[str, str]:
    """Applies --redact, and returns the given limits as options of the configuration.

    Args:
        values: the parsed flags, including those of define_reading.

    Returns:
        option, such as data.max_row_mib → text.
    """
    redact_data(values.redact)
    texts = {name: values[name].value for name in LIMITS}
    return {name: text for name, text in texts.items() if text is not None}


@contextmanager
def open_storage(values: flags.FlagValues) -> Iterator[storage.Copies]:
    """Opens access to gs:// paths while a `with` statement runs.

    Args:
        values: the parsed flags, including those of define_storage.

    Yields:
        Local copies of remote files and folders.

    Raises:
        UserError: a flag's value is invalid, or no folder for the copies can be created.
    """
    texts = {name: values[name].value for name in values if name.startswith("storage.")}
    given = {name: value for name, value in texts.items() if value is not None}
    settings = storage.Settings(**config_lib.load_config(None, given).storage.model_dump())
    storage.configure(settings)
    with storage.open_copies(settings) as copies:
        yield copies


def write_result(text: str, output: Optional[str], following: str) -> None:
    """Prints the result of a command, or writes it to a file and prints what to do next.

    Args:
        text: the result.
        output: the file; None or empty: standard output.
        following: a message for the user: what to do next with the file.

    Raises:
        UserError: the file cannot be written.
    """
    if not output:
        print(text, end="")
        return
    try:
        storage.write_text(Path(output), text)
    except OSError as error:
        raise UserError(f"--output={output}: {error.strerror}; name another file") from error
    print(f"{output}: {following}")


def run(
    main: Callable[[list[str]], int],
    argv: list[str],
    remains: str = "no unfinished file is left; the same command begins again",
) -> int:
    """Runs a command; prints a known error, an error of the system, SIGINT or SIGTERM as one line.

    Args:
        main: function from the arguments to the exit status.
        argv: the arguments after the program's name.
        remains: after a signal, what is left and what to do next.

    Returns:
        The exit status: that of `main`; after a UserError, its `status`: 2 or 75; after an error of
        the bridge or of the system, as of a full disk, 2; after a signal, 128 + number.
    """
    try:
        return commands.run(lambda: main(argv), remains, show_error)
    except UserError as error:
        show_error(str(error))
        return error.status
    except BridgeError as error:
        # Above all, a package that goes with TensorFlow is absent.
        show_error(" ".join(str(error).split()))
        return USER_ERROR_STATUS
    except Exception as error:
        # Of TensorFlow, for instance.
        if not is_full_disk(error):
            raise
        reason = " ".join(str(error).split())[:200]
        show_error(f"the disk is full ({reason}); make room, or name another place")
        return USER_ERROR_STATUS
