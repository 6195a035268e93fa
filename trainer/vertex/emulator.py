"""Runs an emulator of Cloud Storage for the command rehearse."""

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer import storage
from trainer.environment.variables import set_variable
from trainer.errors import UserError
from trainer.vertex.jobs import Job

VARIABLE = "STORAGE_EMULATOR_HOST"


@contextmanager
def run_emulator(job: Job, put: list[str]) -> Iterator[dict[str, str]]:
    """Runs an emulator with the buckets of a job while a `with` statement runs.

    Args:
        job: the job; its flags name the buckets.
        put: gs://BUCKET/FOLDER=FOLDER, local folders to copy into the buckets.

    Yields:
        Environment variables for the processes of the job.

    Raises:
        UserError: the emulator is not installed, or a folder does not exist.
    """
    try:
        from gcp_storage_emulator.server import create_server
    except ImportError as error:
        raise UserError(
            "--emulator: the package gcp-storage-emulator is not installed; run "
            "pip install gcp-storage-emulator"
        ) from error
    files = [file for pair in put for file in _list_files(pair)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True)
    server.start()
    variables = {VARIABLE: f"http://127.0.0.1:{port}"}
    try:
        with set_variable(VARIABLE, variables[VARIABLE]):
            _fill(_list_buckets(job, put), files)
        yield variables
    finally:
        server.stop()


def _list_buckets(job: Job, put: list[str]) -> list[str]:
    words = [pair.partition("=")[0] for pair in put]
    spec = job.job_spec
    words.append((spec.get("baseOutputDirectory") or {}).get("outputUriPrefix", ""))
    for pool in spec["workerPoolSpecs"]:
        inner = pool.get("containerSpec") or pool.get("pythonPackageSpec") or {}
        words += [part.partition("=")[2] for part in inner.get("args", ())]
    addresses = [part for word in words for part in word.split(",") if storage.is_remote(part)]
    found = [storage.parse_address(one.rstrip("/"), "job").bucket for one in addresses]
    return list(dict.fromkeys(found))


def _list_files(pair: str) -> list[tuple[str, Path]]:
    address, _, folder = pair.partition("=")
    place = storage.parse_address(address.rstrip("/"), "--put")
    root = Path(folder)
    if not folder or not root.is_dir():
        problem = f"{folder!r} is not a folder on this machine" if folder else "no local folder"
        raise UserError(f"--put={pair}: {problem}; write gs://BUCKET/FOLDER=LOCAL_FOLDER")
    return [
        (str(place.join(path.relative_to(root).as_posix())), path)
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.stat().st_size
    ]


def _fill(buckets: list[str], files: list[tuple[str, Path]]) -> None:
    from google.cloud.storage import Client

    client = Client(project="rehearsal")
    for name in buckets:
        client.create_bucket(name)
    for text, path in files:
        address = storage.parse_address(text, "--put")
        blob = client.bucket(address.bucket).blob(address.name)
        blob.upload_from_file(io.BytesIO(path.read_bytes()), checksum="crc32c")
