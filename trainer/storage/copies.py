"""Makes temporary local copies of the files that a command reads and writes in Cloud Storage.

A command needs only some files of a trained job. They are fetched into a local folder of bounded
size. The command writes its output into this folder too, and each output file is then stored. Local
paths are not copied: the same methods read and write them in place.
"""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Optional, Union

from trainer import job_layout
from trainer.console import Console
from trainer.errors import TemporaryError, UserError
from trainer.storage.addresses import Address, is_remote, parse_address, replace_path
from trainer.storage.bucket import Bucket, Changed, Conflict, Found
from trainer.storage.data import GIB, Settings, current_settings
from trainer.storage.portable import replace_job_dir
from trainer.storage.transfers import run_all

ATTEMPTS = 3


class _Place(NamedTuple):
    """A folder of a bucket, its local copy, and the objects last seen there."""

    address: Address
    option: str
    bucket: Bucket
    folder: Path
    found: dict[str, Found]


class Copies:
    """Local copies of folders in Cloud Storage; see `open_copies`.

    Args:
        settings: how gs:// paths are accessed, and how much may be fetched.
        root: an empty local folder.
    """

    def __init__(self, settings: Settings, root: Path):
        self._settings = settings
        self._root = root
        self._places: dict[str, _Place] = {}

    def display_path(self, text: str) -> str:
        """Returns a text with each path of a local copy replaced by the path that the user gave.

        Args:
            text: a text that may contain paths of local copies.
        """
        for place in self._places.values():
            text = replace_path(text, str(place.folder), str(place.address))
        return text

    def fetch(
        self, path: str, option: str, wanted: Callable[[str], bool] = lambda name: True
    ) -> str:
        """Fetches files of a folder and returns the local folder that contains them.

        Args:
            path: the folder, on this machine or gs://.
            option: the option that contains it, for messages.
            wanted: returns whether to fetch a file; called with its name relative to the folder.

        Raises:
            UserError: the address is wrong, there is no such bucket or no permission, the folder is
                empty, or the files are too large.
        """
        place = self._find_place(path, option)
        if isinstance(place, str):
            return place
        self._fetch(place, wanted)
        return str(place.folder)

    def _fetch(self, place: _Place, wanted: Callable[[str], bool]) -> None:
        for _ in range(ATTEMPTS):
            try:
                self._download(place, wanted)
                return
            except Changed:
                # A running job may have removed old checkpoints; list the objects again.
                self._refresh(place)
        raise TemporaryError(
            f"{place.option}: {place.address} is changed again and again while it is read; wait "
            "for the job that writes it"
        )

    def list_names(self, path: str, option: str) -> list[str]:
        """Returns the names of all files of a folder, relative to it, with slashes.

        Args:
            path: the folder, on this machine or gs://.
            option: the option that contains it, for messages.

        Raises:
            UserError: the address is wrong, there is no such bucket or no permission, or the folder
                is empty.
        """
        place = self._find_place(path, option)
        if isinstance(place, str):
            root = Path(place)
            return [one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file()]
        return sorted(place.found)

    def _find_place(self, path: str, option: str) -> Union[_Place, str]:
        """Returns the place of a gs:// folder that is not empty, or the path of a local folder."""
        if not is_remote(path):
            return path
        mounted = self._find_mounted(parse_address(path, option), option)
        if mounted is not None:
            return mounted
        place = self._open(path, option)
        if not place.found:
            raise UserError(
                f"{option}: there is nothing in {place.address}; check the name, for instance with "
                "gcloud storage ls"
            )
        return place

    def _find_mounted(self, address: Address, option: str) -> Optional[str]:
        if self._settings.reader != "mount":
            return None
        mounted = address.mounted(self._settings.mount)
        if mounted is None:
            raise UserError(
                f"{option}: {address}: storage.reader is mount, and there is no "
                f"{self._settings.mount}/{address.bucket}; mount the bucket, or set "
                "--storage.reader=auto"
            )
        return str(mounted)

    def _open(self, path: str, option: str) -> _Place:
        address = parse_address(path.rstrip("/"), option)
        if not address.name:
            raise UserError(f"{option}: {path}: a whole bucket; name a folder in it")
        key = str(address)
        if key not in self._places:
            folder = self._root / str(len(self._places)) / address.name.rpartition("/")[2][:80]
            folder.mkdir(parents=True)
            bucket = self._settings.open_bucket(address.bucket)
            bucket.progress.console = Console()
            place = _Place(address, option, bucket, folder, {})
            self._refresh(place)
            self._places[key] = place
        return self._places[key]

    def _refresh(self, place: _Place) -> None:
        listed = place.bucket.list_folder(place.address)
        for name, before in place.found.items():
            if listed.get(name) != before:
                (place.folder / name).unlink(missing_ok=True)
        place.found.clear()
        place.found.update(listed)

    def _download(self, place: _Place, wanted: Callable[[str], bool]) -> None:
        names = [name for name in place.found if wanted(name)]
        names = [name for name in names if not (place.folder / name).exists()]
        self._check_room(place, [place.found[name] for name in names])
        size = sum(place.found[name].size for name in names)
        with place.bucket.progress.show(f"fetching {place.address}", size):
            run_all([functools.partial(_download_file, place, name) for name in sorted(names)])

    def _check_room(self, place: _Place, found: list[Found]) -> None:
        limit = int(self._settings.cache_gib * GIB)
        used = sum(path.stat().st_size for path in self._root.rglob("*") if path.is_file())
        needed = sum(one.size for one in found)
        if used + needed > limit:
            raise UserError(
                f"{place.option}: {place.address}: {(used + needed) / GIB:.2f} GiB, more than the "
                f"{limit / GIB:.2f} GiB that may be kept here; raise --storage.cache_gib"
            )

    def open_output(self, path: str, option: str, is_file: bool) -> Path:
        """Returns the local path for an output: the path itself, or the path of its local copy.

        Args:
            path: the output, on this machine or gs://.
            option: the option that contains it, for messages.
            is_file: True if the output is a file, False if it is a folder.

        Raises:
            UserError: the address is wrong, or there is no such bucket or no permission.
        """
        if not is_remote(path):
            return Path(path)
        address = parse_address(path.rstrip("/"), option)
        mounted = self._find_mounted(address, option)
        if mounted is not None:
            return Path(mounted)
        parent, _, last = address.name.rpartition("/")
        if not is_file:
            return self._open(path, option).folder
        if not parent:
            raise UserError(f"{option}: {path}: a file of no folder; name one in a folder")
        return self._open(str(Address(address.bucket, parent)), option).folder / last

    def _locate(self, path: Path) -> Optional[tuple[_Place, str]]:
        """Returns the place of a local copy and the file's name there; None for other files."""
        for place in self._places.values():
            if place.folder in path.parents:
                return place, path.relative_to(place.folder).as_posix()
        return None

    def find_size(self, path: Path) -> Optional[int]:
        """Returns the size in bytes of the existing file at an output's path; None if none exists.

        Args:
            path: a path returned by `open_output`, or a path in the folder that it returned.
        """
        located = self._locate(path)
        if located is None:
            return path.stat().st_size if path.exists() else None
        found = located[0].found.get(located[1])
        return found.size if found is not None else None

    def fetch_output(self, path: Path) -> None:
        """Fetches the existing file at an output's path, if there is one.

        Args:
            path: a path returned by `open_output`, or a path in the folder that it returned.

        Raises:
            UserError: the file cannot be fetched.
        """
        located = self._locate(path)
        if located is not None:
            place, wanted = located
            path.unlink(missing_ok=True)
            self._fetch(place, lambda name: name == wanted)

    def store_output(self, path: Path) -> None:
        """Stores a file that has been written at an output's path.

        Args:
            path: a path returned by `open_output`, or a path in the folder that it returned.

        Raises:
            UserError: the file cannot be stored, or another program has changed it in the bucket.
        """
        located = self._locate(path)
        if located is None:
            return
        place, name = located
        before = place.found.get(name)
        target = place.address.join(name)
        size = path.stat().st_size
        with (
            _refusing_changes(place, name),
            path.open("rb") as stream,
            place.bucket.progress.show(f"storing {target}", size),
        ):
            place.found[name] = place.bucket.upload(
                stream, size, target.name, before.generation if before is not None else 0
            )
        path.unlink()

    def remove_output(self, path: Path) -> None:
        """Removes the existing file at an output's path, if there is one.

        Args:
            path: a path returned by `open_output`, or a path in the folder that it returned.

        Raises:
            OSError: a file of this machine cannot be removed.
            UserError: an object cannot be removed, or another program has changed it.
        """
        path.unlink(missing_ok=True)
        located = self._locate(path)
        found = located[0].found.pop(located[1], None) if located is not None else None
        if located is not None and found is not None:
            with _refusing_changes(*located):
                located[0].bucket.remove(found)


