"""python -m trainer.completion SHELL: completes commands and flags.

SHELL is bash, zsh or fish. For bash, add the first line to ~/.bashrc. For zsh, the folder must be
on fpath.

  source <(estimator-trainer completion bash)
  estimator-trainer completion zsh > ~/.zfunc/_estimator-trainer
  estimator-trainer completion fish \\
      > ~/.config/fish/completions/estimator-trainer.fish

The script completes the program estimator-trainer. It contains the flags as they are declared now:
write it again after an update of the package.
"""

import contextlib
import io
import runpy
import sys
from typing import NamedTuple

from absl import flags

from trainer import config as config_lib
from trainer.command_line import COMMANDS, SUBCOMMANDS
from trainer.config import arguments, commands
from trainer.config.flags import list_aliases, list_choices
from trainer.errors import UserError

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "estimator-trainer"


class Flag(NamedTuple):
    """A flag of a command.

    Attributes:
        name: without dashes.
        help: what it is, one line.
        choices: its values; empty if there are others.
        is_switch: whether it needs no value.
    """

    name: str
    help: str
    choices: tuple[str, ...]
    is_switch: bool


def main(argv: list[str]) -> int:
    """Prints the script and returns the exit status.

    Args:
        argv: the name of the shell.

    Raises:
        UserError: there is no such shell.
    """
    words = [word for word in argv[:1] if not word.startswith("-")]
    values = arguments.parse_flags(
        "trainer.completion", lambda values: None, argv[len(words) :], __doc__ or ""
    )
    if values is None:
        return 0
    if not words or words[0] not in SHELLS:
        given = f"{words[0]!r}: no such shell" if words else "no shell given"
        raise UserError(f"{given}; use {', '.join(SHELLS)}")
    write = {"bash": _write_bash, "zsh": _write_zsh, "fish": _write_fish}[words[0]]
    print("\n".join(write({command: list_flags(command) for command in COMMANDS})))
    return 0


def list_flags(command: str) -> list[Flag]:
    """Returns the flags that a command declares; all its subcommands together.

    Args:
        command: a key of COMMANDS.
    """
    found: dict[str, Flag] = {}
    for words in [[name] for name in SUBCOMMANDS.get(command, ())] or [[]]:
        before, sys.argv = sys.argv, [command, *words]
        try:
            with arguments.collecting() as declared, contextlib.redirect_stdout(io.StringIO()):
                runpy.run_module(f"trainer.{command}", run_name="__main__")
        except SystemExit:
            pass
        finally:
            sys.argv = before
        for values in declared:
            found.update({flag.name: flag for flag in map(_describe, _list_shown(values))})
    return sorted(found.values())


def _list_shown(values: flags.FlagValues) -> list[flags.Flag]:  # type: ignore[type-arg]
    return [values[name] for name in values if name not in (*arguments.ABSL_FLAGS, "h")]


def _describe(flag: "flags.Flag") -> Flag:  # type: ignore[type-arg]
    aliases = list_aliases()
    choices = tuple(getattr(flag.parser, "enum_values", None) or ())
    if not choices:
        name = aliases.get(flag.name, flag.name)
        choices = _OPTIONS.get(name, ())
    text = " ".join((flag.help or "").split())
    return Flag(flag.name, text, tuple(map(str, choices)), bool(flag.boolean))


_OPTIONS = {option.name: tuple(list_choices(option)) for option in config_lib.list_options()}


