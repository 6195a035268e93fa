"""Records, between runs, which objects of a job this machine has last seen in the bucket."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Optional

import pydantic

from trainer.errors import UserError
from trainer.storage.addresses import Address
from trainer.storage.bucket import Found
from trainer.storage.files import read_json, write_json

# The file's name, in the parent folder of the job's local folder.
MEMORY = "mirror.json"


class Known(NamedTuple):
    """An object as it was last seen, and the state of the local file with the same content.

    Attributes:
        found: the object.
        size: size of the local file in bytes.
        mtime_ns: time of the last change of the local file.
    """

    found: Found
    size: int
    mtime_ns: int


_KNOWN = pydantic.TypeAdapter(dict[str, Known])


class Memory:
    """The file of that record.

    Args:
        path: the file.
        address: the job's folder in the bucket.
        log: called with one line if the file or local checkpoints are damaged.

    Attributes:
        log: the same.
    """

    def __init__(self, path: Path, address: Address, log: Callable[[str], None]):
        self._path = path
        self._address = str(address)
        self.log = log

    def load(self) -> Optional[dict[str, Known]]:
        """Returns the objects that `save` recorded; None without an intact record of this job."""
        try:
            memory = read_json(self._path)
            if memory is None or memory.get("address") != self._address:
                return None
            return _KNOWN.validate_python(memory.get("objects"))
        except (UserError, pydantic.ValidationError):
            self.log(
                f"warning: {self._path}, the record of what is stored in {self._address}, is "
                "damaged; the whole job is fetched from there again"
            )
            return None

    def save(self, known: Mapping[str, Known]) -> None:
        """Records objects.

        Args:
            known: name → the object.

        Raises:
            OSError: the file cannot be written.
        """
        objects = {name: [list(one.found), *one[1:]] for name, one in known.items()}
        write_json(self._path, {"address": self._address, "objects": objects})
