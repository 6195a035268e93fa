"""python -m trainer.predict: asks an export, loaded once, one row or files of them.

python -m trainer.predict --job_dir=jobs/census --data='new/*.csv' --output=predictions/
python -m trainer.predict --export=jobs/census/export/best/1700000000 --row='{"age": 39, ...}'

With --job_dir it takes the newest export of best, else of final, else of latest. --output names a
file, or a folder that gets a shard for each input file; run again, finished shards of unchanged
inputs are passed over. The predictions carry the schema's key.
"""

import json
import re
from pathlib import Path
from typing import Any

from absl import flags

import estimator_bridge as bridge
from trainer import config as config_lib
from trainer import storage
from trainer.config import arguments, commands
from trainer.errors import UserError
from trainer.export.choose import choose_from_files, find_export
from trainer.job_layout import CONFIG, MODEL_FILES
from trainer.prediction.predictor import Predictor


def main(argv: list[str]) -> int:
    """Answers rows of the command line, or those of files; returns the exit status."""
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    values = arguments.parse_flags("trainer.predict", _define, argv, __doc__)
    if values is None:
        return 0
    if bool(values.export) == bool(values.job_dir):
        raise UserError("give either --export=FOLDER or --job_dir=FOLDER (--help shows examples)")
    if bool(values.row) == bool(values.data):
        raise UserError("give either --row=JSON or --data=FILES (--help shows examples)")
    rows = [_parse_row(text) for text in values.row]
    if values.data:
        arguments.require(values, "output")
    bridge.set_verbosity("error")
    bridge.prefer_onednn()
    with commands.open_storage(values) as copies:
        export = _fetch_export(values, copies)
        if not rows:
            _predict_files(export, values, copies)
            return 0
        for answer in Predictor(export).predict(rows):
            print(json.dumps(answer))
    return 0


def _fetch_export(values, copies: storage.Copies) -> str:
    """The folder here of the export that the flags name; around it, what its job says of it."""
    folder, inside = values.export or values.job_dir, ""
    if not storage.is_remote(folder):
        return values.export or find_export(values.job_dir)
    if values.export:
        # What describes its inputs may lie in the job_dir that it is in.
        match = re.fullmatch(r"(gs://[^/]+/.+)/(export/[^/]+/\d+)/?", folder)
        folder, inside = match.groups() if match else (folder, "")
    else:
        inside = choose_from_files(copies.list_names(folder, "--job_dir"), folder)
    wanted = f"{inside}/" if inside else ""
    here = copies.fetch(
        folder,
        "--export" if values.export else "--job_dir",
        lambda name: name.startswith(wanted) or name in MODEL_FILES,
    )
    return str(Path(here, inside))


def _predict_files(export: str, values, copies: storage.Copies) -> None:
    from trainer.console import Console
    from trainer.prediction import batch

    is_file = batch.names_file(values.output)
    output = copies.open_output(values.output, "--output", is_file)
    request = batch.Request(
        data=values.data,
        output=output,
        format=batch.choose_format(output, values.format),
        copied=values.columns,
        outputs=values.outputs,
        data_config=_read_data_config(export, values),
        overwrite=values.overwrite,
    )
    console = Console(display_path=copies.display_path)
    done = batch.run(Predictor(export), request, console, copies)
    console.log(done)


def _define(values) -> None:
    for name, meaning in (
        ("export", "folder of an export"),
        ("job_dir", "folder of a job: its newest export of best, else of final, else of latest"),
        ("output", "file or folder for the predictions"),
        ("delimiter", "CSV field delimiter; unset: the job's"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_multi_string("row", [], "JSON object, input name → value", flag_values=values)
    for name, meaning in (
        ("data", "files to predict: paths, globs, directories"),
        ("columns", "input columns handed on besides the key"),
        ("outputs", "outputs of the model to keep; unset: all that differ by row"),
    ):
        flags.DEFINE_list(name, [], meaning, flag_values=values)
    for name, choices, meaning in (
        ("format", ["csv", "parquet", "jsonl"], "of the predictions; unset: by --output, else csv"),
        ("header", ["auto", "yes", "no"], "CSV header line; unset: the job's"),
        ("data_format", ["auto", "csv", "tfrecord", "parquet"], "of --data; unset: the job's"),
    ):
        flags.DEFINE_enum(name, None, choices, meaning, flag_values=values)
    flags.DEFINE_boolean("overwrite", False, "replace files that are there", flag_values=values)
    commands.define_storage(values)


def _read_data_config(export: str, values) -> config_lib.DataConfig:
    """How the input files are written: as flags say, else as the job's own were."""
    stored = {}
    folder = Path(export).resolve()
    for candidate in (folder, folder / "assets.extra", *folder.parents[:3]):
        if (candidate / CONFIG).is_file():
            stored = config_lib.read_yaml(candidate / CONFIG, "job_dir").get("data") or {}
            break
    overrides = {
        f"data.{option}": value
        for option, value in (
            ("format", values.data_format or stored.get("format")),
            ("header", values.header or stored.get("header")),
            ("delimiter", values.delimiter or stored.get("delimiter")),
        )
        if value is not None
    }
    return config_lib.load_config(None, overrides).data


def _parse_row(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise UserError(f"--row={text[:60]}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UserError(f"--row={text[:60]}: not a JSON object")
    return row
