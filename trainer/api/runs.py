"""The results of a job in a folder: metrics, exports, paths, plots."""

import base64
import html
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import job_layout
from trainer.errors import UserError
from trainer.export.choose import choose_export
from trainer.job_dir.results import read_results


class Run(NamedTuple):
    """A trained job. In a notebook it shows its summary and its curves.

    Attributes:
        job_dir: the job's folder, on this machine or gs://.
        metrics: metrics of the best evaluation, with its "step"; empty if there was none.
        last: metrics of the last evaluation.
        evaluations: metrics of all evaluations, in their order.
        baselines: name → metrics of the predictors with which the model is compared.
        step: global step of the last checkpoint.
        best_export: folder of the export to serve: the newest of best, or otherwise of final or
            of latest; None without exports.
        exports: exporter → folders of its exports, oldest first.
        plots: name → image file on this machine: "curves"; empty if there is none.
        report: the page of the job on this machine; None if there is none.
        summary: the text that the command prints at the end.
    """

    job_dir: str
    metrics: dict[str, float]
    last: dict[str, float]
    evaluations: list[dict[str, float]]
    baselines: dict[str, dict[str, float]]
    step: int
    best_export: Optional[str]
    exports: dict[str, list[str]]
    plots: dict[str, Path]
    report: Optional[Path]
    summary: str

    def __repr__(self) -> str:
        return self.summary.strip("\n")

    def _repr_html_(self) -> str:
        shown = [f"<pre>{html.escape(self.summary.strip())}</pre>"]
        for name, path in self.plots.items():
            image = base64.b64encode(path.read_bytes()).decode("ascii")
            shown.append(
                f'<img alt="{html.escape(name)}" src="data:image/png;base64,{image}" '
                'style="max-width: 100%">'
            )
        return "".join(shown)


def read_run(job_dir: str, folder: str, summary: Optional[str] = None) -> Run:
    """Reads what a job has written into its folder.

    Args:
        job_dir: the job's folder as the user gave it.
        folder: the same on this machine.
        summary: the text of the summary; None: that of the job's summary.txt.

    Raises:
        UserError: the job has not ended, so that there is no metrics.json.
    """
    root, shown = Path(folder), job_dir.rstrip("/")
    found = read_results(root / job_layout.METRICS)
    try:
        if summary is None:
            summary = (root / job_layout.SUMMARY).read_text(encoding="utf-8", errors="replace")
    except OSError:
        summary = None
    if not found or summary is None:
        raise UserError(
            f"job_dir {job_dir}: no {job_layout.METRICS} and {job_layout.SUMMARY} that can be "
            "read; name the folder of a job that has ended"
        )
    curves, report = root / job_layout.CURVES, root / job_layout.REPORT
    exports = {
        name: [path.replace(str(root), shown) for path in paths]
        for name, paths in (found.get("exports") or {}).items()
    }
    return Run(
        job_dir=job_dir,
        metrics=found.get("best") or {},
        last=found.get("last") or {},
        evaluations=found.get("evaluations") or [],
        baselines=found.get("baselines") or {},
        step=found.get("end_step") or 0,
        best_export=choose_export(exports),
        exports=exports,
        plots={"curves": curves} if curves.is_file() else {},
        report=report if report.is_file() else None,
        summary=summary.replace(str(root), shown),
    )
