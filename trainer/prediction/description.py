"""The schema and the statistics with which an export was made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.errors import UserError, nearest
from trainer.schema import Schema, Statistics, parse_schema, parse_statistics


class ExportDescription(NamedTuple):
    """The description of an export's inputs.

    Attributes:
        schema: columns of the data.
        statistics: statistics of the training data, for defaults; without columns if the export
            has none (export.statistics).
    """

    schema: Schema
    statistics: Statistics


def find_description(export: str) -> Optional[ExportDescription]:
    """Returns the schema and the statistics with which an export was made.

    They are in its assets.extra, or in the job_dir that contains it.

    Args:
        export: folder of the export.

    Returns:
        The description; None if it is in neither of these places.

    Raises:
        UserError: one of the files is damaged.
    """
    folder = Path(export).resolve()
    for candidate in (folder / "assets.extra", *list(folder.parents)[:3]):
        schema = storage.read_json(candidate / job_layout.SCHEMA)
        statistics = storage.read_json(candidate / job_layout.STATISTICS)
        if statistics is None and candidate.name == "assets.extra":
            # The exports of a job with export.statistics=none.
            statistics = {"num_rows": 0, "columns": {}}
        if schema is not None and statistics is not None:
            path = str(candidate / job_layout.SCHEMA)
            return ExportDescription(
                parse_schema(schema, path),
                parse_statistics(statistics, str(candidate / job_layout.STATISTICS)),
            )
    return None


def describe_export(export: str) -> ExportDescription:
    """Returns the schema and the statistics with which an export was made.

    Args:
        export: folder of the export.

    Raises:
        UserError: they are not there, or damaged.
    """
    found = find_description(export)
    if found is not None:
        return found
    raise UserError(
        f"export {export}: no schema.json and statistics.json in its assets.extra, nor in a folder "
        "around it; name an export inside its job_dir, or copy the two files into assets.extra"
    )


def describe_or_assume(export: str, schema: Optional[Schema]) -> ExportDescription:
    """Returns the schema and statistics of an export: its own, else the given schema.

    Args:
        export: its folder.
        schema: of --schema; None: not given.

    Raises:
        UserError: there is neither.
    """
    own = find_description(export)
    if own is not None:
        return own
    if schema is None:
        raise UserError(
            f"export {export}: no schema in its assets.extra; name one with --schema=schema.yaml"
        )
    return ExportDescription(schema, Statistics(0, {}))


def check_copied(names: Sequence[str], schema: Schema) -> None:
    """Checks the columns that are copied to the predictions.

    Args:
        names: the columns.
        schema: of the model.

    Raises:
        UserError: there is no such column.
    """
    unknown = [name for name in names if name not in schema.columns]
    if unknown:
        raise UserError(
            f"--columns: no column {unknown[0]!r}{nearest(unknown[0], schema.columns)} in "
            "the model's schema"
        )


def load_data_config(
    export: str, given: Mapping[str, Optional[str]], limits: Optional[Mapping[str, str]] = None
) -> config_lib.DataConfig:
    """Returns the data configuration of the input files: given options, else those of the job.

    Args:
        export: folder of the export, in its job_dir or with the job's config in assets.extra.
        given: option of the section data → value, None if unset.
        limits: options that only flags set, by their whole names.

    Raises:
        UserError: the job's configuration is damaged, or an option is invalid.
    """
    stored: Any = {}
    folder = Path(export).resolve()
    for candidate in (folder, folder / "assets.extra", *list(folder.parents)[:3]):
        path = candidate / job_layout.CONFIG
        if path.is_file():
            stored = config_lib.read_yaml(path, "job_dir").get("data") or {}
            if not isinstance(stored, dict):
                raise UserError(
                    f"job_dir {path}: data: got {stored!r:.80}: expected 'name: value' lines"
                )
            break
    # No flag of the format sets these columns.
    given = {**given, "added_columns": None}
    chosen = {option: value or stored.get(option) for option, value in given.items()}
    overrides = {f"data.{name}": value for name, value in chosen.items() if value is not None}
    return config_lib.load_config(None, {**overrides, **(limits or {})}).data
