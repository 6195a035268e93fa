"""The schema: columns, their types and uses, label, weight, key, vocabularies, statistics.

    python -m trainer.schema infer --data=FILES --label=COLUMN     infers a schema from data
    python -m trainer.schema check --schema=FILE --data=FILES      checks data against a schema

This package does not import TensorFlow and reads no data files. trainer.data_validation reads them.
"""

from trainer.schema.columns import MAX_INDICATOR_SIZE, Column, Image, Moments, Part, Text
from trainer.schema.labels import Label
from trainer.schema.loading import load_job_schema, load_schema, parse_schema
from trainer.schema.statistics import (
    Bins,
    Categories,
    Range,
    Statistics,
    dump_public_statistics,
    dump_statistics,
    hide_private,
    parse_statistics,
    resolve_default,
    resolve_defaults,
)
from trainer.schema.types import Cross, Schema, SharedEmbedding

__all__ = [
    "MAX_INDICATOR_SIZE",
    "Bins",
    "Categories",
    "Column",
    "Cross",
    "Image",
    "Label",
    "Moments",
    "Part",
    "Range",
    "Schema",
    "SharedEmbedding",
    "Statistics",
    "Text",
    "dump_public_statistics",
    "dump_statistics",
    "hide_private",
    "load_job_schema",
    "load_schema",
    "parse_schema",
    "parse_statistics",
    "resolve_default",
    "resolve_defaults",
]