def _write_bash(known: dict[str, list[Flag]]) -> list[str]:
    lines = [
        f"# Completion of {PROGRAM} for bash.",
        "_estimator_trainer() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="" flags="" choices=""',
        '    local command="${COMP_WORDS[1]}" word',
        "    COMPREPLY=()",
        "    if (( COMP_CWORD == 1 )); then",
        f'        COMPREPLY=($(compgen -W "{" ".join(known)}" -- "$current"))',
        "        return",
        "    fi",
        '    for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do',
        "        # What follows is for trainer.task.",
        '        [[ "$word" == "--" ]] && command=task',
        "    done",
        "    # bash splits words at =, so --name=value are three words.",
        '    if [[ "$current" == "=" ]]; then',
        '        before="${COMP_WORDS[COMP_CWORD-1]}" current=""',
        '    elif [[ "${COMP_WORDS[COMP_CWORD-1]}" == "=" ]]; then',
        '        before="${COMP_WORDS[COMP_CWORD-2]}"',
        "    fi",
        '    case "$command" in',
    ]
    for command, declared in known.items():
        words = [*SUBCOMMANDS.get(command, ()), *(_spell(flag) for flag in declared)]
        lines.append(f'        {command}) flags="{" ".join(words)}" ;;')
    lines += ["    esac", '    case "$command $before" in']
    for command, declared in known.items():
        lines += [
            f'        "{command} --{flag.name}") choices="{" ".join(flag.choices)}" ;;'
            for flag in declared
            if flag.choices
        ]
    return [
        *lines,
        "    esac",
        '    if [[ -n "$choices" ]]; then',
        '        COMPREPLY=($(compgen -W "$choices" -- "$current"))',
        '    elif [[ -n "$before" ]]; then',
        '        COMPREPLY=($(compgen -f -- "$current"))',
        "    else",
        '        COMPREPLY=($(compgen -W "$flags" -- "$current"))',
        '        [[ "${COMPREPLY[0]}" == *= ]] && compopt -o nospace',
        "    fi",
        "}",
        f"complete -o filenames -o bashdefault -F _estimator_trainer {PROGRAM}",
    ]


def _spell(flag: Flag) -> str:
    return f"--{flag.name}" if flag.is_switch else f"--{flag.name}="


def _write_zsh(known: dict[str, list[Flag]]) -> list[str]:
    lines = [
        f"#compdef {PROGRAM}",
        "_estimator_trainer() {",
        "    local -a commands",
        "    commands=(",
        *(f"        {_quote(f'{name}:{COMMANDS[name]}')}" for name in known),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
        "    local place=${words[(i)--]}",
        "    if (( place < CURRENT )); then",
        "        # What follows is for trainer.task.",
        "        command=task",
        "        shift $(( place - 1 )) words",
        "        (( CURRENT -= place - 1 ))",
        "        words[1]=task",
        "    fi",
        "    case $command in",
    ]
    for command, declared in known.items():
        specs = [f"1:command:({' '.join(SUBCOMMANDS[command])})"] if command in SUBCOMMANDS else []
        for flag in declared:
            text = flag.help.translate(str.maketrans("[]", "()")).replace(":", "\\:")
            values = f"({' '.join(flag.choices)})" if flag.choices else "_files"
            value = "" if flag.is_switch else f":value:{values}"
            sign = "" if flag.is_switch else "="
            specs.append(f"--{flag.name}{sign}[{text}]{value}")
        quoted = " \\\n            ".join(map(_quote, [*specs, "*:file:_files"]))
        lines.append(f"        {command}) _arguments {quoted} ;;")
    return [*lines, "    esac", "}", '_estimator_trainer "$@"']


def _write_fish(known: dict[str, list[Flag]]) -> list[str]:
    lines = [
        f"# Completion of {PROGRAM} for fish.",
        "function __estimator_trainer_runs",
        "    set -l words (commandline -opc)",
        '    not contains -- -- $words; and test "$words[2]" = "$argv[1]"',
        "end",
        "# What follows -- is for trainer.task; fish itself takes it for arguments.",
        f"complete -c {PROGRAM} -n 'contains -- -- (commandline -opc)' "
        f"-a {_quote(' '.join(map(_spell, known['task'])))}",
    ]
    for command, declared in known.items():
        first = f"complete -c {PROGRAM}"
        lines.append(
            f"{first} -n '__estimator_trainer_runs \"\"' -f -a {command} "
            f"-d {_quote(COMMANDS[command])}"
        )
        within = f"{first} -n '__estimator_trainer_runs {command}'"
        for word in SUBCOMMANDS.get(command, ()):
            lines.append(f"{within} -f -a {word}")
        for flag in declared:
            value = "" if flag.is_switch else " -r"
            if flag.choices:
                value = f" -x -a {_quote(' '.join(flag.choices))}"
            lines.append(f"{within} -l {flag.name} -d {_quote(flag.help)}{value}")
    return lines


def _quote(text: str) -> str:
    """Returns a text in single quotes, for all three shells."""
    return "'" + text.replace("'", "’") + "'"


if __name__ == "__main__":
    sys.exit(commands.run(main, sys.argv[1:]))
