"""python -m trainer.evaluate: any checkpoint of a job, on any data, over any slice.

python -m trainer.evaluate --job_dir=jobs/census
python -m trainer.evaluate --job_dir=jobs/census --all_checkpoints
python -m trainer.evaluate --job_dir=jobs/census --data='late/*.csv' --by=gender,age,race*gender

The model is rebuilt from what job_dir holds, as it was trained; nothing in job_dir is changed but
the report: evaluation.json and evaluation.png in --output, by default job_dir/evaluation.
The first table is the Estimator's own metrics. Slices are measured from its predictions; their
areas under curves are exact, where the Estimator's go by 200 thresholds.
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

import estimator_bridge
from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.config import arguments, commands
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.files import find_files
from trainer.job_dir.trained_job import Model, fetch_checkpoints, load_model
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.schema import resolve_defaults

SLICED_TASKS = ("binary", "multiclass", "regression")
# Slices of one column in the table on the terminal; the JSON has more.
SHOWN_SLICES = 20


def main(argv: list[str]) -> int:
    """Evaluates; returns the exit status."""
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
        print(copies.display_path(_run(values, copies)))
    return 0


def _run(values, copies: storage.Copies) -> str:
    """Evaluates what the flags say; returns the report for people."""
    job_dir = copies.fetch(values.job_dir, "--job_dir", lambda name: name in job_layout.MODEL_FILES)
    model = load_model(job_dir)
    model = model._replace(config=_override(model.config, values))
    output = values.output or f"{values.job_dir.rstrip('/')}/{job_layout.EVALUATION_FOLDER}"
    output = copies.open_output(output, "--output", is_file=False)
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
    files = find_files(model.config.data.eval, model.config.data.format, "data")
    report = _evaluate(model, files, checkpoints, by, values.min_rows, output, copies.display_path)
    for path in output.glob("evaluation.*"):
        copies.store_output(path)
    return report


def _define(values) -> None:
    for name, meaning in (
        ("job_dir", "folder of a trained job"),
        ("checkpoint", "path or step of a checkpoint; unset: the last"),
        ("output", "folder for evaluation.json and evaluation.png; unset: job_dir/evaluation"),
        ("delimiter", "CSV field delimiter; unset: the job's"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_boolean("all_checkpoints", False, "every one there is", flag_values=values)
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
        ["auto", "csv", "tfrecord", "parquet"],
        "of --data; unset: the job's",
        flag_values=values,
    )
    commands.define_storage(values)


def _override(config: config_lib.Config, values) -> config_lib.Config:
    data = {
        option: value
        for option, value in (
            ("eval", tuple(values.data)),
            ("format", values.data_format),
            ("header", values.header),
            ("delimiter", values.delimiter),
        )
        if value
    }
    sections = config.model_dump()
    sections["data"].update(data)
    if values.threshold is not None:
        if not 0 < values.threshold < 1:
            raise UserError(f"--threshold={values.threshold:g}: must lie between 0 and 1")
        sections["eval"]["threshold"] = values.threshold
    return config_lib.Config.model_validate(sections)


def _evaluate(model, files, checkpoints, by, min_rows, output: Path, display_path) -> str:
    from trainer.inputs.dataset import ReadOptions, RowSource
    from trainer.inputs.scan import list_input_columns

    schema, config = model.schema, model.config
    names = [
        name
        for name in schema.columns
        if name in {*list_input_columns(schema), *(name for names in by for name in names)}
    ]
    defaults = resolve_defaults(schema, model.statistics)
    for name in set(names) - set(list_input_columns(schema)):
        # Only sliced by: a missing value is a slice, not an error.
        if defaults[name] is None and schema.columns[name].raw_type == "float":
            defaults[name] = float("nan")
    source = RowSource(files, schema, config.data, defaults, 0, ReadOptions(names))
    console = Console(display_path=display_path)
    console.log(f"evaluating {len(checkpoints)} checkpoint(s) on {len(files)} file(s)")
    with tempfile.TemporaryDirectory(prefix="evaluate-") as folder:
        built = _build(model, folder)
        evaluations = [_measure(built, source, model, path, console) for path in checkpoints]
        for record in evaluations:
            record["checkpoint"] = display_path(record["checkpoint"])
        sliced = None
        if schema.task in SLICED_TASKS and len(checkpoints) == 1:
            sliced = _predict(built, source, model, checkpoints[0], by)
    return _write(model, files, evaluations, sliced, min_rows, output)


def _build(model: Model, folder: str):
    from trainer.cluster.run_config import build_run_config
    from trainer.models.build import build_estimator

    # Elsewhere, so that nothing is added to the job's own event files.
    config = model.config.model_copy(update={"job_dir": folder})
    run_config = build_run_config(config)
    steps = config.train.max_steps or 1
    return build_estimator(config, model.schema, model.statistics, run_config, steps)


def _make_shape_check(checkpoint: str):
    """Makes a hook that refuses a checkpoint of another model.

    TensorFlow restores a variable of another shape without a word and computes with it.
    """
    from estimator_bridge import estimator, tf

    class ShapeCheck(estimator.SessionRunHook):
        def begin(self):
            stored = dict(tf.train.list_variables(checkpoint))
            for variable in tf.compat.v1.global_variables():
                name, shape = variable.op.name, variable.shape.as_list()
                if list(stored.get(name, shape)) != shape:
                    raise UserError(
                        f"checkpoint {checkpoint}: {name} has the shape {stored[name]}, and {shape}"
                        " in the model that job_dir describes; was it written by this job?"
                    )

    return ShapeCheck()


def _measure(built, source, model: Model, checkpoint: str, console: Console) -> dict[str, float]:
    from trainer.inputs.dataset import make_eval_input_fn

    input_fn = make_eval_input_fn(source, model.schema, model.config.eval.batch_size)
    hooks = [_make_shape_check(checkpoint)]
    metrics = _explained(
        source,
        checkpoint,
        lambda: built.evaluate(input_fn, hooks=hooks, checkpoint_path=checkpoint),
    )
    step = int(metrics.pop("global_step"))
    result = {name: float(value) for name, value in metrics.items()}
    console.log(f"step {step:,}: loss {result.get('loss', math.nan):.4f}")
    return {"checkpoint": checkpoint, "step": step, **result}


def _explained(source, checkpoint: str, ask):
    """Calls ask(); an error of TensorFlow becomes one for people."""
    from estimator_bridge import tf

    try:
        return ask()
    except (tf.errors.OpError, ValueError) as error:
        if source.error is not None:
            raise source.error from error
        if isinstance(error, UserError):
            raise
        words = " ".join(str(error).split())
        raise UserError(
            f"checkpoint {checkpoint}: cannot be evaluated as the model that job_dir describes: "
            f"{words[:200]}; was it written by this job?"
        ) from error


def _predict(built, source, model: Model, checkpoint: str, by):
    """(Predictions, by → Grouping) of all rows, in one pass of the model over them."""
    from trainer.inputs.dataset import make_eval_input_fn
    from trainer.metrics import slices

    schema = model.schema
    input_fn = make_eval_input_fn(source, schema, model.config.eval.batch_size)
    output = {"binary": "logistic", "multiclass": "probabilities", "regression": "predictions"}
    answers = _explained(
        source,
        checkpoint,
        lambda: list(
            built.predict(
                input_fn,
                predict_keys=[output[schema.task]],
                checkpoint_path=checkpoint,
                yield_single_examples=False,
            )
        ),
    )
    scores = np.concatenate([answer[output[schema.task]] for answer in answers])
    wanted = dict.fromkeys([schema.label.column, *(name for names in by for name in names)])
    if schema.weight:
        wanted[schema.weight] = None
    # The rows again, in the same order: what they are is known without the model.
    chunks = [{name: chunk[name] for name in wanted} for chunk in source.read(names=list(wanted))]
    if schema.task != "multiclass":
        scores = scores.reshape(-1)
    weights = np.concatenate([chunk[schema.weight] for chunk in chunks]) if schema.weight else None
    labels = np.concatenate([slices.read_labels(chunk, schema) for chunk in chunks])
    groupings = slices.group(chunks, by, schema, model.statistics.columns)
    return slices.Predictions(labels, scores, weights), groupings


def _write(model, files, evaluations, sliced, min_rows, output: Path) -> str:
    from trainer.metrics import slices
    from trainer.reporting import plots

    task, threshold = model.schema.task, model.config.eval.threshold
    main = SHOWN_METRICS.get(task, ("loss",))[0]
    document: dict[str, Any] = {
        "task": task,
        "files": [file.path for file in files],
        "threshold": threshold,
        "evaluations": evaluations,
    }
    lines = _describe_evaluations(evaluations, task)
    picture = output / job_layout.EVALUATION_PLOT
    try:
        output.mkdir(parents=True, exist_ok=True)
        if sliced is not None:
            predictions, groupings = sliced
            overall = slices.measure(task, predictions, threshold)
            parts = slices.measure_slices(task, predictions, groupings, threshold, min_rows)
            document.update(
                rows=len(predictions.labels),
                overall=overall,
                min_rows=min_rows,
                slices=[part._asdict() for part in parts],
            )
            if parts:
                lines += _describe_slices(parts, overall, len(predictions.labels), min_rows, main)
                plots.draw_slices(parts, main, overall.get(main), picture)
            else:
                classes = [str(name) for name in model.schema.label.vocabulary or ()]
                classes = classes or [str(name) for name in range(model.schema.num_classes)]
                plots.draw_answers(task, predictions, classes, picture)
        else:
            plots.draw_checkpoints(evaluations, main, picture)
        storage.write_json(output / job_layout.EVALUATION_REPORT, _without_nan(document))
    except OSError as error:
        raise UserError(f"--output={output}: {error.strerror}; choose another") from error
    return "\n".join([*lines, "", f"{output / 'evaluation.json'}, {picture}"])


def _without_nan(value: Any) -> Any:
    """NaN and infinity, which JSON does not have, as null."""
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _describe_evaluations(evaluations, task) -> list[str]:
    names = dict.fromkeys(("loss", *SHOWN_METRICS.get(task, ())))
    shown = [name for name in names if name in evaluations[0]]
    # Of several heads, the main metrics of each.
    mains = {metrics[0] for metrics in SHOWN_METRICS.values()}
    shown += [name for name in evaluations[0] if "/" in name and name.split("/")[0] in mains]
    shown = shown or [name for name in evaluations[0] if name not in ("checkpoint", "step")]
    rows = [[f"{record['step']:,}", *(f"{record[n]:.4f}" for n in shown)] for record in evaluations]
    return _align([["step", *shown], *rows])


def _describe_slices(parts, overall, rows, min_rows, main) -> list[str]:
    first = [main, *(name for name in overall if name != main)][:6]
    lines = []
    for by in dict.fromkeys(part.by for part in parts):
        mine = [part for part in parts if part.by == by]
        table = [[by, "rows", *first], ["all rows", f"{rows:,}", *_cells(overall, first)]]
        for part in mine[:SHOWN_SLICES]:
            mark = " *" if part.few else ""
            table.append([part.value + mark, f"{part.rows:,}", *_cells(part.metrics, first)])
        lines += ["", *_align(table)]
        if any(part.few for part in mine[:SHOWN_SLICES]):
            lines.append(f"  * fewer than {min_rows} rows: too few to be trusted")
        if len(mine) > SHOWN_SLICES:
            lines.append(f"  {len(mine) - SHOWN_SLICES} smaller slices are in evaluation.json")
    return lines


def _cells(metrics: dict[str, float], names) -> list[str]:
    return [
        "-" if not math.isfinite(metrics.get(name, math.nan)) else f"{metrics[name]:.4f}"
        for name in names
    ]


def _align(table: list[list[str]]) -> list[str]:
    """Rows of cells as lines: the first column to the left, numbers to the right."""
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]))]
    return [
        f"  {row[0]:<{widths[0]}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:]))
        for row in table
    ]
