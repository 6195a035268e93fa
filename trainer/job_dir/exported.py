"""The description of a model that is copied into each export."""

from pathlib import Path
from typing import Any

import yaml

from trainer import config as config_lib
from trainer import storage
from trainer.job_layout import CONFIG, EXPORTED_FOLDER, SCHEMA, STATISTICS
from trainer.schema import Schema, Statistics, resolve_default

# An export leaves the place where it was trained. It needs neither paths of that place nor the
# values of user code; `python -m trainer.predict` reads how data files are written.
CONFIG_PARTS: dict[str, Any] = {
    "data": {"format", "delimiter", "header", "encoding"},
    "model": True,
    "train": True,
}
CONFIG_PATHS: dict[str, Any] = {"model": {"base_weights"}, "train": {"warm_start"}}


def write_description(
    config: config_lib.Config, schema: Schema, statistics: Statistics
) -> dict[str, str]:
    """Writes the config.yaml of exports; schema.json and statistics.json are those in job_dir.

    Without statistics (export.statistics), the schema of exports has numbers in place of the
    default `mean`.

    Args:
        config: the resolved configuration, including job_dir.
        schema: of the data.
        statistics: of the training data.

    Returns:
        Name in an export → path of the file to copy. `compatibility.save_inputs` writes those of
        them that lie in job_dir itself, before the first export.
    """
    job_dir = Path(config.require_job_dir())
    folder = job_dir / EXPORTED_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    stored = config.model_dump(mode="json", include=CONFIG_PARTS, exclude=CONFIG_PATHS)
    storage.write_text(folder / CONFIG, yaml.safe_dump(stored, sort_keys=False))
    paths = {CONFIG: folder / CONFIG, SCHEMA: job_dir / SCHEMA, STATISTICS: job_dir / STATISTICS}
    if config.export.statistics == "none":
        del paths[STATISTICS]
        paths[SCHEMA] = folder / SCHEMA
        values = schema.model_dump(mode="json")
        for name, column in values["columns"].items():
            if column["default"] == "mean":
                column["default"] = resolve_default(name, schema, statistics)
        storage.write_json(paths[SCHEMA], values)
    return {name: str(path) for name, path in paths.items()}
