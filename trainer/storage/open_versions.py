"""Opens a folder of versions on this machine or in Cloud Storage, and checks where it is."""

import os
from pathlib import Path

from trainer.errors import UserError
from trainer.job_layout import CHECKPOINT_STATE, CONFIG, INPUTS, METRICS_LOG
from trainer.storage.addresses import Address, is_remote, parse_address
from trainer.storage.bucket_versions import BucketVersions
from trainer.storage.data import current_settings
from trainer.storage.versions import LocalVersions, VersionFolder


def open_versions(folder: str, option: str) -> VersionFolder:
    """Opens a folder of versions of a model.

    Args:
        folder: on this machine or gs://.
        option: the option that contains it, for messages.

    Raises:
        UserError: the path is a file, the address is wrong or names a whole bucket, or there are no
            credentials.
    """
    if not is_remote(folder):
        for place in (Path(folder), *Path(folder).parents):
            if place.exists() and not place.is_dir():
                raise UserError(f"{option}: {place} is a file; name a folder")
        return LocalVersions(Path(folder))
    address = parse_address(folder.rstrip("/"), option)
    if not address.name:
        raise UserError(f"{option}: {folder}: a whole bucket; name a folder in it")
    return BucketVersions(current_settings().open_bucket(address.bucket), address)


def refuse_job(folder: str, option: str) -> None:
    """Checks that a folder neither is nor lies in the folder of a job, which --fresh empties.

    Args:
        folder: on this machine or gs://; it may be missing.
        option: the option that contains it, for messages.

    Raises:
        UserError: it is or lies in the folder of a job.
    """
    for place in _list_places(folder, option):
        if _has(place, CONFIG, option) and any(
            _has(place, name, option) for name in (INPUTS, CHECKPOINT_STATE, METRICS_LOG)
        ):
            lies = "is the folder of a job" if place == folder else f"lies in the job {place}"
            raise UserError(f"{option}={folder}: {lies}, which --fresh would delete; name another")


def _list_places(folder: str, option: str) -> list[str]:
    """Returns a folder and those above it."""
    if not is_remote(folder):
        path = Path(os.path.realpath(folder))
        return [folder, *map(str, path.parents)]
    address = parse_address(folder.rstrip("/"), option)
    parts = address.name.split("/")
    above = ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
    return [folder, *(str(Address(address.bucket, name)) for name in above)]


def _has(place: str, name: str, option: str) -> bool:
    if not is_remote(place):
        return os.path.isfile(os.path.join(place, name))
    try:
        return open_versions(place, option).read_text(name) is not None
    except UserError:
        # Folders above the given one may be closed to this user.
        return False
