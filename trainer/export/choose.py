"""Chooses which export of a job is served: the newest of best, else of final, else of latest.

This order applies to `trainer.predict --job_dir`, to the model that is published on Vertex AI and
to the query in the summary. `best` comes first for two reasons: `export.best_metric` selected it on
the evaluation data, and the summary reports its metrics. Otherwise, a job that trained past its
best step would serve a worse model than the summary reports. `final` comes next because it was
trained to the end. `latest` is a snapshot of a run in progress.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Optional

from trainer import storage
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA
from trainer.job_layout import MODEL_FILES

# Exporters from the first choice to the last.
ORDER = ("best", "final", "latest")
# Files that tell what a folder is: an export, versions of a served model, or a job.
_PATTERNS = (
    storage.GRAPH,
    f"{EXTRA}/*",
    storage.VERSIONS_STATE,
    f"[0-9]*/{storage.GRAPH}",
    f"export/*/[0-9]*/{storage.GRAPH}",
)


def choose_export(exports: Mapping[str, Sequence[str]]) -> Optional[str]:
    """Returns the export that is served; None if there are no exports.

    Args:
        exports: exporter → paths of its exports, oldest first.

    Returns:
        The newest export of the first exporter in ORDER that has an export.
    """
    return next((exports[name][-1] for name in ORDER if exports.get(name)), None)


def choose_from_files(names: Iterable[str], place: str, option: str) -> str:
    """Returns the export that a folder stands for, given the folder's files.

    Args:
        names: files of the folder, relative to it, with slashes. An export counts only if they
            include its saved_model.pb, which is written last.
        place: folder or gs:// address of an export, of an exporter or of a job, for the message.
        option: the option that contains it, for the message.

    Returns:
        The export's folder relative to the given one: "" for an export itself, the newest for an
        exporter, and the one that is served for a job, for example export/best/1700000000.

    Raises:
        UserError: there is no export, or the folder contains the versions of a served model.
    """
    stamps: dict[str, list[int]] = {}
    has_versions = False
    for name in names:
        parts = name.split("/")
        if name == storage.GRAPH or name.startswith(f"{EXTRA}/"):
            return ""
        has_versions = has_versions or name == storage.VERSIONS_STATE
        folder, stamp = "/".join(parts[:-2]), parts[-2] if len(parts) > 1 else ""
        if parts[-1] == storage.GRAPH and re.fullmatch(r"\d+", stamp):
            stamps.setdefault(folder, []).append(int(stamp))
    if has_versions:
        newest = max(stamps.get("", [1]))
        raise UserError(
            f"{option}={place}: contains versions of a served model; name one of them, for "
            f"example the newest, {place.rstrip('/')}/{newest}"
        )
    if stamps.get(""):
        return str(max(stamps[""]))
    chosen = choose_export(
        {
            exporter: [f"export/{exporter}/{stamp}" for stamp in sorted(stamps[folder])]
            for exporter in ORDER
            if (folder := f"export/{exporter}") in stamps
        }
    )
    if chosen is None:
        folders = ", ".join(f"export/{name}" for name in ORDER)
        raise UserError(
            f"{option}={place}: no {storage.GRAPH} there, and no export in any of {folders}; name "
            "an export, or a job that was trained with --export.exporters"
        )
    return chosen


def find_export(place: str, option: str = "--job_dir") -> str:
    """Returns the path of the export that a folder on this machine stands for.

    Args:
        place: folder of an export, of an exporter or of a job.
        option: the option that contains it, for messages.

    Raises:
        UserError: there is no such folder, or it contains no export.
    """
    folder = Path(place)
    if not folder.is_dir():
        raise UserError(f"{option}={place}: no such folder; name an export or a job")
    try:
        # Path.glob finds nothing in a folder that cannot be read.
        os.listdir(folder)
    except OSError as error:
        raise UserError(f"{option}={place}: {error.strerror}; make it readable") from error
    found = [path for pattern in _PATTERNS for path in folder.glob(pattern)]
    names = [path.relative_to(folder).as_posix() for path in found]
    inside = choose_from_files(names, place, option)
    return str(folder / inside) if inside else place


def fetch_export(place: str, option: str, copies: storage.Copies) -> str:
    """Returns a local folder of the export that a folder stands for.

    The files of the job are at their usual places around it.

    Args:
        place: folder of an export, of an exporter or of a job, on this machine or gs://.
        option: the option that contains it, for messages.
        copies: fetches files from Cloud Storage.

    Raises:
        UserError: there is no export, or the files cannot be fetched.
    """
    if not storage.is_remote(place):
        return find_export(place, option)
    inside = choose_from_files(copies.list_names(place, option), place, option)
    # The files that describe the inputs of the export may be in the job_dir around it.
    whole = f"{place.rstrip('/')}/{inside}".rstrip("/")
    match = re.fullmatch(r"(gs://[^/]+/.+)/(export/[^/]+/\d+)", whole)
    folder, inside = match.groups() if match else (whole, "")
    prefix = f"{inside}/" if inside else ""
    local = copies.fetch(
        folder, option, lambda name: name.startswith(prefix) or name in MODEL_FILES
    )
    return str(Path(local, inside))
