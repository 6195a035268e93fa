"""Command-line arguments: one parser of absl flags for all commands, and the split at `--`."""

from typing import Callable, Optional

from absl import flags

from trainer.errors import UserError, nearest

# Flags that absl adds to every command.
ABSL_FLAGS = ("flagfile", "undefok")
HELP_FLAGS = ("help", "h")
LISTED = "(--help lists the flags)"
STRAY_HINT = f"write --name=value {LISTED}"
TASK_FLAGS_HINT = f"flags of trainer.task go after -- {LISTED}"


def split_task_flags(argv: list[str]) -> tuple[list[str], list[str]]:
    """Splits the arguments of a command that starts trainer.task.

    Args:
        argv: the arguments after the program's name.

    Returns:
        The command's own arguments, and those after `--`, which are for trainer.task.
    """
    if "--" not in argv:
        return argv, []
    place = argv.index("--")
    return argv[:place], argv[place + 1 :]


def list_flags(values: flags.FlagValues) -> str:
    """Returns one line per flag: its name, what it is, and its default in brackets.

    Args:
        values: the flags.
    """
    names = [name for name in values if name not in (*ABSL_FLAGS, *HELP_FLAGS)]
    width = max(18, *(len(name) + 2 for name in names))
    lines = []
    for name in names:
        default = values[name].default
        suffix = f" [{default}]" if default not in (None, "", [], False) else ""
        lines.append(f"  --{name:<{width}}{values[name].help}{suffix}")
    return "\n".join(lines)


def parse_flags(
    program: str,
    define: Callable[[flags.FlagValues], None],
    argv: list[str],
    usage: str,
    *,
    describe: Callable[[flags.FlagValues], str] = list_flags,
    stray_hint: str = STRAY_HINT,
) -> Optional[flags.FlagValues]:
    """Parses the arguments of a command.

    Args:
        program: the command's name, for messages.
        define: adds the command's flags.
        argv: the arguments after the program's name.
        usage: first part of the --help text.
        describe: returns the rest of the --help text.
        stray_hint: the remedy for an argument that is not a flag.

    Returns:
        The values; None if --help was given. In this case the help text has been printed.

    Raises:
        UserError: an unknown flag, an invalid value, or an argument that is not a flag.
    """
    values = flags.FlagValues()
    flags.DEFINE_boolean("help", False, "show this help", flag_values=values)
    flags.DEFINE_alias("h", "help", flag_values=values)
    define(values)
    try:
        rest = values([program, *argv])[1:]
    except flags.UnrecognizedFlagError as error:
        name = error.flagname.lstrip("-")
        known = [name for name in values if name not in ABSL_FLAGS]
        suggestion = nearest(name, known).replace("mean ", "mean --")
        raise UserError(f"--{name}: no such flag{suggestion} {LISTED}") from error
    except flags.Error as error:
        raise UserError(f"{' '.join(str(error).split())} {LISTED}") from error
    if values.help:
        print("\n\n".join(part for part in (usage.strip(), describe(values)) if part))
        return None
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; {stray_hint}")
    return values


def require_one(values: flags.FlagValues, first: str, second: str) -> None:
    """Raises if not exactly one of two flags is given.

    Args:
        values: the flags.
        first: a flag with an example of its value, such as export=FOLDER.
        second: the other one.

    Raises:
        UserError: none or both are given.
    """
    given = [bool(values[flag.partition("=")[0]].value) for flag in (first, second)]
    if sum(given) != 1:
        raise UserError(f"give either --{first} or --{second} (--help shows examples)")


def require(values: flags.FlagValues, *names: str) -> None:
    """Checks that flags were given.

    Args:
        values: the parsed flags.
        *names: those that must have a value.

    Raises:
        UserError: a flag was not given. The message names the first of these flags.
    """
    for name in names:
        if not values[name].value:
            raise UserError(f"--{name}: not given; {values[name].help} {LISTED}")
