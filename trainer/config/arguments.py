"""Command-line arguments: one parser of absl flags for all commands, and the split at `--`."""

import importlib.metadata
import math
import platform
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Callable, Optional

from absl import flags

from estimator_bridge import era
from estimator_bridge.errors import BridgeError
from estimator_bridge.output.terminal import tolerate_closed_output
from trainer.errors import UserError, nearest

# Flags that absl adds to every command.
ABSL_FLAGS = ("flagfile", "undefok")
HELP_FLAGS = ("help", "h", "helpfull", "version")
LISTED = "(--help lists the flags)"
STRAY_HINT = f"write --name=value {LISTED}"
TASK_FLAGS_HINT = f"flags of trainer.task go after -- {LISTED}"
# Greatest width of a --help text, in columns.
_WIDEST = 100
# A paragraph with indented lines or commands, whose lines stay as they are.
_PREFORMATTED = re.compile(r"^(?: |python -m \S+(?<!:) )", re.M)


# Receives the flags that commands declare, instead of running them; None: they run.
_declared: list[Optional[list[flags.FlagValues]]] = [None]


@contextmanager
def collecting() -> Iterator[list[flags.FlagValues]]:
    """Makes parse_flags only collect what is declared while a `with` statement runs.

    Yields:
        The flags of each command that was called, in the order of the calls.
    """
    found: list[flags.FlagValues] = []
    _declared[0] = found
    try:
        yield found
    finally:
        _declared[0] = None


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


def define_version(values: flags.FlagValues, meaning: str) -> None:
    """Adds --as, the TensorFlow for which a program was written.

    Args:
        values: the flags of a command.
        meaning: its help.
    """
    flags.DEFINE_string("as", None, meaning, flag_values=values)


def read_version(values: flags.FlagValues) -> Optional[str]:
    """Returns the version that --as names, such as '2.8'; None without the flag.

    Args:
        values: the parsed flags.

    Raises:
        UserError: there is no such version.
    """
    text = values["as"].value
    if text is None:
        return None
    try:
        return era.format_version(era.parse(text))
    except BridgeError as error:
        raise UserError(f"--as: {error}") from None


