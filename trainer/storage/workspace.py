"""Opens the local folder in which a process works on a job, for a local or gs:// job_dir."""

import fcntl
import hashlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import job_layout
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import TemporaryError, UserError
from trainer.storage.addresses import Address, is_remote, parse_address, replace_path
from trainer.storage.claim import Claim, FolderClaim, locked
from trainer.storage.data import Settings
from trainer.storage.keeper import Keeper
from trainer.storage.memory import MEMORY, Memory
from trainer.storage.mirror import Division, Mirror
from trainer.storage.relay import Relay

LOCK = "lock"
# The chief holds a lock on this file while the job is fetched and in use. A lock ends with its
# process, so that none of an earlier run remains.
READY = "ready"
# Seconds that a process waits until the chief on the same machine has fetched the job.
RESTORE_SECS = 1800.0


class Workspace:
    """The local folder in which a process works on a job.

    Args:
        job_dir: the job's folder or address as the user gave it.
        folder: the folder on this machine.
        keeper: stores the changes of the folder; None: nothing is stored.
        relay: transfers the heartbeat files if the cluster's machines share no folder; else None.
        is_guarded: whether `lock` and `claim` keep other jobs out of the folder. A job in a bucket
            is locked when it is opened, and claimed when it is stored.
        is_fetched_elsewhere: whether the chief on this machine fetches the job from a bucket.
    """

    def __init__(
        self,
        job_dir: str,
        folder: str,
        keeper: Optional[Keeper] = None,
        relay: Optional[Relay] = None,
        is_guarded: bool = False,
        is_fetched_elsewhere: bool = False,
    ):
        self.job_dir = job_dir
        self.folder = folder
        self.relay = relay
        self._keeper = keeper
        self._is_guarded = is_guarded
        self._is_fetched_elsewhere = is_fetched_elsewhere

    def await_fetched(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Waits until the job is in the folder, if the chief on this machine fetches it.

        Args:
            is_over: returns whether the chief has ended; then the wait ends too.

        Returns:
            Whether the job is in the folder.

        Raises:
            TemporaryError: the chief has not fetched the job for RESTORE_SECS.
        """
        deadline = time.monotonic() + RESTORE_SECS
        while self._is_fetched_elsewhere and not _is_held(Path(self.folder).parent / READY):
            if is_over():
                return False
            if time.monotonic() >= deadline:
                raise TemporaryError(
                    f"job_dir {self.job_dir}: the chief has not fetched it within "
                    f"{RESTORE_SECS:.0f} s; see the chief's output"
                )
            time.sleep(0.2)
        return True

    @contextmanager
    def lock(self, log: Callable[[str], None]) -> Iterator[None]:
        """Keeps other processes of this machine out of the folder while a `with` statement runs.

        Args:
            log: called with a line of text.

        Raises:
            UserError: another process works on the job.
        """
        with ExitStack() as stack:
            if self._is_guarded:
                path = Path(self.folder) / job_layout.LOCK
                stack.enter_context(locked(path, self.job_dir, log))
            yield

    @contextmanager
    def claim(self, stop: Callable[[], None]) -> Iterator[None]:
        """Claims the folder while a `with` statement runs; must precede all changes of the job.

        A job that has claimed the folder earlier, on a machine that shares no locks with this one,
        ends.

        Args:
            stop: called, from a thread, when a later job has claimed the folder; must end this job
                without writing to the folder.

        Raises:
            UserError: a later job has claimed the folder.
        """
        with ExitStack() as stack:
            if self._is_guarded:
                stack.enter_context(FolderClaim(Path(self.folder), stop).held())
            yield

    def display_path(self, text: str) -> str:
        """Returns a text with the local folder's path replaced by job_dir as the user gave it.

        Args:
            text: a text that may contain paths of the folder.
        """
        if self.folder == self.job_dir:
            return text
        return replace_path(text, self.folder, self.job_dir.rstrip("/"))

    def start_over(self) -> None:
        """Makes the next `push` remove stored files that are missing in the folder."""
        if self._keeper is not None:
            self._keeper.mirror.start_over()

    def check_restored(self) -> None:
        """Checks, before training, that what has been fetched from a bucket is still there.

        Raises:
            TemporaryError: another program has removed the state file of the checkpoints.
        """
        if self._keeper is not None:
            self._keeper.mirror.check_restored()

    def push(self) -> None:
        """Stores the changes of the folder at once."""
        if self._keeper is not None:
            self._keeper.synchronize()


@contextmanager
def open_workspace(
    job_dir: str,
    settings: Settings,
    cluster: Cluster,
    console: Console,
    stores: bool = True,
    events_dir: Optional[str] = None,
) -> Iterator[Workspace]:
    """Opens the folder of a job; fetches a folder in a bucket and keeps it synchronised.

    Args:
        job_dir: the job's folder or gs:// address.
        settings: how gs:// paths are accessed.
        cluster: the cluster, and which process of it this is.
        console: for lines of text and progress.
        stores: whether anything is stored; a dry run stores nothing.
        events_dir: another gs:// address from which TensorBoard reads event files; None for none.

    Yields:
        The workspace.

    Raises:
        UserError: the bucket cannot be used, or not with this cluster.
    """
    is_guarded = stores and cluster.role == "chief"
    if not is_remote(job_dir):
        yield Workspace(job_dir, job_dir, is_guarded=is_guarded)
        return
    address = _parse_folder(job_dir)
    if settings.reader == "mount":
        mounted = address.mounted(settings.mount)
        if mounted is None:
            raise UserError(
                f"job_dir {job_dir}: storage.reader is mount, and there is no "
                f"{settings.mount}/{address.bucket}; mount the bucket, or set --storage=auto"
            )
        yield Workspace(job_dir, str(mounted), is_guarded=is_guarded)
        return
    if cluster.is_spread and cluster.spec.get("ps"):
        raise UserError(
            f"job_dir {job_dir}: parameter servers write their parts of a checkpoint themselves, "
            "and these machines share no folder; name one that they share (an NFS mount) as "
            "--job_dir, or set --strategy=multi_worker_mirrored and leave the servers out"
        )
    shown = str(address)
    # The file that records the content of the bucket is in this folder's parent folder.
    folder = _make_folder(settings, address)
    if cluster.has_others and not cluster.is_spread and cluster.role != "chief":
        yield Workspace(shown, str(folder), is_fetched_elsewhere=True)
        return
    job = _RemoteJob(address, settings, folder, cluster, stores)
    lock = locked(folder.parent / LOCK, f"{shown} (in {folder})", console.log)
    with lock, (folder.parent / READY).open("a") as ready:
        keeper = _open_keeper(job, console.log)
        started = time.monotonic()
        with _shown(keeper, console):
            count = keeper.mirror.restore()
        if count:
            console.log(
                f"storage: {count} file(s) of {address} fetched into {folder} "
                f"in {time.monotonic() - started:.1f} s"
            )
        # This waits only for processes that test the lock at this moment.
        fcntl.flock(ready, fcntl.LOCK_EX)
        if events_dir:
            keeper.add(_open_events(job, events_dir, console.log))
        yield from _synchronized(job, keeper, console)


@contextmanager
def open_statuses(
    job_dir: str, settings: Settings, cluster: Cluster, console: Console
) -> Iterator[Workspace]:
    """Opens the folder in which the processes of a cluster tell each other their statuses.

    The job is not fetched.

    Args:
        job_dir: the job's folder or gs:// address.
        settings: how gs:// paths are accessed.
        cluster: the cluster, and which process of it this is.
        console: for lines of text.

    Yields:
        The workspace.

    Raises:
        UserError: the bucket cannot be used, or another process of this machine works on the job.
    """
    if not is_remote(job_dir) or settings.reader == "mount":
        with open_workspace(job_dir, settings, cluster, console) as workspace:
            yield workspace
        return
    address = _parse_folder(job_dir)
    shown, folder = str(address), _make_folder(settings, address)
    with ExitStack() as stack:
        if cluster.is_spread or cluster.role == "chief":
            stack.enter_context(locked(folder.parent / LOCK, shown, console.log))
        if not cluster.is_spread:
            yield Workspace(shown, str(folder))
            return
        parent = stack.enter_context(tempfile.TemporaryDirectory())
        folder = Path(parent) / "job"
        folder.mkdir()
        # Of the job's files, none is fetched, whatever the status of another process refers to.
        division = Division(lambda name: False, lambda name: False)
        bucket = settings.open_bucket(address.bucket)
        memory = Memory(folder.parent / MEMORY, address, console.log)
        mirror = Mirror(bucket, address, folder, division, memory=memory)
        keeper = Keeper(mirror, pushes=False, pulls=False, log=console.log, stop=lambda: None)
        relay = Relay(bucket, keeper, cluster.name, console.log)
        relay.start()
        try:
            yield Workspace(shown, str(folder), relay=relay)
        finally:
            relay.end()


def _parse_folder(job_dir: str) -> Address:
    """Returns the address of a job in a bucket."""
    address = parse_address(job_dir.rstrip("/"), "job_dir")
    if not address.name:
        raise UserError(f"job_dir {job_dir}: a whole bucket; name a folder in it")
    return address


def _make_folder(settings: Settings, address: Address) -> Path:
    """Creates and returns the folder of a job in a bucket on this machine."""
    key = hashlib.sha256(str(address).encode()).hexdigest()[:16]
    return settings.make_folder("jobs", f"{address.name.rpartition('/')[2][:40]}-{key}", "job")


class _RemoteJob(NamedTuple):
    """A job in a bucket.

    Attributes:
        address: address of the job's folder.
        settings: how gs:// paths are accessed.
        folder: the job's folder on this machine.
        cluster: the cluster, and which process of it this is.
        stores: whether anything is stored.
    """

    address: Address
    settings: Settings
    folder: Path
    cluster: Cluster
    stores: bool


def _synchronized(job: _RemoteJob, keeper: Keeper, console: Console) -> Iterator[Workspace]:
    """Yields the workspace, and keeps it synchronised while it is used."""
    names = str(job.address), str(job.folder)
    if not job.stores:
        yield Workspace(*names, keeper)
        return
    relay = None
    if job.cluster.is_spread:
        relay = Relay(keeper.mirror.bucket, keeper, job.cluster.name, console.log)
        relay.start()
    keeper.start()
    try:
        yield Workspace(*names, keeper, relay)
    except UserError as error:
        try:
            _end(keeper, relay, console)
        except UserError as unstored:
            if isinstance(error, TemporaryError):
                raise
            # The error that the user must correct is the one to report last.
            console.log(f"warning: {unstored}")
        raise
    except BaseException:
        _end(keeper, relay, console)
        raise
    _end(keeper, relay, console)


def _end(keeper: Keeper, relay: Optional[Relay], console: Console) -> None:
    try:
        with _shown(keeper, console):
            keeper.end()
    finally:
        if relay is not None:
            relay.end()


@contextmanager
def _shown(keeper: Keeper, console: Console) -> Iterator[None]:
    """Shows the transfers for which the job waits; those beside training are not shown."""
    progress = keeper.mirror.bucket.progress
    progress.console = console
    try:
        yield
    finally:
        progress.console = None


def _open_keeper(job: _RemoteJob, log: Callable[[str], None]) -> Keeper:
    role = job.cluster.role
    mine: dict[str, Callable[[str], bool]] = {
        "chief": lambda name: True,
        "evaluator": job_layout.is_evaluated,
    }
    # Any process may store evaluations: an evaluator may run even if the cluster lists none, and
    # the chief may take over from an evaluator.
    theirs = job_layout.is_evaluated if role == "chief" else None
    bucket = job.settings.open_bucket(job.address.bucket)
    mirror = Mirror(
        bucket,
        job.address,
        job.folder,
        Division(mine.get(role, lambda name: False), theirs, is_shared=job.cluster.is_spread),
        claim=Claim(bucket, job.address) if job.stores and role == "chief" else None,
        memory=Memory(job.folder.parent / MEMORY, job.address, log),
    )
    return Keeper(
        mirror,
        pushes=job.stores and role in ("chief", "evaluator"),
        # A worker needs only the files that the chief's status refers to; the Relay fetches them.
        pulls=job.cluster.is_spread and role in ("chief", "evaluator"),
        log=log,
        stop=lambda: os.kill(os.getpid(), signal.SIGTERM),
    )


def _open_events(job: _RemoteJob, events_dir: str, log: Callable[[str], None]) -> Mirror:
    address = parse_address(events_dir.rstrip("/"), "AIP_TENSORBOARD_LOG_DIR")
    bucket = job.settings.open_bucket(address.bucket)
    division = Division(job_layout.is_event_file, is_shared=True)
    memory = Memory(job.folder.parent / "mirror-events.json", address, log)
    return Mirror(bucket, address, job.folder, division, memory=memory)


def _is_held(path: Path) -> bool:
    """Returns whether another process holds a lock on a file."""
    try:
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
