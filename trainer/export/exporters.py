"""Exporters: when a SavedModel is exported, and which exports are kept."""

import math
import shutil
from pathlib import Path
from typing import Any, Callable, Optional

import pydantic

from estimator_bridge import estimator
from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.job_layout import BEST_STATE, EVAL_DATA_KEY


class BestExporter(estimator.Exporter):
    """Exports whenever a metric is better than in all earlier evaluations.

    The evaluations before a restart count too, if they were on the same data: the best value is
    stored in best.json beside the exports. best.json is written atomically.

    Args:
        receiver_fn: the serving_input_receiver_fn.
        metric: name of the metric.
        direction: min or max: which value of the metric is better.
        keep: number of newest exports that are kept.
        assets: name in the assets.extra of an export → file that is copied there.
        eval_data: checksum of the evaluation data; None: unknown.
    """

    def __init__(
        self,
        receiver_fn: Optional[Callable[[], Any]],
        metric: str,
        direction: str,
        keep: int,
        assets: Optional[dict[str, str]] = None,
        eval_data: Optional[int] = None,
    ) -> None:
        self._receiver_fn = receiver_fn
        self._assets = assets
        self._metric = metric
        self._is_min = direction == "min"
        self._keep = keep
        self._eval_data = eval_data

    @property
    def name(self) -> str:
        """Name of its folder in export/."""
        return "best"

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports a checkpoint if its evaluation is the best so far on the same data.

        Args:
            estimator: an Estimator.
            export_path: folder of this exporter.
            checkpoint_path: prefix of the checkpoint's files.
            eval_result: name → value of the metrics, and "global_step". A metric that is not
                finite is never the best.
            is_the_final_export: whether it is the last export of the run.

        Returns:
            The path of the export, or None.

        Raises:
            UserError: the metric is not among the results.
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
        state = Path(export_path) / BEST_STATE
        best = read_best(state)
        if best is not None and not self._is_better(value, best):
            return None
        exported = estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets,
            checkpoint_path=checkpoint_path,
        )
        step = int(eval_result["global_step"])
        data = {} if self._eval_data is None else {EVAL_DATA_KEY: self._eval_data}
        storage.write_json(state, {"metric": self._metric, "value": value, "step": step, **data})
        _remove_old_exports(export_path, self._keep)
        return exported

    def _is_better(self, value: float, best: "_Best") -> bool:
        """Whether a value is better than the stored one, or that is of another metric or data."""
        is_known = None not in (best.eval_data, self._eval_data)
        if best.metric != self._metric or (is_known and best.eval_data != self._eval_data):
            return True
        return value < best.value if self._is_min else value > best.value


class _FinalExporter(estimator.FinalExporter):
    """Exports at the end of each run, and keeps the newest exports: a job may run every night."""

    def __init__(
        self,
        receiver_fn: Optional[Callable[[], Any]],
        keep: int,
        assets: Optional[dict[str, str]],
    ) -> None:
        super().__init__("final", receiver_fn, assets_extra=assets)
        self._keep = keep

    def export(self, estimator: Any, export_path: str, *rest: Any, **named: Any) -> Any:
        exported = super().export(estimator, export_path, *rest, **named)
        if exported is not None:
            _remove_old_exports(export_path, self._keep)
        return exported


def _remove_old_exports(folder: str, keep: int) -> None:
    for old in list_exports(folder)[:-keep]:
        shutil.rmtree(old)


class _Best(pydantic.BaseModel):
    """What is read of best.json."""

    model_config = pydantic.ConfigDict(strict=True)

    metric: str
    value: float
    eval_data: Optional[int] = None


def read_best(path: Path) -> Optional[_Best]:
    """Returns the metric and the value of the best export; None if there is none.

    Args:
        path: best.json, in the folder of the exporter.

    Raises:
        UserError: the file is damaged.
    """
    stored = storage.read_json(path)
    if stored is None:
        return None
    try:
        return _Best.model_validate(stored)
    except pydantic.ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
        raise storage.describe_damage(path, field) from error


def list_exports(folder: str) -> list[str]:
    """Returns the paths of an exporter's finished exports, oldest first.

    Args:
        folder: of the exporter; it need not exist.
    """
    path = Path(folder)
    if not path.is_dir():
        return []
    # An Estimator writes into temp-<timestamp> and renames the folder when the export is complete.
    stamps = sorted(
        (child for child in path.iterdir() if child.name.isdigit()), key=lambda c: int(c.name)
    )
    return [str(child) for child in stamps]


def build_exporters(
    export: config_lib.ExportConfig,
    receiver_fn: Optional[Callable[[], Any]],
    metric: str,
    direction: str,
    assets: Optional[dict[str, str]] = None,
    eval_data: Optional[int] = None,
) -> list[Any]:
    """Builds the exporters of the configuration.

    Args:
        export: the names of the exporters, and the number of exports that each keeps.
        receiver_fn: the serving_input_receiver_fn.
        metric: name of the metric by which `best` chooses.
        direction: min or max: which value of the metric is better.
        assets: name in the assets.extra of an export → file that is copied there.
        eval_data: checksum of the evaluation data; None: unknown.

    Returns:
        An estimator.Exporter for each name in export.exporters, in that order.
    """
    makers: dict[str, Callable[[], Any]] = {
        "latest": lambda: estimator.LatestExporter(
            "latest", receiver_fn, assets_extra=assets, exports_to_keep=export.keep
        ),
        "best": lambda: BestExporter(
            receiver_fn, metric, direction, export.keep, assets, eval_data
        ),
        "final": lambda: _FinalExporter(receiver_fn, export.keep, assets),
    }
    return [makers[name]() for name in dict.fromkeys(export.exporters)]
