"""python -m trainer.predict: predicts rows or whole files with an export.

python -m trainer.predict jobs/census --data='new/*.csv' --output=predictions/
python -m trainer.predict jobs/census/export/best/1700000000 \\
    --row='{"age": 39, ...}'

For a job, the newest export in export/best is used, otherwise that in export/final or
export/latest. --output names a file, or a folder with one shard for each input file. If the command
is repeated, it skips the complete shards of unchanged inputs. The predictions include the schema's
key.
Text is written unchanged. A spreadsheet program runs text that begins with = + - or @ as a formula:
if you open predictions of data from others with one, add --escape_formulas.
"""

import json
import re
import time
from pathlib import Path
from typing import Any, Optional

from absl import flags

import estimator_bridge as bridge
from trainer import storage
from trainer.config import arguments, commands
from trainer.engines.options import LOCAL, define_engine, read_engine
from trainer.errors import UserError, redacts_data
from trainer.export.choose import fetch_export
from trainer.inputs.files import find_files, refuse_inputs
from trainer.prediction.cores import ROWS_OF_PROCESS
from trainer.prediction.description import check_copied, describe_export, load_data_config
from trainer.prediction.predictor import Predictor, predict_rows
from trainer.prediction.shards import name_shards
from trainer.prediction.writers import FORMATS, is_file_name


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    remains = "complete files stay, and the same command writes the others"
    return commands.run(_main, argv, remains)


