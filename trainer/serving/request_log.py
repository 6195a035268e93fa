"""Writes a sample of the requests and answers as PredictionLog records."""

import os
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
from tensorflow_serving.apis import prediction_log_pb2

from estimator_bridge import tf
from trainer import storage

# A file is written after this time, and when it would become larger than this.
MAX_SECS = 60.0
MAX_BYTES = 16 * 2**20


class RequestLog:
    """Collects records in memory and writes each file at once, so that readers see whole files.

    Args:
        folder: of the files; None: nothing is logged.
        sampling_rate: share of the requests that are logged, in 0 … 1.
        warn: writes one line for people.
    """

    def __init__(self, folder: Optional[Path], sampling_rate: float, warn: Callable[[str], None]):
        self._folder = folder
        self._rate = sampling_rate if folder is not None else 0.0
        self._warn = warn
        self._lock = threading.Lock()
        self._random = np.random.default_rng()
        self._records: list[bytes] = []
        self._size = 0
        self._count = 0
        self._since = time.monotonic()

    def record(self, kind: str, request: Any, response: Any) -> None:
        """Logs one request, if it belongs to the sample.

        Args:
            kind: predict_log, classify_log or regress_log.
            request: the message.
            response: the answer; its model_spec names the version.
        """
        if self._rate <= 0:
            return
        with self._lock:
            if self._random.random() >= self._rate:
                return
        log = prediction_log_pb2.PredictionLog()
        log.log_metadata.model_spec.CopyFrom(response.model_spec)
        log.log_metadata.sampling_config.sampling_rate = self._rate
        log.log_metadata.timestamp_secs = int(time.time())
        part = getattr(log, kind)
        part.request.CopyFrom(request)
        # The request may have asked for a label or the newest version.
        part.request.model_spec.CopyFrom(response.model_spec)
        part.response.CopyFrom(response)
        content = log.SerializeToString()
        with self._lock:
            self._records.append(content)
            self._size += len(content)
            is_full = self._size >= MAX_BYTES
        if is_full:
            self.write()

    def write_if_due(self) -> None:
        """Writes a file if the last one is old enough."""
        if time.monotonic() - self._since >= MAX_SECS:
            self.write()

    def write(self) -> None:
        """Writes the collected records as one file; if that fails, they are lost, with a line."""
        with self._lock:
            records, self._records, self._size = self._records, [], 0
            self._since = time.monotonic()
            self._count += bool(records)
            number = self._count
        if not records or self._folder is None:
            return
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = self._folder / f"requests-{stamp}-{os.getpid()}-{number:06}.tfrecord"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with storage.replaced(path) as temporary:
                _write_records(temporary, records)
        except (OSError, tf.errors.OpError) as error:
            self._warn(f"{path}: {len(records)} logged requests are lost: {error}")


def _write_records(path: Path, records: list[bytes]) -> None:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
