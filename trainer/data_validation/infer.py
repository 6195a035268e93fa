"""python -m trainer.schema infer: infers a commented schema from data."""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

import numpy as np
import yaml
from absl import flags

from estimator_bridge.output.terminal import escape, escape_lines, quote_command
from trainer import config as config_lib
from trainer import storage
from trainer.config.arguments import parse_flags, require
from trainer.config.commands import define_reading, define_storage, open_storage, start_reading
from trainer.console import show
from trainer.data_validation.detect import detect_delimiter, detect_encoding
from trainer.data_validation.profile import NO_NUMBER, NO_VALUE, Table
from trainer.data_validation.profile_pass import ProfilePass, finish
from trainer.data_validation.propose import keep_names_apart, propose_column
from trainer.data_validation.propose_categories import Proposal
from trainer.data_validation.propose_label import propose_label
from trainer.data_validation.reading import CsvStyle, JsonNamesPass
from trainer.data_validation.yaml_text import flow
from trainer.engines.dividing import divide_files
from trainer.engines.options import LOCALLY, Engine, define_engine, read_engine
from trainer.engines.running import run_pass
from trainer.errors import UserError, redacts_data
from trainer.inputs.files import DataFile, find_files, refuse_inputs
from trainer.inputs.stretches import Dialect
from trainer.schema.types import Schema
from trainer.storage.partition_names import list_varying

USAGE = """
python -m trainer.schema infer --data=FILES --label=COLUMN [--output=FILE]

Reads CSV, Parquet, JSON lines or TFRecord files, and infers a schema: the columns, their types and
the label, as YAML with comments. It prints the schema, or writes it to --output. Edit the schema,
and train with --data.schema_file=FILE.
"""

_NO_FEATURE = (
    "No column is left to train with; correct the data as the comments say, or give a column a use."
)
_UNNAMED = "a column without a name: left out; to use it, name it in the header line"