@contextmanager
def _refusing_changes(place: _Place, name: str) -> Iterator[None]:
    """Says which object of an output another program has changed."""
    try:
        yield
    except Conflict as error:
        raise UserError(
            f"{place.option}: {place.address.join(name)}: another program has written it "
            "meanwhile; look at what it is, and name another place"
        ) from error


def _download_file(place: _Place, name: str) -> None:
    path = place.folder / name
    place.bucket.download(place.found[name], path)
    if name in job_layout.PORTABLE:
        # The file contains the path of its folder; replace it by the local path.
        text = path.read_text("utf-8", "surrogateescape")
        text = replace_job_dir(name, text, str(place.address), str(place.folder))
        path.write_text(text, "utf-8", "surrogateescape")


@contextmanager
def open_copies(settings: Settings) -> Iterator[Copies]:
    """Creates a folder for local copies, and removes it at the end of the `with` statement.

    If the body raises a UserError, its message shows paths as the user gave them.

    Args:
        settings: how gs:// paths are accessed, and how much may be fetched.

    Yields:
        The local copies.

    Raises:
        UserError: the folder cannot be created.
    """
    root = Path(tempfile.mkdtemp(prefix="copies-", dir=settings.make_folder()))
    copies = Copies(settings, root)
    try:
        yield copies
    except UserError as error:
        raise type(error)(copies.display_path(str(error))) from error.__cause__
    finally:
        shutil.rmtree(root, ignore_errors=True)


