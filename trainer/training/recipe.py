"""What is told to the workers of an engine that encode the rows of a job."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from trainer import config as config_lib
from trainer.inputs.files import DataFile
from trainer.schema import Schema, Statistics


class Recipe(NamedTuple):
    """What the encoded rows of a source depend on.

    Attributes:
        schema: of the data.
        statistics: of the training data.
        data: how the files are read.
        defaults: column → value that replaces missing values.
        files: of the source.
    """

    schema: Schema
    statistics: Statistics
    data: config_lib.DataConfig
    defaults: dict[str, Any]
    files: Sequence[DataFile]
