"""From a file and flags to a frozen Config: default < file < flag, and every error in one line."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pydantic
import yaml

from trainer.config.sections import USER, Config
from trainer.config.values import Section
from trainer.errors import UserError, nearest


class Option(NamedTuple):
    """One leaf of the configuration."""

    name: str  # dotted: "train.max_steps"
    section: str  # "train", or "" at the top
    default: Any
    annotation: Any
    description: str


def list_options() -> Iterator[Option]:
    """Every option, in the order in which it is defined."""
    for name, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            for leaf, sub in field.annotation.model_fields.items():
                yield Option(f"{name}.{leaf}", name, sub.default, sub.annotation, sub.description)
        elif name != USER:
            yield Option(name, "", field.default, field.annotation, field.description)


def find_preset(name: str) -> Path:
    """The hparams file called `name`: a path, or a preset's bare name.

    Raises:
        UserError: there is no such file; lists the presets there are.
    """
    if Path(name).is_file():
        return Path(name)
    here = Path(__file__).resolve().parents[1]
    # Installed: trainer/hparams. In a checkout: hparams beside trainer.
    folders = [folder for folder in (here / "hparams", here.parent / "hparams") if folder.is_dir()]
    presets = {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}
    if name in presets:
        return presets[name]
    known = ", ".join(presets) or "none"
    raise UserError(f"hparams: no file {name!r}{nearest(name, presets)} (presets: {known})")


# YAML can escape them: the end of a C string, and halves of characters, which UTF-8 cannot hold.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """Builds plain values only, and refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} stands there twice", key_node.start_mark
                )
            if key is not None:
                seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node, deep=False):
        try:
            value = super().construct_object(node, deep)
        except ValueError as error:
            # What looks like a date or a number to YAML need not be one: 2020-99-99, 0x_.
            problem = f"{node.value!r:.40} is no value ({error}); if it is text, put it in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error
        if isinstance(value, str) and _NO_TEXT.search(value):
            problem = f"{value!r:.40} has a character that no text has"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


def read_yaml(path: Path, what: str) -> dict[str, Any]:
    """A YAML mapping, read without executing anything.

    Raises:
        UserError: not readable, not YAML, or not a mapping.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise UserError(f"{what} {path}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{what} {path}: not UTF-8 text ({error}); save it as UTF-8") from error
    except RecursionError as error:
        raise UserError(f"{what} {path}: nested too deeply; mend the YAML") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise UserError(f"{what} {path}:{where} {problem}; mend the YAML") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(f"{what} {path}: expected 'name: value' lines, found {content!r:.60}")
    return content


def load_config(hparams: Optional[str], overrides: dict[str, str]) -> Config:
    """Resolves default < file < flag into a frozen Config.

    Args:
        hparams: an hparams file or the name of a preset; None for defaults alone.
        overrides: dotted option name → value, as flags gave it.

    Raises:
        UserError: an unknown key, or a value that is not what the option takes.
    """
    values: dict[str, Any] = {}
    source = {}
    if hparams:
        path = find_preset(hparams)
        values = {str(key): value for key, value in read_yaml(path, "hparams").items()}
        data = values.get("data")
        if isinstance(data, dict) and isinstance(data.get("schema_file"), str):
            data["schema_file"] = _find_from(str(path.parent), data["schema_file"])
        # A section whose lines have all been commented out is an empty one.
        sections = {option.section for option in list_options()}
        for name in sections & values.keys():
            values[name] = {} if values[name] is None else values[name]
        source = {option.name: f"hparams {path}: {option.name}" for option in list_options()}
    for name, value in overrides.items():
        section, _, leaf = name.rpartition(".")
        target = values.setdefault(section, {}) if section else values
        if not isinstance(target, dict):
            raise UserError(f"hparams {hparams}: {section}: expected 'name: value' lines")
        # The copy in job_dir must mean the same file wherever it is read.
        target[leaf] = _find_from("", value) if name == "data.schema_file" else value
        if section == USER:
            target[leaf] = _parse_value(name, value)
        source[name] = f"--{name}"
    _let_flag_choose(values, overrides, "train", ("max_steps", "epochs"))
    _let_flag_choose(values, overrides, "run", ("save_checkpoints_steps", "save_checkpoints_secs"))
    try:
        return Config.model_validate(values)
    except pydantic.ValidationError as error:
        raise UserError(_explain(error, source, hparams)) from error


def _find_from(folder: str, path: str) -> str:
    """A path from a folder as one that means the same from everywhere, as gs:// addresses do."""
    return path if path.startswith("gs:/") else os.path.abspath(os.path.join(folder, path))


def _parse_value(name: str, text: str) -> Any:
    """A flag's text as YAML would type it."""
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise UserError(f"--{name}={text}: not a YAML value; put it in quotes") from error


def _let_flag_choose(values, overrides, section, pair):
    """A flag for one of two exclusive options replaces the file's choice of the other."""
    given = [name for name in pair if f"{section}.{name}" in overrides]
    if len(given) == 1 and isinstance(values.get(section), dict):
        values[section].pop(pair[1 - pair.index(given[0])], None)


def _explain(error: pydantic.ValidationError, source, hparams) -> str:
    """The first problem as one line: where, the value received, what to do."""
    problem = error.errors(include_url=False)[0]
    parts = [str(part) for part in problem["loc"] if not isinstance(part, int)]
    name = ".".join(parts[:2])
    where = source.get(name, f"hparams {hparams}: {name}" if hparams else name)
    if problem["type"] == "extra_forbidden":
        known = [option.name for option in list_options()]
        siblings = {option.section for option in list_options()} - {""}
        return f"{where}: no such option{nearest(name, known + sorted(siblings))}"
    message = problem["msg"]
    if problem["type"] == "value_error":
        # Of a whole section: the validator's own words say everything.
        told = message.replace("Value error, ", "")
        return f"{where}: {told}" if where else told
    return f"{where}: got {problem['input']!r:.80}: {message[:1].lower()}{message[1:]}"


def to_yaml(config: Config) -> str:
    """The resolved configuration as text that load_config reads back."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