def fetch_checkpoint(path: str, option: str) -> str:
    """Returns the local path of a checkpoint; fetches it if it is in Cloud Storage.

    The local copy is removed when this process ends.

    Args:
        path: a checkpoint, or a job's folder, which stands for its newest checkpoint; on this
            machine or gs://.
        option: the option that contains it, for messages.

    Raises:
        UserError: the address is wrong, there is no such bucket or no permission, or the folder is
            empty.
    """
    if not is_remote(path):
        return path
    settings = current_settings()
    root = Path(tempfile.mkdtemp(prefix="copies-", dir=settings.make_folder()))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    folder, _, prefix = path.rstrip("/").rpartition("/")
    if f"{prefix}.index" not in Copies(settings, root).list_names(folder, option):
        folder, prefix = path.rstrip("/"), ""
    for attempt in range(ATTEMPTS):
        copies = Copies(settings, root / str(attempt))
        # Also fetch the schema, which contains the vocabularies of the model.
        here = Path(copies.fetch(folder, option, _is_pointer))
        newest = prefix or _read_newest(here)
        if not newest:
            return path
        copies.fetch(folder, option, functools.partial(_belongs_to, newest))
        if job_layout.is_whole(newest, [path.name for path in here.iterdir()]):
            return str(here / newest)
        # A running job has removed the checkpoint since its state file was fetched.
    raise TemporaryError(
        f"{option}: {path}: its newest checkpoint is replaced again and again while it is read; "
        "wait for the job that writes it"
    )


def _belongs_to(stem: str, name: str) -> bool:
    return name.startswith(f"{stem}.")


def _is_pointer(name: str) -> bool:
    return name in (job_layout.CHECKPOINT_STATE, job_layout.SCHEMA)


def _read_newest(folder: Path) -> str:
    """Returns the name of the checkpoint that a job's state file names; "" without one."""
    steps = job_layout.read_state_steps(job_layout.read_state(folder))
    return f"{job_layout.CHECKPOINT_STEM}-{steps[0]}" if steps else ""
