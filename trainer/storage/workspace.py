"""The folder in which a process works on a job, wherever job_dir is."""

import fcntl
import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from trainer import job_layout
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.storage.addresses import is_remote, parse_address
from trainer.storage.claim import Claim
from trainer.storage.data import Settings
from trainer.storage.keeper import Keeper
from trainer.storage.mirror import Mirror
from trainer.storage.relay import Relay

LOCK = "lock"
READY = "ready"
LOOPBACK = ("localhost", "127.", "[::1]", "::1")
# A process on the same machine waits so long for the chief to have fetched the job.
RESTORE_SECS = 1800.0


class Workspace:
    """Where a process works.

    Attributes:
        folder: on this machine.
        job_dir: as the user named it.
        relay: carries the heartbeat files where the cluster's machines share no folder, else None.
    """

    def __init__(self, job_dir: str, folder: str, keeper: Optional[Keeper] = None):
        self.job_dir = job_dir
        self.folder = folder
        self.relay: Optional[Relay] = None
        self._keeper = keeper

    def display_path(self, text: str) -> str:
        """A text for people: job_dir by the user's own name."""
        return text if self.folder == self.job_dir else text.replace(self.folder, self.job_dir)

    def push(self) -> None:
        """Stores what has changed, now."""
        if self._keeper is not None:
            self._keeper.synchronize()


@contextmanager
def open_workspace(
    job_dir: str,
    settings: Settings,
    cluster: Cluster,
    log: Callable[[str], None],
    stores: bool = True,
    events_dir: Optional[str] = None,
) -> Iterator[Workspace]:
    """Opens the folder of a job; a gs:// one is fetched, and kept alike until the end.

    Args:
        job_dir: the job's folder or gs:// address.
        settings: how gs:// is reached.
        cluster: who takes part.
        log: takes a line for people.
        stores: whether anything is to be stored: not for a rehearsal.
        events_dir: a gs:// address where TensorBoard looks for event files too.

    Raises:
        UserError: the bucket is not what it should be, or the cluster cannot work with it.
    """
    if not is_remote(job_dir):
        yield Workspace(job_dir, job_dir)
        return
    address = parse_address(job_dir.rstrip("/"), "job_dir")
    if not address.name:
        raise UserError(f"job_dir {job_dir}: a whole bucket; name a folder in it")
    if settings.reader == "mount":
        mounted = address.mounted(settings.mount)
        if mounted is None:
            raise UserError(
                f"job_dir {job_dir}: storage.reader is mount, and there is no "
                f"{settings.mount}/{address.bucket}; mount the bucket, or set --storage=auto"
            )
        yield Workspace(job_dir, str(mounted))
        return
    spread = _is_spread(cluster)
    if spread and cluster.spec.get("ps"):
        raise UserError(
            f"job_dir {job_dir}: parameter servers write their parts of a checkpoint themselves, "
            "and these machines share no folder; name one that they share (an NFS mount) as "
            "--job_dir, or set --strategy=multi_worker_mirrored and leave the servers out"
        )
    shown = str(address)
    key = hashlib.sha256(shown.encode()).hexdigest()[:16]
    # What is remembered of the bucket lies beside the folder, not in it.
    folder = settings.make_folder("jobs", f"{address.name.rpartition('/')[2][:40]}-{key}", "job")
    if cluster.has_others and not spread and cluster.role != "chief":
        _await_restored(folder, shown)
        yield Workspace(shown, str(folder))
        return
    with _locked(folder, shown) as lock:
        keeper = _open_keeper(address, settings, folder, cluster, spread, log, stores)
        started = time.monotonic()
        count = keeper.mirror.restore()
        if count:
            log(
                f"storage: {count} file(s) of {address} fetched into {folder} "
                f"in {time.monotonic() - started:.1f} s"
            )
        lock.write(READY)
        lock.flush()
        yield from _serve(Workspace(shown, str(folder), keeper), keeper, cluster, spread, stores,
                          _open_events(events_dir, settings, folder))  # fmt: skip


def _serve(workspace, keeper, cluster, spread, stores, events) -> Iterator[Workspace]:
    if not stores:
        yield workspace
        return
    if events is not None:
        keeper.follow(events)
    if spread:
        workspace.relay = Relay(keeper.mirror.bucket, keeper, cluster.name)
        workspace.relay.start()
    keeper.start()
    try:
        yield workspace
    finally:
        try:
            keeper.end()
        finally:
            if workspace.relay is not None:
                workspace.relay.end()


def _open_keeper(address, settings, folder, cluster, spread, log, stores) -> Keeper:
    role = cluster.role
    mine: dict[str, Callable[[str], bool]] = {
        "chief": lambda name: True,
        "evaluator": job_layout.is_evaluated,
    }
    # Where no evaluator is listed one may still be there, and the chief may act in its place.
    theirs = job_layout.is_evaluated if role == "chief" else None
    bucket = settings.open_bucket(address.bucket)
    mirror = Mirror(
        bucket,
        address,
        folder,
        mine.get(role, lambda name: False),
        theirs,
        shares=spread,
        claim=Claim(bucket, address) if stores and role == "chief" else None,
    )
    return Keeper(
        mirror,
        pushes=stores and role in ("chief", "evaluator"),
        # A worker needs the files that the chief speaks of, and no others.
        pulls=spread and role in ("chief", "evaluator"),
        log=log,
        stop=lambda: os.kill(os.getpid(), signal.SIGTERM),
    )


def _open_events(events_dir, settings, folder) -> Optional[Mirror]:
    if not events_dir:
        return None
    address = parse_address(events_dir.rstrip("/"), "AIP_TENSORBOARD_LOG_DIR")
    bucket = settings.open_bucket(address.bucket)
    return Mirror(
        bucket,
        address,
        folder,
        job_layout.is_event_file,
        shares=True,
        memory="mirror-events.json",
    )


def _is_spread(cluster: Cluster) -> bool:
    """Whether processes of the cluster are on other machines."""
    addresses = [address for role in cluster.spec.values() for address in role]
    return any(not address.startswith(LOOPBACK) for address in addresses)


@contextmanager
def _locked(folder: Path, shown: str) -> Iterator[Any]:
    """Keeps a second process of this machine off the folder."""
    with (folder.parent / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(
                f"job_dir {shown}: another process of this machine is at work on it, in {folder}; "
                "end that one, or give this one another --job_dir"
            ) from error
        lock.truncate(0)
        yield lock


def _await_restored(folder: Path, shown: str) -> None:
    deadline = time.monotonic() + RESTORE_SECS
    while time.monotonic() < deadline:
        lock = folder.parent / LOCK
        if lock.exists() and lock.read_text() == READY:
            return
        time.sleep(0.2)
    raise UserError(
        f"job_dir {shown}: the chief has not fetched it within {RESTORE_SECS:.0f} s; "
        "look at what the chief says"
    )
