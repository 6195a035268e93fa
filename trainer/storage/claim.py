"""Claims a folder in a bucket for one job: the last job that started to store there."""

import contextlib
import datetime
import io
import json
import os
import socket
from typing import Optional

from trainer import job_layout
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Conflict, Found


class Claim:
    """A job's claim to its folder: an object in the folder that names the host and the process.

    A job claims the folder only when it is about to store something. So a job that fails earlier
    does not end another job. The claim stays when the job ends. So a job that started earlier, and
    was paused, does not overwrite the result of a later one.

    Args:
        bucket: the bucket.
        address: the folder.
    """

    def __init__(self, bucket: Bucket, address: Address):
        self._bucket = bucket
        self._address = address
        self._name = address.folder + job_layout.WRITER
        self._before = 0
        self._made: Optional[Found] = None

    def note_owner(self) -> None:
        """Records the current claim to the folder; called when the job is fetched."""
        stored = self._bucket.find(self._name)
        self._before = stored.generation if stored is not None else 0

    def enforce(self) -> None:
        """Claims the folder if this job has not claimed it yet, and checks the claim.

        Raises:
            Conflict: another job has claimed the folder since `note_owner`, or since this job's
                claim.
        """
        if self._made is None:
            owner = {
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "since": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            }
            content = json.dumps(owner).encode()
            with contextlib.suppress(Conflict):
                self._made = self._bucket.upload(
                    io.BytesIO(content), len(content), self._name, self._before
                )
        if self._made is None or self._bucket.find(self._name) != self._made:
            raise Conflict(
                f"{self._address}: another writer has begun to work there meanwhile (its host and "
                f"process are in {job_layout.WRITER}); two jobs must not share a job_dir: "
                "end one of them, or give it another --job_dir"
            )
