"""Writes the description of a model that is copied into each export."""

from pathlib import Path
from typing import Any

import yaml

from trainer import config as config_lib
from trainer import storage
from trainer.job_layout import CONFIG, EXPORTED_FOLDER, SCHEMA, STATISTICS
from trainer.schema import Schema, Statistics, dump_public_statistics

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
    """Writes config.yaml, schema.json and statistics.json for the exports of a job.

    Args:
        config: the resolved configuration, including job_dir.
        schema: of the data.
        statistics: of the training data.

    Returns:
        Name in an export → path of the file to copy.
    """
    folder = Path(config.require_job_dir()) / EXPORTED_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    stored = config.model_dump(mode="json", include=CONFIG_PARTS, exclude=CONFIG_PATHS)
    storage.write_text(folder / CONFIG, yaml.safe_dump(stored, sort_keys=False))
    storage.write_json(folder / SCHEMA, schema.model_dump(mode="json"))
    storage.write_json(folder / STATISTICS, dump_public_statistics(statistics, schema))
    return {name: str(folder / name) for name in (CONFIG, SCHEMA, STATISTICS)}
