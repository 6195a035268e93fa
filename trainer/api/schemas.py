"""`trainer.infer_schema`: a schema from data."""

import tempfile
from pathlib import Path
from typing import NamedTuple, Union

import yaml

import estimator_bridge
from trainer import schema as schema_lib
from trainer import storage
from trainer.api import tables
from trainer.data_validation.infer import InferRequest, infer
from trainer.errors import UserError
from trainer.inputs.files import find_files


class InferredSchema(NamedTuple):
    """A schema that was inferred from data.

    Attributes:
        text: the schema, YAML with comments, as `python -m trainer.schema infer` writes it.
        schema: the schema as an object.
        label_notes: sentences about the label: its values, the positive class, missing labels.
        left_out: column that no part of the model uses → the reason.
        doubts: column → another possible meaning, and the fields to write for it.
    """

    text: str
    schema: schema_lib.Schema
    label_notes: list[str]
    left_out: dict[str, str]
    doubts: dict[str, str]

    def __repr__(self) -> str:
        return self.text

    def save(self, path: Union[str, Path]) -> Path:
        """Writes the schema to a file, to be edited; returns its path.

        Args:
            path: the YAML file; an existing one is replaced.

        Raises:
            UserError: the file cannot be written.
        """
        try:
            storage.write_text(Path(path), self.text)
        except OSError as error:
            raise UserError(f"path {path}: {error.strerror}; name another") from error
        return Path(path)


def infer_schema(data: Union[tables.Table, tables.Files], label: Union[str, int]) -> InferredSchema:
    """Infers a schema from data, as `python -m trainer.schema infer` does.

    Args:
        data: a table, or names of CSV, JSON lines, Parquet or TFRecord files.
        label: the column to predict; a number if the columns of a pandas frame have numbers.

    Returns:
        The schema. It describes columns, not values: edit its text as a file, or replace parts of
        its `schema`.

    Raises:
        UserError: the data cannot be read, or the label is not a column that can be predicted.
    """
    if tables.is_files(data):
        names = tables.list_files(data)
        return _infer(InferRequest(find_files(names, "auto", "data"), names, str(label)))
    table = tables.to_arrow(data, "data")
    with tempfile.TemporaryDirectory(prefix="infer-") as folder:
        path = tables.write_table(table, Path(folder), "data")
        with tables.named_as("data", path):
            files = find_files([str(path)], "parquet", "data")
            return _infer(InferRequest(files, ["a table"], str(label)))


def _infer(request: InferRequest) -> InferredSchema:
    # TFRecord files are read with TensorFlow.
    estimator_bridge.set_verbosity("error")
    found, _, _ = infer(request)
    schema = schema_lib.parse_schema(yaml.safe_load(found.text), "(inferred)")
    return InferredSchema(found.text, schema, found.label_notes, found.left_out, found.doubts)
