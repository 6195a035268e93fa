"""Chooses which export of a job is served: the newest of best, else of final, else of latest.

This order applies to `trainer.predict --job_dir`, to the model that is published on Vertex AI and
to the query in the summary. `best` comes first for two reasons: `export.best_metric` selected it on
the evaluation data, and the summary reports its metrics. Otherwise, a job that trained past its
best step would serve a worse model than the summary reports. `final` comes next because it was
trained to the end. `latest` is a snapshot of a run in progress.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Optional

from trainer import storage
from trainer.errors import UserError
from trainer.job_layout import MODEL_FILES

# Exporters from the first choice to the last.
ORDER = ("best", "final", "latest")


def choose_export(exports: Mapping[str, Sequence[str]]) -> Optional[str]:
    """Returns the export that is served; None if there are no exports.

    Args:
        exports: exporter → paths of its exports, oldest first.

    Returns:
        The newest export of the first exporter in ORDER that has an export.
    """
    return next((exports[name][-1] for name in ORDER if exports.get(name)), None)


def choose_from_files(names: Iterable[str], job_dir: str) -> str:
    """Returns the export that is served, given the files of a job.

    Args:
        names: files of the job, relative to job_dir, with slashes. An export counts only if they
            include its saved_model.pb, which is written last.
        job_dir: folder or gs:// address of the job, for the message.

    Returns:
        The export's folder relative to job_dir, for example export/best/1700000000.

    Raises:
        UserError: the job has no export.
    """
    stamps: dict[str, list[int]] = {}
    for name in names:
        parts = name.split("/")
        if len(parts) == 4 and parts[0] == "export" and parts[3] == "saved_model.pb":
            _, exporter, stamp, _ = parts
            if stamp.isdigit():
                stamps.setdefault(exporter, []).append(int(stamp))
    chosen = choose_export(
        {
            exporter: [f"export/{exporter}/{stamp}" for stamp in sorted(found)]
            for exporter, found in stamps.items()
        }
    )
    if chosen is None:
        folders = ", ".join(f"export/{name}" for name in ORDER)
        raise UserError(
            f"job_dir {job_dir}: no export in any of {folders}; train with --export.exporters, or "
            "name an export with --export"
        )
    return chosen


def find_export(job_dir: str) -> str:
    """Returns the path of the export that is served, for a job on this machine.

    Args:
        job_dir: folder of the job.

    Raises:
        UserError: the job has no export.
    """
    folder = Path(job_dir)
    names = [
        path.relative_to(folder).as_posix() for path in folder.glob("export/*/*/saved_model.pb")
    ]
    return str(folder / choose_from_files(names, job_dir))


def fetch_export(export: Optional[str], job_dir: Optional[str], copies: storage.Copies) -> str:
    """Returns a local folder of the given export, or of the export that is chosen from a job.

    The files of the job are at their usual places around it.

    Args:
        export: folder of an export, on this machine or gs://; None: unset.
        job_dir: folder of a job; None: unset. Exactly one of the two is given.
        copies: fetches files from Cloud Storage.

    Raises:
        UserError: the job has no export, or the files cannot be fetched.
    """
    folder, inside = export or job_dir or "", ""
    if not storage.is_remote(folder):
        return export or find_export(folder)
    if export:
        # The files that describe the inputs of the export may be in the job_dir around it.
        match = re.fullmatch(r"(gs://[^/]+/.+)/(export/[^/]+/\d+)/?", folder)
        folder, inside = match.groups() if match else (folder, "")
    else:
        inside = choose_from_files(copies.list_names(folder, "--job_dir"), folder)
    prefix = f"{inside}/" if inside else ""
    local = copies.fetch(
        folder,
        "--export" if export else "--job_dir",
        lambda name: name.startswith(prefix) or name in MODEL_FILES,
    )
    return str(Path(local, inside))
