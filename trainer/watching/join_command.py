"""python -m trainer.join_labels: joins logged requests with their labels, as training data.

python -m trainer.join_labels served/flights/7 --requests='logs/*' \\
    --labels='labels/*' --output=served_rows

--requests are logged requests, in the formats that trainer.watch reads. --labels are files of keys
and labels, for example label_next.csv with its last column filled in. All logged rows that have a
label are written to train.parquet and eval.parquet in the folder --output. A hash of the key
chooses --eval_share of the keys for evaluation, so a key is in the same file in every run. If the
label files have the column label_weight, so have the output files.
"""

from typing import Optional

from absl import flags

from trainer import storage
from trainer.config import arguments, commands
from trainer.console import show
from trainer.errors import UserError, require_column
from trainer.export.choose import fetch_export
from trainer.inputs.files import refuse_inputs
from trainer.inputs.split import Split
from trainer.prediction.description import describe_export
from trainer.schema import Schema
from trainer.watching import joining
from trainer.watching.batches import TASKS
from trainer.watching.reading import find_logs


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    values = parse(argv)
    if values is None:
        return 0
    with commands.open_storage(values) as copies:
        _join(values, copies)
    return 0


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they request only help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    values = arguments.parse_export_flags("trainer.join_labels", _define, argv, __doc__ or "")
    if values is None:
        return None
    arguments.require_one(values, "export=FOLDER", "job_dir=FOLDER")
    arguments.require(values, "requests", "labels", "output")
    return values


def _join(values: flags.FlagValues, copies: storage.Copies) -> None:
    schema = describe_export(fetch_export(*arguments.get_export(values), copies)).schema
    key = _choose_key(values, schema)
    split = Split(tuple(values.eval_by) or (key,), values.eval_share, None, True)
    folder = copies.open_output(values.output, "--output", is_file=False)
    outputs = [folder / name for name in (joining.TRAIN, joining.EVAL)]
    for path in outputs:
        if copies.find_size(path) is not None and not values.overwrite:
            shown = copies.display_path(str(path))
            raise UserError(
                f"--output: {shown} already exists; name another folder, or add --overwrite"
            )
    labels = [log.file for log in find_logs(values.labels, "labels")]
    requests = find_logs(values.requests, "requests")
    shown_outputs = [copies.display_path(str(path)) for path in outputs]
    refuse_inputs(shown_outputs, labels, "--labels")
    refuse_inputs(shown_outputs, [log.file for log in requests], "--requests")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = joining.join_rows(
            requests,
            joining.read_labels(labels, key, schema),
            key,
            schema,
            split,
            folder,
        )
    except OSError as error:
        raise UserError(
            f"--output={values.output}: {error.strerror}; name another folder"
        ) from error
    for path in outputs:
        copies.store_output(path)
    lines = [
        f"{found.served:,} served rows: {found.train:,} in {outputs[0]}, {found.eval:,} in "
        f"{outputs[1]}",
        *found.notes,
    ]
    if found.unserved:
        lines.append(f"{found.unserved:,} labels have no row in --requests")
    show(copies.display_path("\n".join(lines)))


def _choose_key(values: flags.FlagValues, schema: Schema) -> str:
    """Returns the column of the key, and checks that it and those of --eval_by exist."""
    if schema.task not in TASKS:
        raise UserError(
            f"this is a {schema.task} model, which has several label columns; name a model with one"
        )
    for flag, names in (("key", [values.key] if values.key else []), ("eval_by", values.eval_by)):
        for name in names:
            require_column(name, schema.columns, f"--{flag}")
    key = values.key or schema.key
    if not key:
        raise UserError("the schema has no key; name the key column of --labels with --key")
    return str(key)


def _define(values: flags.FlagValues) -> None:
    for name, meaning in (
        ("output", "folder for train.parquet and eval.parquet, local or gs://"),
        ("key", "column that joins a label to its request; unset: the key of the schema"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    for name, meaning in (
        ("requests", "logs: paths, globs, directories"),
        ("labels", "files of keys and labels"),
        ("eval_by", "columns: rows with equal values stay in one file; unset: the key"),
    ):
        flags.DEFINE_list(name, [], meaning, flag_values=values)
    flags.DEFINE_float(
        "eval_share", 0.2, "share of the keys for evaluation", 0, 1, flag_values=values
    )
    flags.DEFINE_boolean("overwrite", False, "replace existing files", flag_values=values)
    commands.define_storage(values)
