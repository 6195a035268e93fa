"""The file of a pipeline."""

import hashlib
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Union

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from trainer import config as config_lib
from trainer.errors import UserError, nearest

# Command of a step → the flags that name its output files and folders.
COMMANDS: dict[str, tuple[str, ...]] = {
    "schema infer": ("output",),
    "schema check": (),
    "join_labels": ("output",),
    "tune": ("study_dir", "job_dir"),
    "task": ("job_dir",),
    "evaluate": ("output",),
    "gate": (),
    "sandbox": (),
    "push": ("to",),
    "predict": ("output",),
    "report": ("output",),
}
# Commands that write over an existing output only with --overwrite.
_REFUSING = ("schema infer", "join_labels")
# A reference in a value: {STEP.FLAG} stands for the value of that flag, {key} for the step's key.
_REFERENCE = re.compile(r"\{([\w-]+)(?:\.([\w.]+))?\}")
KEY = "key"
_Value = Union[bool, int, float, str, list[Union[int, float, str]]]


class Step(BaseModel):
    """A step of a pipeline.

    Attributes:
        name: name of the step; default: the command.
        command: a key of COMMANDS.
        flags: flag without dashes → value; for a list, the flag is repeated.
        task: flags of trainer.task, for the command tune.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = ""
    command: str
    flags: dict[str, _Value] = {}
    task: dict[str, _Value] = {}

    @field_validator("flags", "task", mode="before")
    @classmethod
    def _check_values(cls, values: Any) -> Any:
        for name, value in values.items() if isinstance(values, dict) else ():
            for one in value if isinstance(value, list) else [value]:
                kinds = (int, float, str) if isinstance(value, list) else (bool, int, float, str)
                if not isinstance(one, kinds) or (one is not value and isinstance(one, bool)):
                    raise ValueError(
                        f"{name}: got {one!r:.80}: write a text (a date in quotes), a number, "
                        "true, false, or a list of texts and numbers"
                    )
        return values

    @field_validator("command")
    @classmethod
    def _check_command(cls, value: str) -> str:
        if value not in COMMANDS:
            raise ValueError(f"no such command{nearest(value, COMMANDS)}")
        return value

    def list_arguments(self) -> list[str]:
        """Returns the command line after `python -m`."""
        module, *words = self.command.split()
        arguments = [f"trainer.{module}", *words, *_list_flags(self.flags)]
        return [*arguments, "--", *_list_flags(self.task)] if self.task else arguments

    def list_texts(self) -> list[tuple[str, str]]:
        """Returns flag and value of each value that is a text."""
        return [
            (name, one)
            for flags in (self.flags, self.task)
            for name, value in flags.items()
            for one in (value if isinstance(value, list) else [value])
            if isinstance(one, str)
        ]

    def list_outputs(self) -> list[str]:
        """Returns the paths that the step writes."""
        return [str(self.flags[name]) for name in COMMANDS[self.command] if name in self.flags]


class Pipeline(BaseModel):
    """The content of the file.

    Attributes:
        folder: folder of the history, relative to the current folder.
        steps: the steps in their order.
        fingerprint: fingerprint of the file.
    """

    model_config = ConfigDict(extra="forbid")

    folder: str
    steps: list[Step]
    fingerprint: str = ""


def _list_flags(flags: dict[str, _Value]) -> list[str]:
    found = []
    for name, value in flags.items():
        if isinstance(value, bool):
            found.append(f"--{name}" if value else f"--no{name}")
        else:
            found += [f"--{name}={one}" for one in (value if isinstance(value, list) else [value])]
    return found


def read_pipeline(name: str) -> Pipeline:
    """Reads a pipeline.

    Args:
        name: path of the file, or the name of a file in hparams/pipelines/.

    Raises:
        UserError: the file is invalid; the message names the step.
    """
    path = config_lib.find_preset(name, "FILE", "pipelines")
    values = config_lib.read_yaml(path, "pipeline")
    try:
        pipeline = Pipeline.model_validate(values)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = config_lib.describe_problem(first, [*Pipeline.model_fields, *Step.model_fields])
        raise UserError(f"{path}: {where}: {message}; correct the file") from error
    pipeline.fingerprint = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    known: dict[str, Step] = {}
    for step in pipeline.steps:
        step.name = step.name or step.command.replace(" ", "_")
        if step.name in known:
            raise UserError(f"{path}: two steps have the name {step.name!r}; rename one of them")
        for match in _list_references(step):
            _check_reference(match, step, known, str(path))
        known[step.name] = step
    if not known:
        raise UserError(f"{path}: steps: the list is empty; add at least one step")
    return pipeline


def _list_references(step: Step) -> list["re.Match[str]"]:
    return [match for _, text in step.list_texts() for match in _REFERENCE.finditer(text)]


def _check_reference(match: "re.Match[str]", step: Step, known: dict[str, Step], path: str) -> None:
    name, flag = match.groups()
    if (name == KEY and flag is None) or (name in known and flag in known[name].flags):
        return
    raise UserError(
        f"{path}: step {step.name}: {match.group()}: no flag of an earlier step; write {{{KEY}}}, "
        "or {STEP.FLAG} of an earlier step"
    )


def fill(step: Step, earlier: dict[str, Step], key: str) -> Step:
    """Returns a step whose references to earlier steps are replaced by values.

    Args:
        step: the step. References to other steps are kept.
        earlier: name → earlier step, whose references have been replaced.
        key: key of this step, which replaces {key}.
    """

    def insert(match: "re.Match[str]") -> str:
        name, flag = match.groups()
        if flag is None:
            return key
        return str(earlier[name].flags[flag]) if name in earlier else match.group()

    def fill_all(flags: dict[str, _Value]) -> dict[str, _Value]:
        filled: dict[str, _Value] = {}
        for name, value in flags.items():
            if isinstance(value, str):
                value = _REFERENCE.sub(insert, value)
            elif isinstance(value, list):
                value = [
                    _REFERENCE.sub(insert, one) if isinstance(one, str) else one for one in value
                ]
            filled[name] = value
        return filled

    return step.model_copy(update={"flags": fill_all(step.flags), "task": fill_all(step.task)})


def split_paths(text: str) -> list[str]:
    """Returns the paths or patterns in the value of a flag, where several have commas between them.

    Args:
        text: the value. An existing path is one, even with commas in it.
    """
    return [text] if os.path.exists(text) else text.split(",")


def admit_first_model(step: Step, written: Collection[str]) -> Step:
    """Adds --may_be_first to a gate if the pipeline itself pushes to the gate's baseline.

    Args:
        step: a step whose references have been replaced; other steps than such a gate are returned
            unchanged.
        written: paths that this step and later ones write.
    """
    if step.command != "gate" or step.flags.get("baseline") not in written:
        return step
    return step.model_copy(update={"flags": {**step.flags, "may_be_first": True}})


def replace_own_output(step: Step, given: Step) -> Step:
    """Adds --overwrite if a step would refuse an output that only this step writes.

    Otherwise a step that was killed after it had written its output would fail for ever.

    Args:
        step: a step whose references have been replaced.
        given: the same step with its references.
    """
    is_own = f"{{{KEY}}}" in str(given.flags.get("output"))
    if step.command not in _REFUSING or not is_own or "overwrite" in step.flags:
        return step
    return step.model_copy(update={"flags": {**step.flags, "overwrite": True}})
