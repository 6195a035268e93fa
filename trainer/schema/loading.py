"""Reads a schema file; every error names the field and the remedy."""

import os
from pathlib import Path
from typing import Any, Callable

import pydantic

from trainer.config import DataConfig, describe_problem, read_yaml
from trainer.errors import UserError, nearest
from trainer.schema.columns import Column, Image, Moments, Text
from trainer.schema.labels import Label
from trainer.schema.types import Cross, Schema, SharedEmbedding
from trainer.schema.vocabulary import check_feature_vocabulary, check_vocabulary

# Names that pydantic gives to the alternatives of a field's type in the location of an error.
_ALTERNATIVES = ("literal[", Moments.__name__)


def load_job_schema(data: DataConfig, fetch: Callable[[str], str] = str) -> Schema:
    """Reads the schema that the configuration of a job names.

    Args:
        data: names the file.
        fetch: returns a local path with the content of a path.

    Raises:
        UserError: no file is named, or it is wrong.
    """
    if not data.schema_file:
        raise UserError(
            "data.schema_file: not given; set --data.schema_file=FILE or --hparams=PRESET"
        )
    return load_schema(data.schema_file, fetch)


def load_schema(path: str, fetch: Callable[[str], str] = str) -> Schema:
    """Reads a schema and its vocabulary files.

    Args:
        path: path of the schema.
        fetch: returns a local path with the content of a path.

    Raises:
        UserError: a file cannot be read, or the schema has an unknown key or a contradiction.
    """
    local = fetch(path)
    try:
        values = read_yaml(Path(local), "schema")
    except UserError as error:
        raise type(error)(str(error).replace(local, path)) from error.__cause__
    schema = parse_schema(values, path)
    columns = {
        name: _read_vocabulary(column, name, path, fetch) for name, column in schema.columns.items()
    }
    return schema.model_copy(update={"columns": columns})


def parse_schema(values: Any, path: str) -> Schema:
    """Returns the schema of plain values.

    Args:
        values: the content of a schema file.
        path: path of this file, for messages.

    Raises:
        UserError: the schema has an unknown key or a contradiction.
    """
    try:
        return Schema.model_validate(values)
    except pydantic.ValidationError as error:
        raise UserError(f"schema {path}: {_describe_error(error)}") from error


def _read_vocabulary(
    column: Column, name: str, schema_path: str, fetch: Callable[[str], str]
) -> Column:
    if column.vocabulary_file is None:
        return column
    path = os.path.join(os.path.dirname(schema_path), column.vocabulary_file)
    try:
        text = Path(fetch(path)).read_text(encoding="utf-8")
        # str.splitlines would also split at characters such as U+2028.
        lines: list[Any] = text.removesuffix("\n").split("\n") if text else []
        if column.type == "int":
            lines = [int(line) for line in lines]
        check_vocabulary(lines, column.type)
        check_feature_vocabulary(lines)
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise UserError(
            f"schema {schema_path}: columns.{name}.vocabulary_file {path}: {problem}; "
            "write one value per line"
        ) from error
    return column.model_copy(update={"vocabulary": tuple(lines), "vocabulary_file": None})


def _describe_error(error: pydantic.ValidationError) -> str:
    """Returns the first problem as one line."""
    first, *others = error.errors(include_url=False)
    # Some fields accept a word or a mapping. For a mapping, describe the problem inside it.
    is_mapping = isinstance(first.get("input"), dict) and first["type"] == "literal_error"
    depth = len(first["loc"]) - 1
    beside = [each for each in others if each["loc"][:depth] == first["loc"][:depth]]
    problem = beside[0] if is_mapping and beside else first
    # The location contains the alternatives of a field's type. They are not part of its name.
    names = [str(part) for part in problem["loc"] if not str(part).startswith(_ALTERNATIVES)]
    where = ".".join(names)
    if problem["type"] == "extra_forbidden":
        known = {
            name
            for node in (Schema, Column, Cross, Image, Label, Moments, SharedEmbedding, Text)
            for name in node.model_fields
        }
        return f"{where}: no such field{nearest(names[-1], known)}"
    if problem["type"] == "missing":
        return f"{where}: is missing; add it to the schema"
    message = describe_problem(problem)
    return f"{where}: {message}" if where else message
