"""What is told to the workers of an engine that encode the rows of a job."""

from typing import Any, NamedTuple

from trainer import config as config_lib
from trainer.schema import Schema, Statistics


class Recipe(NamedTuple):
    """What the encoded rows of a source depend on.

    Attributes:
        schema: of the data.
        statistics: of the training data.
        data: how the files are read.
        defaults: column → value that replaces missing values.
    """

    schema: Schema
    statistics: Statistics
    data: config_lib.DataConfig
    defaults: dict[str, Any]
