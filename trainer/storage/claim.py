"""Which job a place in a bucket belongs to: the last one that began to store there."""

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
    """A job's claim to its place, kept as an object there that names host and process.

    Only what is about to be stored claims: a job that is refused does not end another one.

    Args:
        bucket: the bucket.
        address: the place.
    """

    def __init__(self, bucket: Bucket, address: Address):
        self._bucket = bucket
        self._address = address
        self._name = address.folder + job_layout.WRITER
        self._before = 0
        self._made: Optional[Found] = None

    def look(self) -> None:
        """Remembers whose the place is when the job is fetched."""
        there = self._bucket.find(self._name)
        self._before = there.generation if there is not None else 0

    def hold(self) -> None:
        """Claims the place, where that is not done yet, and makes sure that the claim stands.

        Raises:
            Conflict: another job has claimed it since `look`, or since it was claimed here.
        """
        if self._made is None:
            words = {
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "since": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            }
            content = json.dumps(words).encode()
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

    def release(self) -> None:
        """Gives the claim up, after the last push."""
        if self._made is not None:
            # Claimed by another after the last push: it is that job's now, and nothing is lost.
            with contextlib.suppress(Conflict):
                self._bucket.remove(self._made)
            self._made = None
