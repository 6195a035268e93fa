"""absl flags, made from the configuration's own fields."""

import re
import typing
from typing import Any, NamedTuple, Optional

from absl import flags

from trainer import config as config_lib
from trainer.errors import UserError

# What everyone uses, under the names old trainers had.
SHORT_NAMES = {
    "train_data": "data.train",
    "eval_data": "data.eval",
    "train_steps": "train.max_steps",
    "trainer_fn": "tfx.trainer_fn",
    "model": "model.type",
    "job-dir": "job_dir",
    "strategy": "cluster.strategy",
    "profile_steps": "run.profile_steps",
    "storage": "storage.reader",
}
# Flags that say what to do, where the options say how.
COMMANDS = {
    "hparams": "preset of hparams/, or a YAML file of your own",
    "dry_run": "check everything, train one step in a temporary folder, and end",
    "fresh": "delete what is in job_dir first; give the folder's name again",
}
# Options of these sections are hyperparameters: a tuning service sets them by their last name.
TUNABLE_SECTIONS = ("model", "train")


class CommandLine(NamedTuple):
    """What the command line said.

    Attributes:
        hparams: preset or file; None for neither.
        overrides: option name → value as text.
        dry_run: check everything and train one step, elsewhere.
        fresh: the folder that is to be emptied first.
    """

    hparams: Optional[str]
    overrides: dict[str, Any]
    dry_run: bool
    fresh: Optional[str]


def list_aliases() -> dict[str, str]:
    """Short flag name → dotted option name."""
    aliases = dict(SHORT_NAMES)
    for option in config_lib.list_options():
        if option.section in TUNABLE_SECTIONS:
            aliases[option.name.rpartition(".")[2]] = option.name
    return aliases


def parse_command_line(argv: list[str]) -> Optional[CommandLine]:
    """Parses the arguments after the program's name.

    Returns:
        what was said, or None where --help was asked for (and has been printed).

    Raises:
        UserError: an unknown flag, a flag without a value, a stray word.
    """
    values = flags.FlagValues()
    _define(values)
    _define_user(values, argv)
    known = [name for name in values if name not in ("flagfile", "undefok")]
    try:
        rest = values(["trainer.task", *argv])[1:]
    except flags.UnrecognizedFlagError as error:
        name = error.flagname.lstrip("-")
        hint = config_lib.nearest(name, known).replace("mean ", "mean --")
        raise UserError(f"--{name}: no such flag{hint} (--help lists them all)") from error
    except flags.Error as error:
        raise UserError(f"{' '.join(str(error).split())} (--help lists the flags)") from error
    if values.help:
        print(describe())
        return None
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; write --name=value (--help lists the flags)")
    return CommandLine(values.hparams, _collect(values), values.dry_run, values.fresh)


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_boolean("help", False, "show this help", flag_values=values)
    flags.DEFINE_alias("h", "help", flag_values=values)
    for name, described in COMMANDS.items():
        define = flags.DEFINE_boolean if name == "dry_run" else flags.DEFINE_string
        define(name, None, described, flag_values=values)
    for option in config_lib.list_options():
        names = [option.name]
        names += [alias for alias, target in list_aliases().items() if target == option.name]
        define = flags.DEFINE_boolean if option.annotation is bool else flags.DEFINE_string
        for name in names:
            define(name, None, option.description, flag_values=values)


def _define_user(values: flags.FlagValues, argv: list[str]) -> None:
    """The user's own hyperparameters: whatever --user.NAME the command line has."""
    for word in argv:
        match = re.match(rf"--?({config_lib.USER}\.[A-Za-z_]\w*)(=|$)", word)
        if match and match.group(1) not in values:
            flags.DEFINE_string(match.group(1), None, "yours", flag_values=values)


def _collect(values: flags.FlagValues) -> dict[str, Any]:
    aliases = list_aliases()
    said: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for name in values:
        flag = values[name]
        if name in ("help", "h", *COMMANDS) or not flag.present or flag.value is None:
            continue
        target = aliases.get(name, name)
        if target in said and said[target] != flag.value:
            raise UserError(
                f"--{spelled[target]}={said[target]} and --{name}={flag.value} are the same option "
                "and differ; remove one of them"
            )
        said[target], spelled[target] = flag.value, name
    return {name: value for name, value in said.items() if name not in ("flagfile", "undefok")}


def describe() -> str:
    """The whole --help text."""
    lines = [
        "Train, evaluate and export a TensorFlow Estimator.",
        "",
        "  python -m trainer.task --hparams=census --job_dir=jobs/census \\",
        "      --train_data=data/train.csv --eval_data=data/eval.csv",
        "",
        "An option's value is its default, then what the hparams file says, then the flag.",
        "A run whose job_dir holds a checkpoint goes on from it; nothing there is deleted.",
        "",
        *(f"  --{name:<10}{described}" for name, described in COMMANDS.items()),
    ]
    lines.append(f"  --{config_lib.USER}.NAME=VALUE  a hyperparameter of your own code")
    aliases: dict[str, list[str]] = {}
    for alias, target in list_aliases().items():
        aliases.setdefault(target, []).append(alias)
    section = None
    for option in config_lib.list_options():
        if option.section != section:
            section = option.section
            if section:
                lines += [
                    "",
                    f"{section}: {config_lib.Config.model_fields[section].annotation.__doc__}",
                ]
        lines += _describe_option(option, aliases.get(option.name, []))
    return "\n".join(lines)


def _describe_option(option: config_lib.Option, aliases: list[str]) -> list[str]:
    also = f" (also {', '.join('--' + alias for alias in aliases)})" if aliases else ""
    choices = _list_choices(option.annotation)
    among = f" One of {', '.join(choices)}." if choices else ""
    default = option.default
    if isinstance(default, tuple):
        default = ",".join(str(part) for part in default)
    given = f" [{default}]" if default not in (None, "") else ""
    return [f"  --{option.name}{also}", f"      {option.description}.{among}{given}"]


def _list_choices(annotation: Any) -> list[str]:
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    return []
