"""What the small commands have in common: flags of their own, one line for an error."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Optional

from absl import flags

from trainer import config as config_lib
from trainer import storage
from trainer.errors import USER_ERROR_STATUS, UserError


def parse_flags(
    program: str, define: Callable[[flags.FlagValues], None], argv: list[str], usage: str
) -> Optional[flags.FlagValues]:
    """Parses the arguments of one command.

    Args:
        program: its name, for messages.
        define: defines its flags.
        argv: the arguments after the program's name.
        usage: printed for --help, followed by the flags.

    Returns:
        the values; None where --help was asked for (and has been printed).

    Raises:
        UserError: an unknown flag, a wrong value, a stray word.
    """
    values = flags.FlagValues()
    flags.DEFINE_boolean("help", False, "show this help", flag_values=values)
    define(values)
    known = [name for name in values if name not in ("flagfile", "undefok")]
    try:
        rest = values([program, *argv])[1:]
    except flags.UnrecognizedFlagError as error:
        name = error.flagname.lstrip("-")
        hint = config_lib.nearest(name, known).replace("mean ", "mean --")
        raise UserError(f"--{name}: no such flag{hint} (--help lists them all)") from error
    except flags.Error as error:
        raise UserError(f"{' '.join(str(error).split())} (--help lists the flags)") from error
    if values.help:
        print(usage.strip() + "\n")
        width = max(18, *(len(name) + 2 for name in known))
        for name in known:
            if name != "help":
                default = values[name].default
                shown = f" [{default}]" if default not in (None, "", [], False) else ""
                print(f"  --{name:<{width}}{values[name].help}{shown}")
        return None
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; write --name=value (--help lists the flags)")
    return values


def require(values: flags.FlagValues, *names: str) -> None:
    """Refuses a command line without one of these flags.

    Raises:
        UserError: names the first that is missing.
    """
    for name in names:
        if not values[name].value:
            raise UserError(f"--{name}: not given; {values[name].help} (--help lists the flags)")


def define_storage(values: flags.FlagValues) -> None:
    """Defines the flags that say how gs:// paths are reached: those of trainer.task."""
    for option in config_lib.list_options():
        if option.section == "storage":
            flags.DEFINE_string(option.name, None, option.description, flag_values=values)


@contextmanager
def open_storage(values: flags.FlagValues) -> Iterator[storage.Copies]:
    """Reaches gs:// paths as the flags of define_storage say, as long as the command runs.

    Raises:
        UserError: a flag's value is not what it takes, or there can be no folder for copies.
    """
    said = {name: values[name].value for name in values if name.startswith("storage.")}
    given = {name: value for name, value in said.items() if value is not None}
    settings = storage.Settings(**config_lib.load_config(None, given).storage.model_dump())
    storage.configure(settings)
    with storage.open_copies(settings) as copies:
        yield copies


def hand_over(text: str, output: Optional[str], following: str) -> None:
    """Prints what a command has made, or writes it to --output and says what to do with it.

    Raises:
        UserError: the file cannot be written.
    """
    if not output:
        print(text, end="")
        return
    try:
        storage.write_text(Path(output), text)
    except OSError as error:
        raise UserError(f"--output={output}: {error.strerror}; name another") from error
    print(f"{output}: {following}")


def run(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """Runs a command; prints a user's error as one line and returns the exit status."""
    try:
        return main(argv)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR_STATUS
    except BrokenPipeError:
        # The reader of our output, say `head`, has had enough.
        sys.stderr.close()
        return 1
