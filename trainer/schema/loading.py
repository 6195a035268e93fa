"""Reads a schema file; every error says where and what to do."""

import os
from pathlib import Path
from typing import Any, Callable

import pydantic

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.schema.columns import Column, Image, Moments, Text
from trainer.schema.labels import Label
from trainer.schema.types import Cross, Schema, SharedEmbedding
from trainer.schema.vocabulary import check_vocabulary, refuse_no_value

# How pydantic calls the alternatives of a field's type in the place of an error.
_ALTERNATIVES = ("literal[", Moments.__name__)


def load_schema(path: str, fetch: Callable[[str], str] = str) -> Schema:
    """Reads a schema and the vocabulary files it names.

    Args:
        path: of the schema.
        fetch: a path → a path on this machine with the same content.

    Raises:
        UserError: unreadable, an unknown key, a contradiction; says where and what to do.
    """
    here = fetch(path)
    try:
        values = config_lib.read_yaml(Path(here), "schema")
    except UserError as error:
        raise UserError(str(error).replace(here, path)) from error.__cause__
    try:
        schema = Schema.model_validate(values)
    except pydantic.ValidationError as error:
        raise UserError(f"schema {path}: {_explain(error)}") from error
    columns = {
        name: _read_vocabulary(column, name, path, fetch) for name, column in schema.columns.items()
    }
    return schema.model_copy(update={"columns": columns})


def _read_vocabulary(
    column: Column, name: str, schema_path: str, fetch: Callable[[str], str]
) -> Column:
    if column.vocabulary_file is None:
        return column
    path = os.path.join(os.path.dirname(schema_path), column.vocabulary_file)
    here = fetch(path)
    try:
        text = Path(here).read_text(encoding="utf-8")
        # Python's own splitlines would cut at what is a part of words, such as U+2028.
        lines: list[Any] = text.removesuffix("\n").split("\n") if text else []
        if column.type == "int":
            lines = [int(line) for line in lines]
        check_vocabulary(lines, column.type)
        refuse_no_value(lines)
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise UserError(
            f"schema {schema_path}: columns.{name}.vocabulary_file {path}: {problem}; "
            "one value a line is wanted"
        ) from error
    return column.model_copy(update={"vocabulary": tuple(lines), "vocabulary_file": None})


def _explain(error: pydantic.ValidationError) -> str:
    problems = error.errors(include_url=False)
    # Of a field that takes words or a mapping, given a mapping, the mapping's problem is meant.
    first, *others = problems
    is_mapping = isinstance(first.get("input"), dict) and first["type"] == "literal_error"
    depth = len(first["loc"]) - 1
    beside = [each for each in others if each["loc"][:depth] == first["loc"][:depth]]
    problem = beside[0] if is_mapping and beside else first
    # The alternatives of a field's type are no part of its name.
    names = [str(part) for part in problem["loc"] if not str(part).startswith(_ALTERNATIVES)]
    where = ".".join(names)
    if problem["type"] == "extra_forbidden":
        known = {
            name
            for node in (Schema, Column, Cross, Image, Label, Moments, SharedEmbedding, Text)
            for name in node.model_fields
        }
        return f"{where}: no such field{config_lib.nearest(names[-1], known)}"
    if problem["type"] == "missing":
        return f"{where}: is missing; the schema needs it"
    message = problem["msg"].replace("Value error, ", "")
    if problem["type"] == "value_error":
        return f"{where}: {message}" if where else message
    return f"{where}: got {problem['input']!r:.80}: {message[:1].lower()}{message[1:]}"