def _main(argv: list[str]) -> int:
    values = parse(argv)
    if values is None:
        return 0
    limits = commands.start_reading(values)
    rows = [_parse_row(text) for text in values.row]
    bridge.set_verbosity("error")
    bridge.prefer_onednn()
    with commands.open_storage(values) as copies:
        export = fetch_export(*arguments.get_export(values), copies)
        if not rows:
            _predict_files(export, values, limits, copies)
            return 0
        for prediction in predict_rows(Predictor(export), rows):
            print(json.dumps(prediction))
    return 0


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they only ask for help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is wrong or missing.
    """
    values = arguments.parse_export_flags("trainer.predict", _define, argv, __doc__ or "")
    if values is None:
        return None
    arguments.require_one(values, "export=FOLDER", "job_dir=FOLDER")
    arguments.require_one(values, "row=JSON", "data=FILES")
    if values.data:
        arguments.require(values, "output")
    _parse_part(values)
    arguments.read_version(values)
    if values.bad_rows == "write" and values.row:
        raise UserError("--bad_rows=write: goes with --data; remove it")
    if values.processes and (values.row or values.engine != LOCAL):
        raise UserError(f"--processes={values.processes}: goes with --data, without --engine")
    if values.engine != LOCAL and (values.row or values.part or is_file_name(values.output)):
        raise UserError(
            f"--engine={values.engine}: goes with --data and a folder as --output, without --part"
        )
    return values


def _parse_part(values: flags.FlagValues) -> tuple[int, int]:
    """Returns the index and the number of the parts into which the files are divided."""
    if not values.part:
        return 0, 1
    match = re.fullmatch(r"(\d{1,5})/(\d{1,5})", values.part)
    if match is None or int(match[1]) >= int(match[2]):
        raise UserError(f"--part={values.part}: write INDEX/COUNT, with an index from 0, as 0/10")
    if values.row or is_file_name(values.output):
        raise UserError(f"--part={values.part}: goes with --data and a folder as --output")
    return int(match[1]), int(match[2])


def _predict_files(
    export: str, values: flags.FlagValues, limits: dict[str, str], copies: storage.Copies
) -> None:
    from trainer.console import Console

    engine = read_engine(values, writes_template=True)
    data_config = load_data_config(export, commands.get_format(values), limits)
    files = find_files(values.data, data_config.format, "data")
    check_copied(values.columns, describe_export(export).schema)
    # Imported here, because it imports TensorFlow: all other checks come first.
    from trainer.prediction import batch

    output = copies.open_output(values.output, "--output", is_file_name(values.output))
    _check_output(values.output, output)
    shard_format = batch.choose_format(output, values.format)
    outputs = [output]
    if output.is_dir() or not is_file_name(values.output):
        outputs = [output / name for name in name_shards(files, shard_format)]
    refuse_inputs((copies.display_path(str(path)) for path in outputs), files, "--data")
    request = batch.BatchRequest(
        files=files,
        output=output,
        format=shard_format,
        copied=values.columns,
        outputs=values.outputs,
        data_config=data_config,
        overwrite=values.overwrite,
        escape_formulas=values.escape_formulas,
        part=_parse_part(values),
        rejects=values.bad_rows == "write",
        processes=values.processes or 0,
    )
    console = Console(display_path=copies.display_path)
    started = time.monotonic()
    if engine.name == LOCAL:
        written = batch.predict_files(Predictor(export), request, console, copies)
    else:
        from trainer.prediction.engine_work import predict_on_engine

        place = copies.display_path(export), values.output
        found = predict_on_engine(*place, request, engine)
        if found is None:
            console.log(f"{len(files):,} file(s): the pipeline is in --template_location")
            return
        written = found
    console.log(written.describe(output, time.monotonic() - started))


def _check_output(name: str, output: Path) -> None:
    """Raises if predictions cannot be written to what is at their place."""
    if output.is_file() and not is_file_name(name):
        endings = ", ".join(f".{each}" for each in FORMATS)
        raise UserError(
            f"--output={name}: is a file; name a folder, or a file that ends in {endings}"
        )
    if output.exists() and not output.is_dir() and not output.is_file():
        raise UserError(
            f"--output={name}: is not a regular file; predictions are written to a file or folder"
        )


def _define(values: flags.FlagValues) -> None:
    for name, meaning in (
        ("output", "file or folder for the predictions"),
        (
            "part",
            "INDEX/COUNT, such as 0/10: predict only this part of the files; for COUNT processes "
            "that share the work, with an INDEX from 0",
        ),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_integer(
        "processes",
        None,
        "number of processes on this machine that predict the files; unset: one per core, if there "
        f"are {ROWS_OF_PROCESS:,} rows for each",
        lower_bound=1,
        flag_values=values,
    )
    flags.DEFINE_multi_string("row", [], "JSON object, input name → value", flag_values=values)
    for name, meaning in (
        ("data", "files to predict: paths, globs, directories"),
        ("columns", "input columns to copy to the predictions, in addition to the key"),
        ("outputs", "outputs of the model to keep; unset: all that are not constant"),
    ):
        flags.DEFINE_list(name, [], meaning, flag_values=values)
    flags.DEFINE_enum(
        "format",
        None,
        list(FORMATS),
        "format of the predictions; unset: that of --output's name, else csv",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "bad_rows",
        "fail",
        ["fail", "write"],
        "rows that the model cannot accept; fail: the first one ends the command; write: they are "
        "written to _bad_rows/ in the output folder, with their key, --columns and the reason",
        flag_values=values,
    )
    flags.DEFINE_boolean("overwrite", False, "replace existing files", flag_values=values)
    flags.DEFINE_boolean(
        "escape_formulas",
        False,
        "csv: put an apostrophe before text that begins with = + - or @",
        flag_values=values,
    )
    arguments.define_version(
        values,
        "TensorFlow for which the model's own code was written; no effect, because an export "
        "contains what that code has built",
    )
    commands.define_format(values, "the job's")
    define_engine(values)
    commands.define_reading(values, "the job's")
    commands.define_storage(values)


def _parse_row(text: str) -> dict[str, Any]:
    shown = "--row" if redacts_data() else f"--row={text[:60]}"
    try:
        row = json.loads(text, object_pairs_hook=_make_row, parse_constant=_parse_constant)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{shown}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UserError(f"{shown}: not a JSON object")
    return row


def _make_row(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r:.60} appears twice")
    return row


def _parse_constant(text: str) -> float:
    if text == "NaN":
        raise ValueError("NaN is not a number; give rows with missing numbers in a file, as --data")
    return float(text)
