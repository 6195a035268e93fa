"""The jobs of run_fn and tuner_fn: what their processes do."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer import storage
from trainer.api.options import open_copies
from trainer.api.training import resolve, train
from trainer.errors import UserError
from trainer.metrics.catalogue import choose_direction
from trainer.metrics.included import check_metric
from trainer.models.warm_start import find_checkpoint
from trainer.tfx.arguments import name_checkpoint_folder, read_arguments

# A trial is compared with others by its best evaluation; nothing of it is served.
TRIAL_OPTIONS = {
    "export.exporters": "",
    "run.report": False,
    "run.keep_checkpoint_max": 1,
    "eval.throttle_secs": 0,
}


def run(fn_args: Mapping[str, Any]) -> None:
    """Trains, evaluates and exports a model, and copies its export to serving_model_dir.

    Args:
        fn_args: from `arguments.flatten`; model_run_dir becomes the job's folder.

    Raises:
        UserError: custom_config, the data or an option are wrong.
    """
    target, folder = (fn_args[name] for name in ("serving_model_dir", "model_run_dir"))
    for name, given in (("serving_model_dir", target), ("model_run_dir", folder)):
        if not given:
            raise UserError(f"{name}: not given; the Trainer component sets it")
    arguments = read_arguments(fn_args)
    job = train({**arguments.options, "job_dir": folder}, schema=arguments.schema)
    if job.best_export is None:
        raise UserError("options: export.exporters names none; TFX needs a model to be exported")
    with open_copies(arguments.options) as copies:
        export = Path(copies.fetch(job.best_export, "model_run_dir"))
        checkpoint = Path(find_checkpoint(folder))
        state = [*checkpoint.parent.glob(f"{checkpoint.name}.*"), checkpoint.parent / "checkpoint"]
        _store(state, checkpoint.parent, name_checkpoint_folder(target), copies)
        # A model is there when its saved_model.pb is.
        files = [path for path in export.rglob("*") if path.is_file()]
        files.sort(key=lambda path: path.name == "saved_model.pb")
        _store(files, export, target, copies)


def _store(files: Sequence[Path], source: Path, target: str, copies: storage.Copies) -> None:
    """Copies files of a folder, in their order, into another, on this machine or gs://."""
    output = copies.open_output(target, "serving_model_dir", is_file=False)
    for path in files:
        place = output / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        copies.store_output(place)


def prepare_search(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what all trials of a search have in common.

    Args:
        given: "fn_args" from `arguments.flatten`; "metric" of the search space, or "".

    Returns:
        "options" and "schema" of a trial, its "metric" and "direction", and the "seed".

    Raises:
        UserError: custom_config, the data, the metric or an option are wrong.
    """
    options, schema, custom = read_arguments(given["fn_args"])
    _, config = resolve(options)
    metric = custom.get("objective") or given["metric"] or config.export.best_metric or "loss"
    check_metric("custom_config['objective']", metric, config, schema)
    direction = choose_direction(metric, config.export.best_mode)
    best = {"export.best_metric": metric, "export.best_mode": direction}
    return {
        "options": {**options, **best, **TRIAL_OPTIONS},
        "schema": schema.model_dump(mode="json", exclude_defaults=True),
        "metric": metric,
        "direction": direction,
        "seed": config.run.seed,
    }


def try_values(given: Mapping[str, Any]) -> dict[str, float]:
    """Trains the job of a trial; returns the metrics of its best evaluation.

    Args:
        given: "options" and "schema".

    Raises:
        UserError: the data or an option are wrong.
    """
    return train(given["options"], schema=given["schema"]).metrics