def wrap(text: str, first: str = "", indent: int = 0) -> str:
    """Returns a text of a --help page, in lines that fit the terminal (80 columns without one).

    Args:
        text: the text; line breaks in it do not count.
        first: what stands before the text in the first line.
        indent: number of spaces before the text in the other lines.
    """
    return textwrap.fill(
        text,
        min(shutil.get_terminal_size().columns, _WIDEST),
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def wrap_usage(usage: str) -> str:
    """Returns the first part of a --help page, with paragraphs that fit the terminal.

    Args:
        usage: paragraphs, lists and commands, with empty lines between them.
    """
    parts = usage.strip().split("\n\n")
    return "\n\n".join(part if _PREFORMATTED.search(part) else wrap(part) for part in parts)


def list_flags(values: flags.FlagValues) -> str:
    """Returns the name of each flag, what it does, and its default in brackets.

    Args:
        values: the flags.
    """
    names = [name for name in values if name not in (*ABSL_FLAGS, *HELP_FLAGS)]
    width = max([18, *(len(name) + 2 for name in names)])
    lines = []
    for name in names:
        default = values[name].default
        is_shown = default is not False and default not in (None, "", [])
        # absl breaks the line in the help of a flag that may be repeated.
        words = [*(values[name].help or "").split(), *([f"[{default}]"] if is_shown else [])]
        if isinstance(values[name].parser, flags.ListParser):
            words.append("(separated by commas)")
        lines.append(wrap(" ".join(words), f"  --{name:<{width}}", width + 4))
    return "\n".join(lines)


def _check_text(argv: Sequence[str]) -> None:
    """Raises if an argument is not text that Arrow and TensorFlow can read."""
    for text in argv:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            if sys.getfilesystemencoding() == "utf-8":
                raise UserError(f"{text!r:.90}: is not UTF-8; rename the file") from error
            raise UserError(
                f"{text!r:.90}: the locale is not UTF-8, so this cannot be read; set PYTHONUTF8=1"
            ) from error


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
        describe: returns the rest of the --help text, or of the --helpfull text if
            `values.helpfull` is set.
        stray_hint: the remedy for an argument that is not a flag.

    Returns:
        The values; None if --help, --helpfull or --version was given. In this case the text has
        been printed. Also None within `collecting`. A flag that is given several times has its
        last value; a line on stderr says so where the values differ.

    Raises:
        UserError: an unknown flag, an invalid value, or an argument that is not a flag.
    """
    values = flags.FlagValues()
    flags.DEFINE_boolean("help", False, "show this help", flag_values=values)
    flags.DEFINE_boolean("helpfull", False, "show all flags", flag_values=values)
    flags.DEFINE_boolean("version", False, "show the version", flag_values=values)
    flags.DEFINE_alias("h", "help", flag_values=values)
    define(values)
    if _declared[0] is not None:
        _declared[0].append(values)
        return None
    _check_text(argv)
    try:
        rest = values([program, *argv])[1:]
    except flags.UnrecognizedFlagError as error:
        name = error.flagname.lstrip("-")
        known = [name for name in values if name not in ABSL_FLAGS]
        suggestion = nearest(name, known).replace("mean ", "mean --")
        raise UserError(f"--{name}: no such flag{suggestion} {LISTED}") from error
    except flags.Error as error:
        raise UserError(f"{_explain(error, values)} {LISTED}") from error
    if values.version or values.help or values.helpfull:
        parts = [describe_version()] if values.version else [wrap_usage(usage), describe(values)]
        with tolerate_closed_output():
            print("\n\n".join(part for part in parts if part))
        return None
    for name in values:
        # The bounds of a flag do not exclude NaN, to which every comparison is false.
        number = values[name].value
        if isinstance(number, float) and not math.isfinite(number):
            raise UserError(f"--{name}={number}: write a finite number {LISTED}")
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; {stray_hint}")
    _report_repeated(values, argv)
    return values


def _explain(error: flags.Error, values: flags.FlagValues) -> str:
    """Returns what is wrong with a flag and what to write, in place of the text of absl."""
    text = " ".join(str(error).split())
    missing = re.fullmatch(r"Missing value for flag --(\S+)", text)
    if missing:
        return f"--{missing[1]}: the value is missing; write --{missing[1]}=VALUE"
    wrong = re.match(r"flag --([^=]+)=(.*?): ", text)
    if wrong is None or wrong[1] not in values:
        return text
    flag = values[wrong[1]]
    if flag.boolean:
        return f"--{wrong[1]}={wrong[2]}: write --{flag.name} or --no{flag.name}, without a value"
    parser = flag.parser
    choices = getattr(parser, "enum_values", None)
    wanted = f"one of {', '.join(choices)}" if choices else parser.syntactic_help
    return f"--{wrong[1]}={wrong[2]}: write {wanted}" if wanted else text


def describe_version() -> str:
    """Returns the version of this package, of TensorFlow and of Python, without importing them."""
    found = []
    for package in ("estimator-trainer", "tensorflow"):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} (not installed)")
    return ", ".join([*found, f"Python {platform.python_version()}"])


def read_render(argv: list[str], usage: str) -> Optional[list[str]]:
    """Returns the arguments after `render`; None if help or the version was printed instead.

    Args:
        argv: the arguments after the program's name.
        usage: text of --help.

    Raises:
        UserError: the subcommand is missing or another one.
    """
    if argv and argv[0] in ("--help", "-h", "help"):
        print(wrap_usage(usage))
        return None
    if argv and argv[0] == "--version":
        print(describe_version())
        return None
    if not argv or argv[0] != "render":
        problem = f"{argv[0]!r}: no such command" if argv else "no command given"
        raise UserError(f"{problem}; write render and its flags (--help describes them)")
    return argv[1:]


def _report_repeated(values: flags.FlagValues, argv: list[str]) -> None:
    """Prints a line for each flag that was given several times with different values."""
    words = [word.lstrip("-") for word in argv if word.startswith("-") and "=" in word]
    counts = Counter(name for name, _ in {tuple(word.split("=", 1)) for word in words})
    for name, count in counts.items():
        if count > 1 and name in values and not isinstance(values[name], flags.MultiFlag):
            # Without the values: some are secrets.
            print(
                f"warning: --{name} is given with {count} values; the last one counts",
                file=sys.stderr,
            )


def parse_export_flags(
    program: str, define: Callable[[flags.FlagValues], None], argv: list[str], usage: str
) -> Optional[flags.FlagValues]:
    """Parses the arguments of a command that takes an export: by --export, --job_dir or first.

    Args:
        program: the command's name, for messages.
        define: adds the command's other flags.
        argv: the arguments after the program's name. A first word that is no flag is the value of
            --export.
        usage: first part of the --help text.

    Returns:
        As parse_flags.

    Raises:
        UserError: as parse_flags.
    """

    def define_all(values: flags.FlagValues) -> None:
        for name, meaning in (
            (
                "export",
                "folder of an export, of an exporter or of a job; may also be the first argument, "
                "without --export=",
            ),
            (
                "job_dir",
                "folder of a job: the newest export in its export/best, otherwise in export/final "
                "or export/latest",
            ),
        ):
            flags.DEFINE_string(name, None, meaning, flag_values=values)
        define(values)

    if argv and not argv[0].startswith("-"):
        argv = [f"--export={argv[0]}", *argv[1:]]
    return parse_flags(program, define_all, argv, usage)


def get_export(values: flags.FlagValues) -> tuple[str, str]:
    """Returns the given one of --export and --job_dir: its value and its name with dashes.

    Args:
        values: the parsed flags, of parse_export_flags.
    """
    if values.export:
        return str(values.export), "--export"
    return str(values.job_dir), "--job_dir"


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
            meaning = (values[name].help or "").partition(";")[0]
            raise UserError(f"--{name}: not given, but required: {meaning} {LISTED}")
