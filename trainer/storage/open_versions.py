"""Opens a folder of versions on this machine or in Cloud Storage."""

from pathlib import Path

from trainer.errors import UserError
from trainer.storage.addresses import is_remote, parse_address
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