def run_infer(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the command.
    """
    values = parse_infer(argv)
    if values is None:
        return 0
    with open_storage(values) as copies:
        _infer(values, copies)
    return 0


def parse_infer(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they only ask for help, which has been printed.

    Args:
        argv: the arguments after the command.

    Raises:
        UserError: a flag is wrong or missing.
    """
    values = parse_flags("trainer.schema infer", _define, argv, USAGE)
    if values is not None:
        require(values, "data", "label")
    return values


class InferRequest(NamedTuple):
    """The files from which a schema is inferred, and how they are written.

    Attributes:
        files: the data.
        sources: their names as the user gave them.
        label: the column to predict.
        delimiter: between CSV fields; auto: by the first rows.
        encoding: of CSV files; auto: by their bytes.
        header: whether CSV files have a header line: auto, yes or no.
        columns: names for CSV files without a header.
        limits: limits of the sizes in data files, option → text.
    """

    files: Sequence[DataFile]
    sources: Sequence[str]
    label: str
    delimiter: str = "auto"
    encoding: str = "auto"
    header: str = "auto"
    columns: Sequence[str] = ()
    limits: Mapping[str, str] = {}


def infer(
    request: InferRequest, engine: Engine = LOCALLY
) -> tuple["InferredSchema", Table, CsvStyle]:
    """Returns an inferred schema, the profiles of the columns, and the style of the CSV files.

    Args:
        request: the files.
        engine: what reads the files.

    Raises:
        UserError: the files cannot be read, or there is no such label.
    """
    style = _find_style(request)
    partitions = list_varying([file.path for file in request.files])
    dialect = Dialect(style.delimiter, style.encoding, style.limits.max_row_mib << 20)
    files = divide_files(request.files, dialect, engine)
    one = ProfilePass(style, list_json_names(files, style.limits, engine), partitions)
    table, sample = finish(
        run_pass(one, files, "reading the data", engine),
        request.files,
        style.limits.added_columns,
    )
    numbers = {name: sample.get(name) for name in table.columns}
    return propose(table, numbers, request.label, request.sources), table, style


def _infer(values: flags.FlagValues, copies: storage.Copies) -> None:
    engine = read_engine(values)
    output = copies.open_output(values.output, "--output", is_file=True) if values.output else None
    exists = output is not None and copies.find_size(output) is not None
    if exists and not values.overwrite:
        raise UserError(f"--output={output}: already exists; name another, or add --overwrite")
    files = find_files(values.data, values.format, "data")
    if output is not None:
        refuse_inputs([copies.display_path(str(output))], files, "--data")
    options = (values.delimiter, values.encoding, values.header, values.columns)
    limits = start_reading(values)
    request = InferRequest(files, values.data, values.label, *options, limits)
    inferred, table, style = infer(request, engine)
    if output is None:
        # A file gets the text as it is: in YAML, escapes would change some values.
        print(escape_lines(inferred.text) if sys.stdout.isatty() else inferred.text, end="")
        return
    try:
        storage.write_text(output, inferred.text)
        copies.store_output(output)
    except OSError as error:
        raise UserError(f"--output={output}: {error.strerror}; name another") from error
    if any(file.format == "csv" for file in files):
        header = "with" if table.header else "without"
        show(
            f"CSV files {header} a header line, delimiter {style.delimiter!r}, encoding "
            f"{style.encoding}"
        )
    if table.unnamed:
        show(_UNNAMED)
    # The notes have values of the data as examples.
    notes = " ".join(inferred.label_notes)
    show(f"label {values.label}: {'see the schema' if redacts_data() else notes}")
    for name, comment in inferred.left_out.items():
        show(f"column {name}: {'left out, see the schema' if redacts_data() else comment}")
    for name, doubt in inferred.doubts.items():
        show(f"column {name}: {'see the schema' if redacts_data() else doubt}")
    found = f"{output}: {len(table.columns)} columns of {table.num_rows:,} rows."
    job = _NO_FEATURE if inferred.is_empty else _propose_job(values, str(output), inferred, style)
    show(copies.display_path(f"{found} {job}"))


def _propose_job(
    values: flags.FlagValues, output: str, inferred: "InferredSchema", style: CsvStyle
) -> str:
    """Returns the command that trains with the schema."""
    more = ""
    if style.delimiter != ",":
        delimiter = "tab" if style.delimiter == "\t" else style.delimiter
        more += f" {quote_command(f'--data.delimiter={delimiter}')}"
    if style.encoding != "utf-8":
        more += f" --data.encoding={style.encoding}"
    if style.limits.added_columns:
        more += f" {quote_command('--data.added_columns=' + ','.join(style.limits.added_columns))}"
    if not inferred.has_wide:
        more += " --model.type=dnn"
    if inferred.num_unlabelled:
        more += f" --data.max_bad_rows={inferred.num_unlabelled}"
    return (
        "Now train with it:\n"
        f"  python -m trainer.task {quote_command(f'--data.schema_file={output}')} "
        f"--job_dir=jobs/first{more} \\\n"
        f"      {quote_command('--train_data=' + ','.join(values.data))} "
        "--eval_share=0.2\n"
        "  --eval_share=0.2 keeps a fifth of the rows for evaluation; for other files, "
        "--eval_data=FILES"
    )


def _define(values: flags.FlagValues) -> None:
    text = "data files: paths, globs and directories"
    flags.DEFINE_list("data", [], text, flag_values=values)
    flags.DEFINE_string("label", None, "name of the column to predict", flag_values=values)
    text = "file for the schema; unset: standard output"
    flags.DEFINE_string("output", None, text, flag_values=values)
    text = "replace --output if it exists"
    flags.DEFINE_boolean("overwrite", False, text, flag_values=values)
    flags.DEFINE_string(
        "delimiter",
        "auto",
        "delimiter of CSV fields, one character, \\t or tab for a tab; auto: the comma, semicolon, "
        "tab or vertical bar that fits the first rows",
        flag_values=values,
    )
    flags.DEFINE_string(
        "encoding",
        "auto",
        "encoding of CSV files, such as latin-1; auto: utf-8, utf-16 or cp1252, detected from the "
        "bytes",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "header",
        "auto",
        ["auto", "yes", "no"],
        "whether CSV files begin with a line of column names; auto: detected from the first rows",
        flag_values=values,
    )
    flags.DEFINE_list(
        "columns",
        [],
        "column names for CSV files without such a line: a,b,c; unset: column_1, column_2, ...",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "format",
        "auto",
        config_lib.DATA_FORMATS,
        "format of the data files; auto: by the name and the first bytes of each file",
        flag_values=values,
    )
    define_engine(values)
    define_reading(values)
    define_storage(values)


def list_json_names(
    files: Sequence[DataFile], limits: config_lib.DataConfig, engine: Engine
) -> list[str]:
    """Returns the keys of all objects of all files of JSON lines, in the order of appearance.

    Args:
        files: files of any format.
        limits: longest line.
        engine: what reads the files.

    Raises:
        UserError: a file cannot be read, or the engine fails.
    """
    lines = [file for file in files if file.format == "jsonl"]
    if not lines:
        return []
    names = run_pass(JsonNamesPass(limits), lines, "listing the columns", engine)
    return sorted(names, key=lambda name: names[name])


def _find_style(request: InferRequest) -> CsvStyle:
    """Returns the style of the CSV files: what the request says, else what the first file has."""
    texts = [file for file in request.files if file.format == "csv"]
    said = {"delimiter": request.delimiter, "encoding": request.encoding}
    given = {name: value for name, value in said.items() if value != "auto"}
    options = {**{f"data.{name}": given[name] for name in given}, **request.limits}
    data = config_lib.load_config(None, options).data
    delimiter, encoding = data.delimiter, data.encoding
    if texts and "encoding" not in given:
        found = {detect_encoding(file): file.path for file in texts}
        found.pop("ascii", None)
        if len(found) > 1:
            different = ", ".join(f"{path} is {each}" for each, path in found.items())
            raise UserError(
                f"--data: the files differ in encoding: {different}; convert them, or give "
                "--encoding"
            )
        encoding = next(iter(found), encoding)
    if texts and "delimiter" not in given:
        delimiter = detect_delimiter(texts[0], encoding, [request.label])
    return CsvStyle(delimiter, encoding, request.header, request.columns, request.label, data)


class InferredSchema(NamedTuple):
    """A schema that was inferred.

    Attributes:
        text: the schema, YAML with comments.
        label_notes: sentences about the label: its values, the positive class, missing labels.
        left_out: name → comment of each column that no part of the model uses.
        doubts: name → what a column may be instead, and the fields to write then.
        num_unlabelled: number of rows without a label.
        is_empty: whether no column is left to train with.
        has_wide: whether the linear part of a model has a column.
    """

    text: str
    label_notes: list[str]
    left_out: dict[str, str]
    doubts: dict[str, str]
    num_unlabelled: int
    is_empty: bool
    has_wide: bool


def propose(
    table: Table, numbers: dict[str, np.ndarray], label: str, sources: Sequence[str]
) -> InferredSchema:
    """Returns a schema as YAML text, with what was found out about the label.

    Args:
        table: profiles of the columns.
        numbers: name → sample of the column's numbers, float64 [n].
        label: the column to predict.
        sources: paths of the data, for the first comment.

    Raises:
        UserError: there is no such column, or it cannot be a label.
    """
    if label not in table.columns:
        raise UserError(
            f"--label={label}: no such column{config_lib.nearest(label, table.columns)} "
            f"(columns: {', '.join(list(table.columns)[:30])})"
        )
    declared = _count_missing(table)
    for profile in table.columns.values():
        profile.declared = frozenset(declared)
    label_column, label_fields, label_comment = propose_label(label, table.columns[label])
    proposals = {
        name: Proposal(label_column, "the label, see below")
        if name == label
        else propose_column(name, profile, numbers[name])
        for name, profile in table.columns.items()
    }
    proposals = keep_names_apart(proposals)
    lines = [
        f"# Inferred from {table.num_rows:,} rows of {escape(', '.join(sources))}.",
        "# Edit any line; `python -m trainer.schema check` checks data against the schema.",
        *_describe_missing(declared),
        "columns:",
        *([f"  # {_UNNAMED}"] if table.unnamed else []),
    ]
    for name, proposal in proposals.items():
        lines.append(f"  # {escape(proposal.comment)}")
        if proposal.doubt:
            lines.append(f"  # {escape(proposal.doubt)}")
        lines.append(f"  {flow([name])[1:-1]}: {flow(proposal.fields)}")
    lines += ["", *(f"# {escape(line)}" for line in label_comment), f"label: {flow(label_fields)}"]
    unique = [name for name in proposals if proposals[name].comment.startswith("unique")]
    if unique:
        lines += [
            "",
            "# To copy this column to the predictions:",
            f"# key: {flow(unique[:1])[1:-1]}",
        ]
    text = "\n".join(lines) + "\n"
    schema = Schema.model_validate(yaml.safe_load(text))
    is_empty = not schema.used_features
    has_wide = any("wide" in schema.columns[name].use for name in schema.used_features)
    if is_empty:
        text = f"# {_NO_FEATURE}\n{text}"
    left_out = {
        name: proposal.comment
        for name, proposal in proposals.items()
        if proposal.fields.get("use") == []
    }
    doubts = {name: proposal.doubt for name, proposal in proposals.items() if proposal.doubt}
    num_unlabelled = table.columns[label].num_missing
    return InferredSchema(text, label_comment, left_out, doubts, num_unlabelled, is_empty, has_wide)


def _count_missing(table: Table) -> dict[str, int]:
    """Returns the words to declare missing, with their numbers of rows."""
    seen: dict[str, int] = {}
    for profile in table.columns.values():
        words = NO_VALUE + (NO_NUMBER if profile.is_number else ())
        for word, rows in sorted(profile.no_value.items()):
            if word.strip() in words and rows:
                seen[word] = seen.get(word, 0) + rows
    return seen


def _describe_missing(seen: dict[str, int]) -> list[str]:
    counts = ", ".join(f"{flow([word])[1:-1]} {rows:,} times" for word, rows in seen.items())
    lines = [f"# Text that means no value: {counts}."] if counts else []
    return [*lines, f"missing_values: {flow(list(dict.fromkeys(['', *seen])))}"]
