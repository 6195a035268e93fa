"""Builds a frozen Config from defaults, a file and flags; every error is one line."""

import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pydantic
import yaml

from estimator_bridge.user_files.limits import YAML_CHARACTERS, load_yaml
from trainer.config.sections import SECRET, USER, Config
from trainer.config.values import Section
from trainer.errors import UserError, nearest


class Option(NamedTuple):
    """One option.

    Attributes:
        name: dotted: "train.max_steps".
        section: "train"; "" for an option outside sections.
        default: its value where neither file nor flag gives one.
        annotation: its type.
        description: for --help.
    """

    name: str
    section: str
    default: Any
    annotation: Any
    description: str


def list_options() -> Iterator[Option]:
    """Yields every option, in the order of definition."""
    for name, field in Config.model_fields.items():
        # On Python 3.9, `dict[str, str]` is a type, which issubclass of older pydantic refuses.
        kind = typing.get_origin(field.annotation) or field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            for leaf, sub in kind.model_fields.items():
                description = sub.description or ""
                yield Option(f"{name}.{leaf}", name, sub.default, sub.annotation, description)
        elif name not in (USER, SECRET):
            yield Option(name, "", field.default, field.annotation, field.description or "")


def find_preset(name: str, option: str = "hparams", kind: str = "") -> Path:
    """Returns the path of a YAML file: one of the package, or one of the user.

    A name of the package's files is never looked up in the current folder: what happens to be there
    must not change what the name means.

    Args:
        name: the name of a file of the package, or the path of a file.
        option: the option with this value, for messages.
        kind: subfolder of hparams/ that has these files; "" for the presets.

    Raises:
        UserError: there is no such file; the message lists the names.
    """
    here = Path(__file__).resolve().parents[1]
    # The presets of an installed package are in trainer/hparams. Those of a checkout are in the
    # folder hparams beside trainer.
    folders = [folder / "hparams" / kind for folder in (here, here.parent)]
    presets = {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}
    if name in presets:
        return presets[name]
    if Path(name).is_file():
        return Path(name)
    known = ", ".join(presets) or "none"
    raise UserError(
        f"{option}: no file {name!r}{nearest(name, presets)}; name a file or a preset ({known})"
    )


# Characters that YAML can escape but UTF-8 text cannot contain: NUL and surrogates.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """Builds plain values only; raises an error for a duplicate key in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} appears twice", key_node.start_mark
                )
            if key is not None:
                seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except ValueError as error:
            # YAML tries to read 2020-99-99 as a date and 0x_ as a number.
            problem = f"{node.value!r:.40} is invalid ({error}); put text in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error
        # YAML 1.1 reads 1:30 as 90.
        if isinstance(value, (int, float)) and ":" in node.value:
            problem = f"{node.value:.40} is the number {value:.15g} in YAML; put text in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        if isinstance(value, str) and _NO_TEXT.search(value):
            problem = f"{value!r:.40} contains a character that is not text"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


