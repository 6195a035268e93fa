"""Reads the schema of a pipeline: tensorflow_metadata's Schema in text format."""

from pathlib import Path
from typing import Any, NamedTuple

from trainer import storage
from trainer.errors import UserError


class Described(NamedTuple):
    """What a pipeline's schema says of its examples.

    Attributes:
        vocabularies: column → the values of its string domain, in order.
        identities: int column of categories → number of its ids, which begin with 0.
        unused: columns that are deprecated or only planned.
    """

    vocabularies: dict[str, list[str]]
    identities: dict[str, int]
    unused: list[str]


def read_metadata(path: str) -> Described:
    """Returns what a schema says of its columns.

    Args:
        path: schema.pbtxt, local or gs://.

    Raises:
        UserError: the file cannot be read, or tensorflow_metadata is not installed.
    """
    try:
        from google.protobuf import text_format
        from tensorflow_metadata.proto.v0 import schema_pb2
    except ImportError as error:
        raise UserError(
            f"schema {path}: needs tensorflow_metadata ({error}); pip install tensorflow-metadata"
        ) from error
    try:
        text = Path(storage.fetch_data(path)).read_text(encoding="utf-8")
        schema = text_format.Parse(text, schema_pb2.Schema())
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise UserError(f"schema {path}: {' '.join(str(error).split())[:200]}") from error
    return describe(schema)


def describe(schema: Any) -> Described:
    """Returns what a schema says of its columns.

    Args:
        schema: a tensorflow_metadata Schema.
    """
    shared = {domain.name: list(domain.value) for domain in schema.string_domain}
    found = Described({}, {}, [])
    stages = type(schema).DESCRIPTOR.file.enum_types_by_name["LifecycleStage"]
    left = {stages.values_by_name[name].number for name in ("DEPRECATED", "PLANNED", "DISABLED")}
    for feature in schema.feature:
        if feature.lifecycle_stage in left:
            found.unused.append(feature.name)
        kind = feature.WhichOneof("domain_info")
        if kind == "domain":
            found.vocabularies[feature.name] = shared.get(feature.domain, [])
        elif kind == "string_domain":
            found.vocabularies[feature.name] = list(feature.string_domain.value)
        elif kind == "int_domain" and feature.int_domain.is_categorical:
            domain = feature.int_domain
            # Transform gives -1 to words that its vocabulary lacks.
            if domain.min >= -1 and domain.max > 0:
                found.identities[feature.name] = domain.max + 1
    return found
