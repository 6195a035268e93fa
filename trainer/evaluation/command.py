"""python -m trainer.evaluate: any checkpoint of a job, on any data, by any slice.

python -m trainer.evaluate --job_dir=jobs/census
python -m trainer.evaluate --job_dir=jobs/census --all_checkpoints
python -m trainer.evaluate --job_dir=jobs/census --data='late/*.csv' --by=gender,age,race*gender

The model is rebuilt as it was trained, from the files in job_dir. If its config.yaml names code of
yours (model.type, eval.metric_fn), --allow_code imports it. Only the report is written:
evaluation.json and evaluation.png in --output, by default job_dir/evaluation.
The first table contains the Estimator's own metrics. The metrics of slices are computed from its
predictions: their areas under curves are exact, while the Estimator approximates them with 200
thresholds.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from absl import flags

import estimator_bridge
from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError
from trainer.inputs.files import find_files

if TYPE_CHECKING:
    from trainer.job_dir.trained_job import Model

SLICED_TASKS = ("binary", "multiclass", "regression")


def main(argv: list[str]) -> int:
    """Evaluates checkpoints; returns the exit status.

    Args:
        argv: the command line, without the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    values = arguments.parse_flags("trainer.evaluate", _define, argv, __doc__)
    if values is None:
        return 0
    arguments.require(values, "job_dir")
    if values.checkpoint and values.all_checkpoints:
        raise UserError("--checkpoint and --all_checkpoints are both given; remove one of them")
    if values.all_checkpoints and values.by:
        raise UserError("--by: slices one checkpoint; remove --all_checkpoints or --by")
    with commands.open_storage(values) as copies:
        show(copies.display_path(_run(values, copies)))
    return 0


def _run(values: flags.FlagValues, copies: storage.Copies) -> str:
    """Evaluates according to the flags; returns the text of the report."""
    # Imported here, because it imports TensorFlow; --help and a wrong flag need no TensorFlow.
    from trainer.job_dir.trained_job import fetch_checkpoints, load_model

    job_dir = copies.fetch(values.job_dir, "--job_dir", lambda name: name in job_layout.MODEL_FILES)
    console = Console(display_path=copies.display_path)
    model = load_model(job_dir, values.allow_code, console.warn)
    model = model._replace(
        config=override_config(model.config, values, commands.start_reading(values))
    )
    folder = values.output or f"{values.job_dir.rstrip('/')}/{job_layout.EVALUATION_FOLDER}"
    output = copies.open_output(folder, "--output", is_file=False)
    estimator_bridge.set_verbosity("error")
    estimator_bridge.prefer_onednn()
    from trainer.metrics.slices import parse_by

    by = parse_by(values.by, model.schema)
    if by and model.schema.task not in SLICED_TASKS:
        raise UserError(
            f"--by: a {model.schema.task} model has no slices; only {', '.join(SLICED_TASKS)} have"
        )
    checkpoints = fetch_checkpoints(
        values.job_dir, values.checkpoint, values.all_checkpoints, copies
    )
    report = _evaluate(
        model,
        checkpoints,
        by,
        min_rows=values.min_rows,
        output=output,
        display_path=copies.display_path,
    )
    for path in output.glob("evaluation.*"):
        copies.store_output(path)
    return report


def _evaluate(
    model: "Model",
    checkpoints: Sequence[str],
    by: Sequence[Sequence[str]],
    *,
    min_rows: int,
    output: Path,
    display_path: Callable[[str], str],
) -> str:
    """Measures checkpoints and writes the report; returns its text."""
    from trainer.evaluation.checkpoint_metrics import CheckpointMeter
    from trainer.evaluation.report import EvaluationReport, Sliced, write_evaluation
    from trainer.metrics import slices

    schema, config = model.schema, model.config
    files = find_files(config.data.eval, config.data.format, "data")
    console = Console(display_path=display_path)
    console.log(f"evaluating {len(checkpoints)} checkpoint(s) on {len(files)} file(s)")
    sliced: Optional[Sliced] = None
    with tempfile.TemporaryDirectory(prefix="evaluate-") as folder:
        meter = CheckpointMeter(model, files, by, folder)
        evaluations = [meter.measure(path, console) for path in checkpoints]
        if schema.task in SLICED_TASKS and len(checkpoints) == 1:
            predictions, groupings = meter.predict(checkpoints[0])
            threshold = config.eval.threshold
            overall = slices.measure(schema.task, predictions, threshold)
            parts = slices.measure_slices(schema.task, predictions, groupings, threshold, min_rows)
            sliced = Sliced(predictions, overall, parts, min_rows)
    for record in evaluations:
        record["checkpoint"] = display_path(record["checkpoint"])
    paths = [file.path for file in files]
    return write_evaluation(
        EvaluationReport(schema, paths, config.eval.threshold, evaluations, sliced), output
    )


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string(
        "output",
        None,
        "folder for evaluation.json and evaluation.png; unset: job_dir/evaluation",
        flag_values=values,
    )
    flags.DEFINE_boolean("all_checkpoints", False, "evaluate all checkpoints", flag_values=values)
    define_model(values)


def define_model(values: flags.FlagValues) -> None:
    """Adds the flags that name a trained model, the data to evaluate it on, and the slices.

    Args:
        values: where the flags are added.
    """
    for name, meaning in (
        ("job_dir", "folder of a trained job"),
        ("checkpoint", "path or step of a checkpoint; unset: the last"),
        ("delimiter", "CSV field delimiter; unset: the job's"),
        ("encoding", "encoding of CSV files; unset: the job's"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_boolean(
        "allow_code", False, "run code that the job's config.yaml names", flag_values=values
    )
    flags.DEFINE_list("data", [], "files; unset: the job's evaluation data", flag_values=values)
    flags.DEFINE_list("by", [], "columns to slice by; a*b: by both at once", flag_values=values)
    flags.DEFINE_float(
        "threshold", None, "score from which a row is called positive", 0, 1, flag_values=values
    )
    flags.DEFINE_integer("min_rows", 100, "a slice of fewer rows is marked", 1, flag_values=values)
    flags.DEFINE_enum("header", None, ["auto", "yes", "no"], "CSV header line", flag_values=values)
    flags.DEFINE_enum(
        "data_format",
        None,
        config_lib.DATA_FORMATS,
        "of --data; unset: the job's",
        flag_values=values,
    )
    commands.define_reading(values)
    commands.define_storage(values)


def override_config(
    config: config_lib.Config, values: flags.FlagValues, limits: dict[str, str]
) -> config_lib.Config:
    """Returns the job's configuration with the options that the flags replace.

    Args:
        config: of the job.
        values: the parsed flags, including those of define_model.
        limits: result of commands.start_reading.

    Raises:
        UserError: a flag's value is invalid.
    """
    given = {
        f"data.{option}": value
        for option, value in (
            ("eval", list(values.data)),
            ("format", values.data_format),
            ("header", values.header),
            ("delimiter", values.delimiter),
            ("encoding", values.encoding),
        )
        if value
    }
    sections = config.model_dump()
    given.update(limits)
    checked = config_lib.load_config(None, given).data
    sections["data"].update(checked.model_dump(include={name[len("data.") :] for name in given}))
    if values.threshold is not None:
        if not 0 < values.threshold < 1:
            raise UserError(f"--threshold={values.threshold:g}: must lie between 0 and 1")
        sections["eval"]["threshold"] = values.threshold
    return config_lib.Config.model_validate(sections)
