"""Applies the folders and data that Vertex AI sets in the environment of a job."""

import io
import shutil
from pathlib import Path
from typing import Any

from trainer import config as config_lib
from trainer import storage
from trainer.environment.cluster_spec import Cluster
from trainer.environment.services import Service
from trainer.errors import UserError
from trainer.storage.data import Settings
from trainer.storage.files import list_export


def place(config: config_lib.Config, cluster: Cluster, service: Service) -> config_lib.Config:
    """Takes job_dir and data from the service if the configuration does not set them.

    Args:
        config: the configuration from flags and files.
        cluster: contains the number of the trial of a tuning job.
        service: the folders and data that the service sets.

    Raises:
        UserError: the folder for the model, which is written last, is no address.
    """
    if service.model_dir and storage.is_remote(service.model_dir):
        storage.parse_address(service.model_dir.rstrip("/"), "AIP_MODEL_DIR")
    update: dict[str, Any] = {}
    if not config.job_dir and service.checkpoint_dir:
        update["job_dir"] = service.checkpoint_dir.rstrip("/")
    elif config.job_dir and cluster.trial is not None:
        # All trials have the same flags, but each needs its own job_dir.
        update["job_dir"] = f"{config.job_dir.rstrip('/')}/{cluster.trial}"
    data = {}
    if not config.data.train and service.train_data:
        data["train"] = service.train_data
    if not (config.data.eval or config.data.is_split) and service.eval_data:
        data["eval"] = service.eval_data
    if data:
        update["data"] = config.data.model_copy(update=data)
    return config.model_copy(update=update) if update else config


def publish(export: str, model_dir: str, settings: Settings) -> None:
    """Copies a SavedModel directly into a folder; saved_model.pb is copied last.

    Args:
        export: folder of the SavedModel.
        model_dir: the target, a folder or a gs:// address.
        settings: access to storage.

    Raises:
        UserError: the target cannot be written.
    """
    names = list_export(Path(export))
    if not storage.is_remote(model_dir):
        target = Path(model_dir)
        try:
            target.mkdir(parents=True, exist_ok=True)
            (target / names[-1]).unlink(missing_ok=True)
            for name in names:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(export, name), target / name)
        except OSError as error:
            raise UserError(
                f"AIP_MODEL_DIR={model_dir}: {error.strerror}; the model is in {export}; copy it, "
                "or name another folder and run the same command again"
            ) from error
        return
    address = storage.parse_address(model_dir.rstrip("/"), "AIP_MODEL_DIR")
    bucket = settings.open_bucket(address.bucket)
    existing = {found.name: found for found in bucket.list_all(address.folder)}
    marker = existing.pop(address.folder + names[-1], None)
    if marker is not None:
        # The folder may contain a model from before a restart. Its saved_model.pb is removed first,
        # so that a partly replaced model cannot be read.
        bucket.remove(marker)
    for name in names:
        content = Path(export, name).read_bytes()
        target_name = address.folder + name
        generation = existing[target_name].generation if target_name in existing else 0
        bucket.upload(io.BytesIO(content), len(content), target_name, generation)