def read_document(path: Path, where: str) -> Any:
    """Reads a YAML document, without executing anything.

    Args:
        path: the file.
        where: start of messages: what the file is, and its path.

    Returns:
        The content; None for an empty file.

    Raises:
        UserError: the file cannot be read, or is not YAML.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            return load_yaml(stream.read(YAML_CHARACTERS + 1), _Loader)
    except OSError as error:
        raise UserError(f"{where}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 text ({error}); save it as UTF-8") from error
    except RecursionError as error:
        raise UserError(f"{where}: nested too deeply; correct the YAML") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise UserError(f"{where}:{line} {problem}; correct the YAML") from error


def read_yaml(path: Path, what: str) -> dict[str, Any]:
    """Reads a YAML mapping, without executing anything.

    Args:
        path: the file.
        what: what the file is, for messages: hparams, schema, ...

    Returns:
        The mapping; empty for an empty file.

    Raises:
        UserError: the file cannot be read, is not YAML or not a mapping.
    """
    content = read_document(path, f"{what} {path}")
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(f"{what} {path}: expected 'name: value' lines, received {content!r:.60}")
    return content


def describe_problem(problem: Mapping[str, Any], known: Iterable[str] = ()) -> str:
    """Returns what is wrong with a value: what was received, and what is wanted.

    Args:
        problem: one of the errors of a pydantic.ValidationError.
        known: keys that a mapping may have, for an unknown one.
    """
    kind, given = problem["type"], f"got {problem['input']!r:.80}"
    if kind == "extra_forbidden":
        return f"no such key{nearest(str(problem['loc'][-1]), known)}"
    if kind == "missing":
        return "is missing; add it"
    if kind == "value_error":
        # Our own validators write complete messages.
        return str(problem["msg"]).removeprefix("Value error, ")
    # The texts of pydantic name Python's types.
    if kind in ("model_type", "dict_type"):
        return f"{given}: write 'name: value' lines, or {{name: value}}"
    if kind == "string_type":
        return f"{given}: write a text; a number, a date, yes and no are in quotes"
    if kind in ("list_type", "tuple_type"):
        return f"{given}: write a list, such as [a, b]"
    return f"{given}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"


def load_config(hparams: Optional[str], overrides: Mapping[str, Any]) -> Config:
    """Returns the configuration: a flag overrides the file, which overrides the default.

    Args:
        hparams: an hparams file or the name of a preset; None: defaults only.
        overrides: dotted option name → value of a flag: text, or a value of the option's type.

    Raises:
        UserError: an unknown option, or a value that the option does not accept.
    """
    values: dict[str, Any] = {}
    source = {}
    if hparams:
        path = find_preset(hparams)
        values = {str(key): value for key, value in read_yaml(path, "hparams").items()}
        data = values.get("data")
        if isinstance(data, dict) and isinstance(data.get("schema_file"), str):
            data["schema_file"] = _find_from(str(path.parent), data["schema_file"])
        # YAML reads a section that contains only comments as None.
        sections = {option.section for option in list_options()}
        for name in sections & values.keys():
            values[name] = {} if values[name] is None else values[name]
        source = {option.name: f"hparams {path}: {option.name}" for option in list_options()}
    for name, value in overrides.items():
        section, _, leaf = name.rpartition(".")
        target = values.setdefault(section, {}) if section else values
        if not isinstance(target, dict):
            raise UserError(f"hparams {hparams}: {section}: expected 'name: value' lines")
        # The path is made absolute. The copy of the configuration in job_dir then refers to the
        # same file.
        target[leaf] = _find_from("", value) if name == "data.schema_file" else value
        if section == USER and isinstance(value, str):
            target[leaf] = _parse_value(name, value)
        source[name] = f"--{name}"
    _drop_replaced(values, overrides, "train", ("max_steps", "epochs"))
    _drop_replaced(values, overrides, "run", ("save_checkpoints_steps", "save_checkpoints_secs"))
    try:
        return Config.model_validate(values)
    except pydantic.ValidationError as error:
        raise UserError(_describe_error(error, source, hparams)) from error


def _find_from(folder: str, path: str) -> str:
    """Returns a path as an absolute path; returns a gs:// address unchanged."""
    path = os.path.expanduser(path)
    return path if path.startswith("gs:/") else os.path.abspath(os.path.join(folder, path))


def _parse_value(name: str, text: str) -> Any:
    """Converts the text of a --user flag as YAML does."""
    try:
        return load_yaml(text, _Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(f"--{name}={text}: not a YAML value; put it in quotes") from error


def _drop_replaced(
    values: dict[str, Any], overrides: Mapping[str, Any], section: str, pair: tuple[str, str]
) -> None:
    """Removes one of two exclusive options from the file's values if a flag sets the other."""
    given = [name for name in pair if f"{section}.{name}" in overrides]
    if len(given) == 1 and isinstance(values.get(section), dict):
        values[section].pop(pair[1 - pair.index(given[0])], None)


def _describe_error(
    error: pydantic.ValidationError, source: dict[str, str], hparams: Optional[str]
) -> str:
    """Returns the first problem as one line: the location, the value received, the remedy."""
    problem = error.errors(include_url=False)[0]
    parts = [str(part) for part in problem["loc"] if not isinstance(part, int)]
    name = ".".join(parts[:2])
    file = f"hparams {hparams}" if hparams else ""
    where = source.get(name, ": ".join(filter(None, (file, name))))
    if problem["type"] == "extra_forbidden":
        known = [option.name for option in list_options()]
        siblings = {option.section for option in list_options()} - {""}
        return f"{where}: no such option{nearest(name, known + sorted(siblings))}"
    message = describe_problem(problem)
    return f"{where}: {message}" if where else message


def to_yaml(config: Config) -> str:
    """Returns a configuration as YAML text, which load_config reads.

    Args:
        config: the configuration.
    """
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
