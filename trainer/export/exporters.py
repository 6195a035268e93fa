"""Exporters: when a SavedModel is exported, and which exports are kept."""

import math
import shutil
from pathlib import Path
from typing import Any, Callable, Optional

from estimator_bridge import estimator
from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError


class BestExporter(estimator.Exporter):
    """Exports whenever a metric is better than ever before; remembers across restarts.

    What is best is kept in best.json beside the exports, written atomically.
    """

    def __init__(
        self,
        receiver_fn: Callable,
        metric: str,
        direction: str,
        keep: int,
        assets: Optional[dict[str, str]] = None,
    ):
        self._receiver_fn = receiver_fn
        self._assets = assets
        self._metric = metric
        self._better = (
            (lambda new, old: new < old) if direction == "min" else (lambda new, old: new > old)
        )
        self._keep = keep

    @property
    def name(self) -> str:
        """Directory under export/."""
        return "best"

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Exports if eval_result is the best so far; returns the export's path or None.

        A metric that is not a finite number is never the best.
        """
        if self._metric not in eval_result:
            raise UserError(
                f"export.best_metric: no metric {self._metric!r}"
                f"{config_lib.nearest(self._metric, eval_result)} "
                f"(there are {', '.join(sorted(eval_result))})"
            )
        value = float(eval_result[self._metric])
        if not math.isfinite(value):
            return None
        state = Path(export_path) / "best.json"
        best = storage.read_json(state)
        comparable = best is not None and best["metric"] == self._metric
        if comparable and not self._better(value, best["value"]):
            return None
        exported = estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets,
            checkpoint_path=checkpoint_path,
        )
        step = int(eval_result["global_step"])
        storage.write_json(state, {"metric": self._metric, "value": value, "step": step})
        for old in list_exports(export_path)[: -self._keep]:
            shutil.rmtree(old)
        return exported


def list_exports(folder: str) -> list[str]:
    """Finished exports in an exporter's folder, oldest first."""
    path = Path(folder)
    if not path.is_dir():
        return []
    # Estimator writes into temp-<time stamp> and renames when done.
    stamps = sorted(
        (child for child in path.iterdir() if child.name.isdigit()), key=lambda c: int(c.name)
    )
    return [str(child) for child in stamps]


def build_exporters(
    export: config_lib.ExportConfig,
    receiver_fn: Callable,
    metric: str,
    direction: str,
    assets: Optional[dict[str, str]] = None,
) -> list[Any]:
    """The exporters that the configuration names.

    Args:
        export: which, and how many exports they keep.
        receiver_fn: the serving_input_receiver_fn.
        metric, direction: by which best chooses.
        assets: name in the exports' assets.extra → file that is copied there.
    """
    makers = {
        "latest": lambda: estimator.LatestExporter(
            "latest", receiver_fn, assets_extra=assets, exports_to_keep=export.keep
        ),
        "best": lambda: BestExporter(receiver_fn, metric, direction, export.keep, assets),
        "final": lambda: estimator.FinalExporter("final", receiver_fn, assets_extra=assets),
    }
    return [makers[name]() for name in dict.fromkeys(export.exporters)]
