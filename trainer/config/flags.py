"""The flags of trainer.task, generated from the fields of the configuration."""

import os
import re
import typing
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from absl import flags

from trainer import config as config_lib
from trainer.config.arguments import ABSL_FLAGS, HELP_FLAGS, parse_flags, wrap
from trainer.errors import UserError

# Short names of common options; older trainers used the same names.
SHORT_NAMES = {
    "train_data": "data.train",
    "eval_data": "data.eval",
    "eval_share": "data.eval_share",
    "eval_after": "data.eval_after",
    "eval_by": "data.eval_by",
    "train_steps": "train.max_steps",
    "trainer_fn": "tfx.trainer_fn",
    "model": "model.type",
    "job-dir": "job_dir",
    "strategy": "cluster.strategy",
    "profile_steps": "run.profile_steps",
    "storage": "storage.reader",
}
# Flags that are not options of the configuration.
COMMANDS = {
    "hparams": "a preset in hparams/, or your own YAML file",
    "dry_run": "check everything, train one step in a temporary folder, and end",
    "reuse": "end at once if job_dir has a complete job with the same data, options and code",
    "fresh": "delete the contents of job_dir first; repeat its name as the value",
    "print_config": "print every option with its value as YAML, and end",
    "print_json_schema": "print the JSON schema of hparams files, for editors, and end",
}
_SWITCHES = ("dry_run", "reuse", "print_config", "print_json_schema")
# The options of the --help text; --helpfull has all.
MOST_USED = (
    "job_dir",
    "data.train",
    "data.eval",
    "data.eval_share",
    "data.schema_file",
    "model.type",
    "model.hidden_units",
    "train.epochs",
    "train.max_steps",
    "train.batch_size",
    "train.learning_rate",
)
# Options of these sections are hyperparameters. A tuning service sets them by the last part of
# their names.
TUNABLE_SECTIONS = ("model", "train")
USAGE = """
Train, evaluate and export a TensorFlow Estimator.

  python -m trainer.task --hparams=census --job_dir=jobs/census \\
      --train_data=data/train.csv --eval_data=data/eval.csv

A flag overrides the hparams file, which overrides the default.
A run whose job_dir contains a checkpoint continues from it; nothing there is deleted.
"""


# Options whose files may be in the container of a job.
IN_CONTAINER = ("data.schema_file", "train.warm_start")


class CommandLine(NamedTuple):
    """The parsed command line of trainer.task.

    Attributes:
        hparams: preset or file; None for neither.
        overrides: option name → value, text or bool.
        dry_run: whether to check everything, train one step in a temporary folder, and end.
        fresh: the folder to empty first; None for none.
        reuse: whether to end at once if the job in job_dir is complete and unchanged.
        prints: "config" or "json_schema" to print instead of a run; None for a run.
    """

    hparams: Optional[str]
    overrides: dict[str, Any]
    dry_run: bool
    fresh: Optional[str]
    reuse: bool
    prints: Optional[str] = None


def list_aliases() -> dict[str, str]:
    """Returns short flag name → dotted option name."""
    aliases = dict(SHORT_NAMES)
    for option in config_lib.list_options():
        if option.section in TUNABLE_SECTIONS:
            aliases[option.name.rpartition(".")[2]] = option.name
    return aliases


def parse_command_line(argv: list[str]) -> Optional[CommandLine]:
    """Parses the command line of trainer.task.

    Args:
        argv: the arguments after the program's name.

    Returns:
        The values; None if --help was given. In this case the help text has been printed.

    Raises:
        UserError: an unknown flag, a flag without a value, or an argument that is not a flag.
    """

    def define(values: flags.FlagValues) -> None:
        _define(values)
        _define_user(values, argv)

    values = parse_flags(
        "trainer.task",
        define,
        argv,
        USAGE,
        describe=lambda values: _describe() if values.helpfull else _describe_most(),
    )
    if values is None:
        return None
    if values.dry_run and values.reuse:
        raise UserError("--dry_run and --reuse: are both given; remove one of them")
    prints = [name for name in ("config", "json_schema") if values[f"print_{name}"].value]
    return CommandLine(
        values.hparams,
        _collect(values),
        values.dry_run,
        values.fresh and os.path.expanduser(values.fresh),
        bool(values.reuse),
        prints[0] if prints else None,
    )


def runs_job(argv: list[str]) -> bool:
    """Returns whether a command line, perhaps one that cannot be parsed, asks for a job.

    Args:
        argv: the arguments after the program's name.
    """
    return not {f"--{name}" for name in _SWITCHES if name != "reuse"} & set(argv)


def find_job_dir(argv: list[str]) -> Optional[str]:
    """Returns the job_dir of a command line, perhaps of one that cannot be parsed; None for none.

    Args:
        argv: the arguments after the program's name.
    """
    found = None
    for word, following in zip_longest(argv, argv[1:]):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and SHORT_NAMES.get(name, name) == "job_dir":
            found = value if equals else following
    return found and os.path.expanduser(found)


