"""A job that a service has started: where it is kept, what it reads, where its model belongs."""

import io
import shutil
from pathlib import Path

from trainer import config as config_lib
from trainer import storage
from trainer.environment.cluster_spec import Cluster
from trainer.environment.services import Service
from trainer.storage.data import Settings
from trainer.storage.files import list_export


def place(config: config_lib.Config, cluster: Cluster, service: Service) -> config_lib.Config:
    """Takes from the environment what no flag and no file has said.

    Args:
        config: as it was resolved.
        cluster: of a tuning trial, its number.
        service: folders and data.
    """
    update: dict = {}
    if not config.job_dir and service.checkpoint_dir:
        update["job_dir"] = service.checkpoint_dir.rstrip("/")
    elif config.job_dir and cluster.trial is not None:
        # The same flag for all trials, and none must go on from another's checkpoints.
        update["job_dir"] = f"{config.job_dir.rstrip('/')}/{cluster.trial}"
    data = {}
    if not config.data.train and service.train_data:
        data["train"] = service.train_data
    if not config.data.eval and service.eval_data:
        data["eval"] = service.eval_data
    if data:
        update["data"] = config.data.model_copy(update=data)
    return config.model_copy(update=update) if update else config


def publish(export: str, model_dir: str, settings: Settings) -> None:
    """Copies a SavedModel flat into a folder or gs:// address; saved_model.pb is the last file.

    Raises:
        UserError: it cannot be written.
    """
    names = list_export(Path(export))
    if not storage.is_remote(model_dir):
        target = Path(model_dir)
        (target / names[-1]).unlink(missing_ok=True)
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(export, name), target / name)
        return
    address = storage.parse_address(model_dir.rstrip("/"), "AIP_MODEL_DIR")
    bucket = settings.open_bucket(address.bucket)
    there = {found.name: found for found in bucket.list_all(address.folder)}
    marker = there.pop(address.folder + names[-1], None)
    if marker is not None:
        # An earlier model, of before a restart: nobody may take it for half of this one.
        bucket.remove(marker)
    for name in names:
        content = Path(export, name).read_bytes()
        place_there = address.folder + name
        generation = there[place_there].generation if place_there in there else 0
        bucket.upload(io.BytesIO(content), len(content), place_there, generation)
