"""python -m trainer.evaluate: any checkpoint of a job, on any data, by any slice.

python -m trainer.evaluate --job_dir=jobs/census
python -m trainer.evaluate --job_dir=jobs/census --all_checkpoints
python -m trainer.evaluate --job_dir=jobs/census --data='late/*.csv' \\
    --by=gender,age,race*gender

The model is rebuilt as it was trained, from the files in job_dir. If its config.yaml names your
code (model.type, eval.metric_fn), --allow_code imports it. Only the report is written:
evaluation.json and evaluation.png in --output, by default job_dir/evaluation.
The first table contains the Estimator's own metrics. The metrics of slices are computed from its
predictions: their areas under curves are exact, while the Estimator approximates them with 200
thresholds. With more than 1,000,000 rows, the areas are computed from binned scores, and their
largest possible error is printed.
"""

from typing import Optional

from absl import flags

from trainer import job_layout, storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.engines.options import LOCAL, define_engine, read_engine
from trainer.errors import UserError
from trainer.evaluation.opening import SLICED_TASKS, Replaced, Slicing, open_model
from trainer.inputs.data_sets import find_eval_files
from trainer.job_dir.trained_job import fetch_checkpoints
from trainer.storage.disk import require_folder


def main(argv: list[str]) -> int:
    """Evaluates checkpoints; returns the exit status.

    Args:
        argv: the command line, without the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    values = parse(argv)
    if values is None:
        return 0
    with commands.open_storage(values) as copies:
        show(copies.display_path(_run(values, copies)))
    return 0


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they only ask for help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is wrong or missing.
    """
    values = arguments.parse_flags("trainer.evaluate", _define, argv, __doc__)
    if values is None:
        return None
    arguments.require(values, "job_dir")
    if values.checkpoint and values.all_checkpoints:
        raise UserError("--checkpoint and --all_checkpoints are both given; remove one of them")
    if values.all_checkpoints and values.by:
        raise UserError("--by: slices one checkpoint; remove --all_checkpoints or --by")
    if values.all_checkpoints and values.engine != LOCAL:
        raise UserError(
            f"--engine={values.engine}: evaluates one checkpoint; remove --all_checkpoints"
        )
    return values


def _run(values: flags.FlagValues, copies: storage.Copies) -> str:
    """Evaluates according to the flags; returns the text of the report."""
    console = Console(display_path=copies.display_path)
    engine, replaced = read_engine(values, writes_template=True), read_replaced(values)
    model = open_model(values.job_dir, replaced, copies, console)
    if engine.name != LOCAL and model.schema.task not in SLICED_TASKS:
        raise UserError(
            f"--engine={engine.name}: a {model.schema.task} model is evaluated on this machine "
            "only; remove it"
        )
    folder = values.output or f"{values.job_dir.rstrip('/')}/{job_layout.EVALUATION_FOLDER}"
    output = copies.open_output(folder, "--output", is_file=False)
    require_folder(output, f"--output={folder}", "choose another")
    slicing = Slicing(values.by, values.min_rows)
    slicing.check(model.schema)
    find_eval_files(model.config.data, model.schema)
    checkpoints = fetch_checkpoints(
        values.job_dir, values.checkpoint, values.all_checkpoints, copies
    )
    # Imported here, because they import TensorFlow: all other checks come first.
    from trainer.evaluation import measuring
    from trainer.evaluation.report import store_evaluation
    from trainer.job_dir.checkpoints import read_step

    if engine.name == LOCAL:
        report = measuring.evaluate(model, checkpoints, slicing, console)
    else:
        from trainer.evaluation.engine_work import Job, Reporter, evaluate_on_engine

        job = Job(values.job_dir, copies.display_path(checkpoints[0]), replaced)
        reporter = Reporter(job, read_step(checkpoints[0]), slicing, folder)
        found = evaluate_on_engine(reporter, model, engine)
        if found is None:
            return "the pipeline is in --template_location"
        report = found
    for record in report.evaluations:
        record["checkpoint"] = copies.display_path(record["checkpoint"])
    return store_evaluation(report, output, copies)


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string(
        "output",
        None,
        "folder for evaluation.json and evaluation.png; unset: job_dir/evaluation",
        flag_values=values,
    )
    flags.DEFINE_boolean("all_checkpoints", False, "evaluate all checkpoints", flag_values=values)
    define_model(values)
    define_engine(values)


def define_model(values: flags.FlagValues) -> None:
    """Adds the flags that name a trained model, the data to evaluate it on, and the slices.

    Args:
        values: where the flags are added.
    """
    for name, meaning in (
        ("job_dir", "folder of a trained job"),
        ("checkpoint", "path or step of a checkpoint; unset: the last"),
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
    commands.define_format(values, "the job's")
    commands.define_reading(values, "the job's")
    commands.define_storage(values)


def read_replaced(values: flags.FlagValues) -> Replaced:
    """Returns what the flags replace of the job's configuration; applies --redact.

    Args:
        values: the parsed flags, including those of define_model.
    """
    given = {"eval": list(values.data), **commands.get_format(values)}
    data = {f"data.{option}": value for option, value in given.items() if value}
    limits = commands.start_reading(values)
    return Replaced({**data, **limits}, values.threshold, values.allow_code)
