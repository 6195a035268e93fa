"""Options that functions of the API take beside a job: of storage, data and code."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

from trainer import config as config_lib
from trainer import storage


@contextmanager
def open_copies(options: Optional[Mapping[str, Any]]) -> Iterator[storage.Copies]:
    """Opens access to gs:// paths while a `with` statement runs.

    Args:
        options: those of the section storage are used.

    Yields:
        Local copies of remote files and folders.

    Raises:
        UserError: an option is invalid, or no folder for the copies can be created.
    """
    given = select(options, "storage")
    settings = storage.Settings(**config_lib.load_config(None, given).storage.model_dump())
    storage.configure(settings)
    with storage.open_copies(settings) as copies:
        yield copies


def select(options: Optional[Mapping[str, Any]], section: str) -> dict[str, Any]:
    """Returns the options of one section, by their whole names.

    Args:
        options: option → value; None for none.
        section: such as storage.
    """
    start = f"{section}."
    return {name: value for name, value in (options or {}).items() if name.startswith(start)}