def _define(values: flags.FlagValues) -> None:
    for name, described in COMMANDS.items():
        define = flags.DEFINE_boolean if name in _SWITCHES else flags.DEFINE_string
        define(name, None, described, flag_values=values)
    for option in config_lib.list_options():
        names = [option.name]
        names += [alias for alias, target in list_aliases().items() if target == option.name]
        define = flags.DEFINE_boolean if option.annotation is bool else flags.DEFINE_string
        for name in names:
            define(name, None, option.description, flag_values=values)


def _define_user(values: flags.FlagValues, argv: list[str]) -> None:
    """Adds a flag for each --user.NAME and --secret.NAME on the command line."""
    for word in argv:
        match = re.match(
            rf"--?((?:{config_lib.USER}|{config_lib.SECRET})\.[A-Za-z_]\w*)(=|$)", word
        )
        if match and match.group(1) not in values:
            flags.DEFINE_string(match.group(1), None, "yours", flag_values=values)


def _collect(values: flags.FlagValues) -> dict[str, Any]:
    """Returns option name → value of every given flag.

    If an option is given by both of its names, the values must be equal.
    """
    aliases = list_aliases()
    overrides: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for name in values:
        flag = values[name]
        if name in (*HELP_FLAGS, *COMMANDS) or not flag.present or flag.value is None:
            continue
        target = aliases.get(name, name)
        if target in overrides and overrides[target] != flag.value:
            raise UserError(
                f"--{spelled[target]}={overrides[target]} and --{name}={flag.value} are the same "
                "option and differ; remove one of them"
            )
        overrides[target], spelled[target] = flag.value, name
    return {name: value for name, value in overrides.items() if name not in ABSL_FLAGS}


def _describe_most() -> str:
    """Returns the --help text after its usage: the commands and the most used options."""
    lines = [wrap(described, f"  --{name:<19}", 23) for name, described in COMMANDS.items()]
    aliases = list_aliases()
    for option in config_lib.list_options():
        if option.name in MOST_USED:
            names = [alias for alias, target in aliases.items() if target == option.name]
            lines += _describe_option(option, names)
    return "\n".join(
        [*lines, "", "--helpfull shows all options; README.md and docs/ explain them."]
    )


def _describe() -> str:
    """Returns the --helpfull text after its usage: every option, by section."""
    own = {
        f"{config_lib.USER}.NAME=VALUE": "a hyperparameter of your own code",
        f"{config_lib.SECRET}.NAME=VARIABLE": "a secret of your own code: the environment "
        "variable that contains it",
    }
    lines = [wrap(text, f"  --{name:<21}", 25) for name, text in {**COMMANDS, **own}.items()]
    aliases: dict[str, list[str]] = {}
    for alias, target in list_aliases().items():
        aliases.setdefault(target, []).append(alias)
    section = ""
    for option in config_lib.list_options():
        if option.section != section:
            section = option.section
            if section:
                annotation = config_lib.Config.model_fields[section].annotation
                lines += ["", wrap(f"{section}: {annotation.__doc__}")]
        lines += _describe_option(option, aliases.get(option.name, []))
    return "\n".join(lines)


def _describe_option(option: config_lib.Option, aliases: list[str]) -> list[str]:
    also = f" (also {', '.join('--' + alias for alias in aliases)})" if aliases else ""
    choices = list_choices(option)
    among = f" One of {', '.join(choices)}." if choices else ""
    default = option.default
    if isinstance(default, tuple):
        default = ",".join(str(part) for part in default)
    suffix = f" [{default}]" if default not in (None, "") else ""
    return [f"  --{option.name}{also}", wrap(f"{option.description}.{among}{suffix}", " " * 6, 6)]


def list_choices(option: config_lib.Option) -> list[str]:
    """Returns the values that an option accepts; an empty list if it accepts others too.

    Args:
        option: the option.
    """
    if typing.get_origin(option.annotation) is typing.Literal:
        return list(typing.get_args(option.annotation))
    return []


def list_inside(
    command: CommandLine,
    is_shared: Callable[[str, str], bool],
    data: Sequence[tuple[str, str]] = (),
) -> list[str]:
    """Returns one line for each file that a job reads in its container.

    Args:
        command: the command line of the job.
        is_shared: function from a path and its flag to whether the job can read it anywhere.
        data: (flag, path) of data files.
    """
    named = {"--hparams": command.hparams}
    named.update({f"--{option}": command.overrides.get(option) for option in IN_CONTAINER})
    files = [
        (option, path)
        for option, path in named.items()
        # The name of a preset has no slash; presets are installed with the trainer.
        if path and ("/" in path or Path(path).is_file())
    ]
    return [
        f"{option}={path} is read in the container: it must exist there, under this path"
        for option, path in [*files, *data]
        if not is_shared(path, option)
    ]
