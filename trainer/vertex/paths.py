"""Checks that the machines of a Vertex AI job can read and write the paths of the job."""

import re
from typing import Any, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.config import flags
from trainer.errors import UserError
from trainer.vertex import package, program

# server:/path:/mnt/nfs/point
NFS = re.compile(r"(?P<server>[\w.-]+):(?P<path>/[^:]*):/mnt/nfs/(?P<point>[\w.-]+)")
MOUNT = f"{storage.addresses.MOUNT}/"
READ = ("data.train", "data.eval", "data.schema_file")


def check_paths(config: config_lib.Config, nfs: Optional[str], is_alone: bool) -> None:
    """Checks that job_dir and the data are not local to this machine or to a container.

    Args:
        config: the configuration of the job.
        nfs: SERVER:/PATH:/mnt/nfs/POINT, a folder that all machines mount.
        is_alone: whether the job has only one process.

    Raises:
        UserError: a path is local. The message names the option and the path.
    """
    job_dir = config.job_dir
    if job_dir and not _is_shared(job_dir, "--job_dir", nfs):
        raise UserError(
            f"--job_dir={job_dir}: is deleted with the container; name a gs:// folder, or "
            "remove it and set --base_output_dir"
        )
    if job_dir and job_dir.startswith(MOUNT) and not is_alone:
        raise UserError(
            f"--job_dir={job_dir}: other machines see files on this mount with a delay; "
            f"write gs://{job_dir[len(MOUNT) :]}"
        )
    for option, files in (("data.train", config.data.train), ("data.eval", config.data.eval)):
        for path in files:
            if not _is_shared(path, option, nfs):
                raise UserError(
                    f"{option}: {path!r} is on this machine, where the job cannot read it; copy it "
                    "to a bucket, and name its gs:// address"
                )


def _is_shared(path: str, option: str, nfs: Optional[str]) -> bool:
    if storage.is_remote(path):
        storage.parse_address(path.rstrip("/"), option)
        return True
    if path.startswith("/mnt/nfs/"):
        match = NFS.fullmatch(nfs or "")
        if match is None or path.split("/")[3] != match["point"]:
            raise UserError(
                f"{option}: {path!r} is not mounted; add --nfs=SERVER:/PATH:/mnt/nfs/POINT"
            )
        return True
    return path.startswith(MOUNT)


def list_inside(task_flags: list[str], nfs: Optional[str]) -> list[str]:
    """Returns one line for each file that a job reads in its container.

    The command render cannot check these files.

    Args:
        task_flags: the flags of trainer.task.
        nfs: SERVER:/PATH:/mnt/nfs/POINT, a folder that all machines mount.
    """
    command = flags.parse_command_line(task_flags)
    assert command is not None
    return flags.list_inside(command, lambda path, option: _is_shared(path, option, nfs))


def check_places(spec: dict[str, Any]) -> None:
    """Checks that the buckets, data and package of a job exist and can be read.

    Args:
        spec: JSON of a CustomJobSpec.

    Raises:
        UserError: a bucket or file does not exist or cannot be read. The message names it and the
            option.
    """
    base = (spec.get("baseOutputDirectory") or {}).get("outputUriPrefix")
    if base:
        package.check_bucket(base, "baseOutputDirectory")
    seen = set()
    for pool in spec["workerPoolSpecs"]:
        python = pool.get("pythonPackageSpec") or {}
        for address in python.get("packageUris", ()):
            if not storage.find_data(address, "packageUris"):
                raise UserError(
                    f"packageUris: {address} does not exist; upload it with "
                    "python -m trainer.vertex package --upload=..."
                )
        found = program.find_flags(pool)
        if found is not None and tuple(found[1]) not in seen:
            seen.add(tuple(found[1]))
            _check_flags(found[1])


def _check_flags(task_flags: list[str]) -> None:
    command = flags.parse_command_line(task_flags)
    overrides = command.overrides if command is not None else {}
    for option in READ:
        for path in str(overrides.get(option) or "").split(","):
            address = _to_address(path)
            if address and not storage.find_data(address, option):
                raise UserError(
                    f"{option}: no object matches {address!r}; check the name, for example with "
                    "gcloud storage ls"
                )
    job_dir = _to_address(str(overrides.get("job_dir") or ""))
    if job_dir:
        package.check_bucket(job_dir, "job_dir")


def _to_address(path: str) -> Optional[str]:
    """Returns the gs:// address of a gs:// or /gcs/ path; None for other paths."""
    if path.startswith(MOUNT):
        return f"gs://{path[len(MOUNT) :]}"
    return path if storage.is_remote(path) else None
