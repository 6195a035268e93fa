"""Shows how far the writing of an export is."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trainer.console import BYTES, Console, Progress
from trainer.export.exporters import list_exports

TEMPORARY = "temp-*"


@contextmanager
def show_export(console: Console, folder: str) -> Iterator[None]:
    """Shows how much of an export is written while a `with` statement runs.

    The time left is told from the second export on: it is assumed to be as large as the last one.

    Args:
        console: shows it.
        folder: of the exporter; an Estimator writes into a temporary folder in it.
    """
    before = list_exports(folder)
    total = _measure(Path(before[-1])) if before else None
    ended = threading.Event()
    with Progress(console, f"exporting {Path(folder).name}", BYTES, total) as progress:

        def watch() -> None:
            known = 0
            while not ended.wait(console.interval):
                size = sum(map(_measure, Path(folder).glob(TEMPORARY)))
                progress.add(max(size - known, 0))
                known = size

        watcher = threading.Thread(target=watch, name="export progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _measure(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        # The writer renames and removes files meanwhile.
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size
