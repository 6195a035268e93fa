"""The options of the data: files, how they are read, and which rows are evaluated."""

from typing import Annotated, Literal, Optional, get_args

import pydantic
from pydantic import BeforeValidator, Field

from trainer.config.values import (
    OptionalStr,
    Section,
    StrList,
    auto_or_off,
    check_delimiter,
    check_encoding,
    none,
    yes_or_no,
)

DataFormat = Literal["auto", "csv", "tfrecord", "parquet", "jsonl"]
DATA_FORMATS: tuple[str, ...] = get_args(DataFormat)


class DataConfig(Section):
    """Where the rows come from."""

    train: StrList = Field(
        (),
        description="training files: paths, globs, directories",
    )
    eval: StrList = Field(
        (),
        description="evaluation files: paths, globs, directories",
    )
    eval_share: Annotated[Optional[float], BeforeValidator(none)] = Field(
        None,
        gt=0,
        lt=1,
        description="share of the rows of data.train to evaluate on, chosen by a hash of eval_by; "
        "instead of data.eval",
    )
    eval_after: OptionalStr = Field(
        None,
        description="evaluate on the rows of data.train from this time on, such as 2020-12-31; "
        "instead of data.eval",
    )
    eval_by: StrList = Field(
        (),
        description="with eval_share: the columns to hash, so that rows with equal values stay "
        "together; unset: the key, or all features. With eval_after: the column of the times; "
        "unset: the only date",
    )
    schema_file: OptionalStr = Field(
        None,
        description="YAML file of columns, types and label; relative to the hparams file",
    )
    format: DataFormat = Field(
        "auto",
        description="file format; auto: by the name and the first bytes of the file",
    )
    added_columns: StrList = Field(
        (),
        description="columns that were added to a Parquet data set later; they are missing values "
        "in files without them",
    )
    delimiter: Annotated[str, BeforeValidator(check_delimiter)] = Field(
        ",",
        min_length=1,
        max_length=1,
        description="CSV field delimiter; \\t or tab for a tab",
    )
    header: Annotated[Literal["auto", "yes", "no"], BeforeValidator(yes_or_no)] = Field(
        "auto",
        description="whether CSV files have a header line; auto: yes if the first line has the "
        "column names",
    )
    encoding: Annotated[str, BeforeValidator(check_encoding)] = Field(
        "utf-8",
        description="encoding of CSV files, such as cp1252, latin-1 or utf-16",
    )
    max_bad_rows: int = Field(
        0,
        ge=0,
        description="number of invalid rows to skip, separately in the training and the "
        "evaluation data",
    )
    max_row_mib: int = Field(
        1,
        ge=1,
        le=512,
        description="size limit of a CSV row, MiB; files are read in blocks of this size",
    )
    max_column_mib: int = Field(
        1024,
        ge=1,
        description="size limit of a column of a Parquet row group that is compressed to less than "
        "1/200, MiB",
    )
    shuffle_rows: int = Field(
        300_000,
        ge=1,
        description="size of the shuffle buffer for training, rows; 1: no shuffling",
    )
    cache: Annotated[str, BeforeValidator(auto_or_off)] = Field(
        "auto",
        min_length=1,
        description="folder of encoded rows, for the fused engine; gs:// if trainer.prepare has "
        "filled it; auto: ~/.cache/estimator_trainer; off: none",
    )
    cache_max_gb: float = Field(
        10.0,
        gt=0,
        description="size limit of the cache, GB; least recently used files are deleted",
    )

    @pydantic.model_validator(mode="after")
    def _one_evaluation(self) -> "DataConfig":
        given = [name for name in ("eval", "eval_share", "eval_after") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{given[0]} and {given[1]} are both given; remove one of them")
        if self.eval_by and not self.is_split:
            raise ValueError("eval_by has no effect without eval_share or eval_after; give one")
        return self

    @property
    def is_split(self) -> bool:
        """Whether the evaluation rows are a part of the rows of data.train."""
        return self.eval_share is not None or self.eval_after is not None
