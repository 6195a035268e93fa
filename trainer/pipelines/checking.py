"""Checks the flags of every step before the first step runs, as the command of the step does.

A wrong flag of the last step would otherwise be found after the training.
"""

import contextlib
import io
import os
from collections.abc import Callable, Sequence
from typing import Optional

from absl import flags

from trainer import config as config_lib
from trainer import storage
from trainer.config.flags import parse_command_line
from trainer.data_validation.check import parse_check
from trainer.data_validation.infer import parse_infer
from trainer.errors import UserError
from trainer.evaluation import command as evaluate
from trainer.evaluation import page_command as report
from trainer.gating import command as gate
from trainer.gating.rules import parse_rules
from trainer.inputs.files import list_paths
from trainer.pipelines.definition import Pipeline, Step, fill, split_paths
from trainer.prediction import command as predict
from trainer.release import push_command as push
from trainer.sandboxing import command as sandbox
from trainer.schema import load_schema
from trainer.tuning import command as tune
from trainer.tuning import command_line as tune_flags
from trainer.watching import join_command as join_labels

# Stands for {key}, which is known when a step starts.
_KEY = "0" * 12
# Flags of data files.
_DATA = ("data", "train_data", "eval_data", "data.train", "data.eval", "requests", "labels")
# Command → its parser. It returns None if it has printed its help.
_PARSERS: dict[str, Callable[[list[str]], Optional[flags.FlagValues]]] = {
    "schema infer": parse_infer,
    "schema check": parse_check,
    "join_labels": join_labels.parse,
    "evaluate": evaluate.parse,
    "gate": gate.parse,
    "sandbox": sandbox.parse,
    "push": push.parse,
    "predict": predict.parse,
    "report": report.parse,
}


def check_steps(pipeline: Pipeline, is_here: bool) -> None:
    """Checks the flags of every step, and the files of options that they name.

    Args:
        pipeline: the pipeline.
        is_here: whether the steps will run on this machine, in this folder. Only then are files
            read, but not those that an earlier step writes, and packages must be installed.

    Raises:
        UserError: a flag or a file is wrong; the message names the step.
    """
    earlier: dict[str, Step] = {}
    made: list[str] = []
    for step in pipeline.steps:
        filled = fill(step, earlier, _KEY)
        earlier[step.name] = filled
        # A parser prints its help, and a line if a list repeats a flag that has one value.
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(printed):
                _check(filled, made if is_here else None)
        except UserError as error:
            raise UserError(f"step {step.name}: {error}") from error
        if printed.getvalue():
            lost = printed.getvalue().splitlines()[0].removeprefix("warning: ")
            raise UserError(f"step {step.name}: {lost}; write one text, with commas between values")
        made += [os.path.abspath(path) for path in filled.list_outputs()]


def find_missing_data(pipeline: Pipeline) -> list[str]:
    """Returns a line for each data path that matches no file now, unless an earlier step writes it.

    It is no error: the files may arrive before the step starts.

    Args:
        pipeline: the pipeline, which will run on this machine, in this folder.
    """
    earlier: dict[str, Step] = {}
    made: list[str] = []
    lines = []
    for step in pipeline.steps:
        filled = fill(step, earlier, _KEY)
        earlier[step.name] = filled
        named = [(name, text) for name, text in filled.list_texts() if name in _DATA]
        for name, text in named:
            for one in split_paths(text):
                is_known = storage.is_remote(one) or _is_made(one.strip(), made)
                if not is_known and not list_paths(one.strip(), name):
                    lines.append(
                        f"step {step.name}: {name}: no file matches {one.strip()!r} (looked from "
                        f"{os.getcwd()}); the step needs it when it starts"
                    )
        made += [os.path.abspath(path) for path in filled.list_outputs()]
    return lines


def _is_made(path: str, made: Sequence[str]) -> bool:
    path = os.path.abspath(path)
    return any(path == one or path.startswith(f"{one}{os.sep}") for one in made)


def _check(step: Step, made: Optional[Sequence[str]]) -> None:
    """Checks a step; `made`: the absolute paths that earlier steps write, None to read no file."""

    def can_read(path: Optional[str]) -> bool:
        if not path or made is None or storage.is_remote(path):
            return False
        return not _is_made(path, made)

    argv = step.list_arguments()[len(step.command.split()) :]
    if step.command == "task":
        _check_task(argv, can_read)
        return
    if step.command == "tune":
        _check_tune(argv, can_read)
        return
    values = _PARSERS[step.command](argv)
    if values is None:
        raise _refuse_help()
    given = {name: values[name].value for name in values if "." in name}
    config_lib.load_config(None, {k: v for k, v in given.items() if v is not None})
    if "schema" in values and can_read(values.schema):
        load_schema(values.schema)
    if step.command == "gate" and can_read(values.rules):
        parse_rules(values.rules)
    if made is not None and step.command == "sandbox":
        sandbox.require_programs(values)


def _refuse_help() -> UserError:
    return UserError("would only print its help or the version; remove this flag")


def _check_task(argv: list[str], can_read: Callable[[Optional[str]], bool]) -> None:
    command = parse_command_line(argv)
    if command is None:
        raise _refuse_help()
    if command.prints:
        raise UserError(f"--print_{command.prints}: the step would only print; remove it")
    if command.hparams is None or can_read(command.hparams):
        config = config_lib.load_config(command.hparams, command.overrides)
        if can_read(config.data.schema_file):
            load_schema(str(config.data.schema_file))


def _check_tune(argv: list[str], can_read: Callable[[Optional[str]], bool]) -> None:
    parsed = tune_flags.parse(argv)
    if parsed is None:
        raise _refuse_help()
    values, command = parsed
    files = [values.tuning, values.rules, values.baseline, command.hparams]
    files.append(command.overrides.get("data.schema_file"))
    if all(path is None or can_read(path) for path in files):
        tune.read_options(values, command)
