"""python -m trainer.report: a trained job as one HTML page that needs no network.

python -m trainer.report jobs/census
python -m trainer.report jobs/census --by=gender,age --output=census.html

The page shows the data, the curves, the quality of one checkpoint on the evaluation data, the
importance of the columns, the rows with the largest errors, and the exports. It contains values of
your data. If the job's config.yaml names your code, --allow_code imports it.
"""

from pathlib import Path
from typing import Optional

from absl import flags

from trainer import job_layout, storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError
from trainer.evaluation.command import define_model, read_replaced
from trainer.evaluation.opening import Slicing, open_model, require_sliced_task
from trainer.inputs.data_sets import find_eval_files
from trainer.inputs.files import refuse_inputs
from trainer.job_dir.trained_job import fetch_checkpoints
from trainer.storage.disk import require_folder


def main(argv: list[str]) -> int:
    """Writes the page; returns the exit status.

    Args:
        argv: the command line, without the program's name.

    Raises:
        UserError: the job cannot be evaluated, or the page cannot be written.
    """
    values = parse(argv)
    if values is None:
        return 0
    with commands.open_storage(values) as copies:
        show(_run(values, copies))
    return 0


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they request only help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    if argv and not argv[0].startswith("-"):
        argv = [f"--job_dir={argv[0]}", *argv[1:]]
    values = arguments.parse_flags("trainer.report", _define, argv, __doc__)
    if values is not None:
        arguments.require(values, "job_dir")
    return values


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string(
        "output", None, "the HTML file; unset: job_dir/report.html", flag_values=values
    )
    flags.DEFINE_integer(
        "importance_rows",
        2000,
        "rows with which to measure the importance of columns; 0: not measured",
        0,
        flag_values=values,
    )
    define_model(values)


def _run(values: flags.FlagValues, copies: storage.Copies) -> str:
    """Writes the page according to the flags; returns its path."""
    console = Console(display_path=copies.display_path)
    model = open_model(values.job_dir, read_replaced(values), copies, console)
    require_sliced_task(values.job_dir, model.schema)
    slicing = Slicing(values.by, values.min_rows)
    slicing.check(model.schema)
    files = find_eval_files(model.config.data, model.schema)
    output = values.output or f"{values.job_dir.rstrip('/')}/{job_layout.REPORT}"
    path = copies.open_output(output, "--output", is_file=True)
    require_folder(path.parent, f"--output={output}", "choose another")
    if path.is_dir():
        raise UserError(f"--output={output}: is a folder; name a file")
    refuse_inputs([copies.display_path(str(path))], files, "the data")
    checkpoint = fetch_checkpoints(values.job_dir, values.checkpoint, False, copies)[0]
    # Imported here, because it imports TensorFlow: all other checks come first.
    from trainer.evaluation import page

    job_dir = Path(copies.fetch(values.job_dir, "--job_dir", lambda name: False))
    request = page.PageRequest(values.job_dir, slicing, values.importance_rows)
    page.write_page(model, job_dir, checkpoint, request, path)
    copies.store_output(path)
    return f"{copies.display_path(str(path))}: open it in a browser"
