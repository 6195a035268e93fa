"""python -m trainer.schema check: checks data against a schema and for drift."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from absl import flags

from estimator_bridge.output.terminal import SEPARATOR, find_width
from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.config.arguments import parse_flags, require
from trainer.config.commands import (
    define_format,
    define_reading,
    define_storage,
    get_format,
    open_storage,
    start_reading,
)
from trainer.console import Console, show
from trainer.data_validation import drift
from trainer.data_validation.check_pass import Checked, CheckPass
from trainer.data_validation.drift import percent
from trainer.engines.dividing import divide_files
from trainer.engines.options import LOCALLY, Engine, define_engine, read_engine
from trainer.engines.running import run_pass
from trainer.errors import UserError
from trainer.inputs.bad_rows import MAX_EXAMPLES, BadRows
from trainer.inputs.cell_text import hides
from trainer.inputs.copied_files import warn_of_copies
from trainer.inputs.files import DataFile, find_files
from trainer.inputs.raw_batches import ReadDetails
from trainer.inputs.scan import StreamingStatistics
from trainer.inputs.stretches import describe_dialect
from trainer.schema.columns import Column
from trainer.schema.loading import load_schema
from trainer.schema.statistics import Categories, Range, Statistics, parse_statistics
from trainer.schema.types import Schema

USAGE = """
python -m trainer.schema check --schema=FILE --data=FILES [--statistics=JOB_DIR]

Reports for each column which values do not fit the schema. With --statistics, it also reports how
far the values have drifted from the training data of the job in JOB_DIR.

Exit status: 0 everything fits; 2 wrong usage; 3 something does not fit, or with --fail_on_drift has
drifted.
"""
FAILED_STATUS = 3  # A verdict, as of the gate: another run has the same end.
LEGEND = (
    f"PSI: sum of (p - q) ln(p / q) over bins of the training data (Siddiqi, 2006); up to "
    f"{drift.SHIFTED} the same, up to {drift.DRIFTED} shifted, above drifted; values that one in a "
    "hundred samples of this size exceeds by chance count as the same."
)


class Finding(NamedTuple):
    """The result for one column.

    Attributes:
        column: its name; "" for rows and files as a whole.
        verdict: fits, does not fit, shifted or drifted.
        rows: number of rows that fit in every column.
        missing: share of these rows without a value; None if not applicable.
        trained_missing: share of missing values in the training data, if known.
        psi: distance from the training data (population stability index), if known.
        noise: distance that can occur by chance.
        does_not_fit: problem → number of rows and the first examples.
        drift: one sentence per change.
    """

    column: str
    verdict: str
    rows: int
    missing: Optional[float]
    trained_missing: Optional[float]
    psi: Optional[float]
    noise: Optional[float]
    does_not_fit: dict[str, dict[str, Any]]
    drift: list[str]


def run_check(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the command.
    """
    values = parse_check(argv)
    if values is None:
        return 0
    with open_storage(values) as copies:
        return _run_check(values, copies)


def parse_check(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they only ask for help, which has been printed.

    Args:
        argv: the arguments after the command.

    Raises:
        UserError: a flag is wrong or missing.
    """
    values = parse_flags("trainer.schema check", _define, argv, USAGE)
    if values is not None:
        require(values, "schema", "data")
    return values


def _run_check(values: flags.FlagValues, copies: storage.Copies) -> int:
    engine = read_engine(values)
    schema = load_schema(values.schema, storage.fetch_data)
    given = {f"data.{option}": value for option, value in get_format(values).items() if value}
    data = config_lib.load_config(None, {**given, **start_reading(values)}).data
    statistics = _load_statistics(values.statistics, copies) if values.statistics else None
    files = find_files(values.data, data.format, "data")
    warn_of_copies(files, "--data", Console().warn)
    findings, rows, bad_rows = check(files, schema, data, statistics, values.serving, engine)
    if values.format == "json":
        print(
            json.dumps(
                {
                    "schema": values.schema,
                    "files": [file.path for file in files],
                    "rows": rows,
                    "bad_rows": bad_rows,
                    "columns": [finding._asdict() for finding in findings],
                    "legend": LEGEND,
                },
                indent=1,
                allow_nan=False,
            )
        )
    else:
        text = _describe(findings, rows, bad_rows, len(files), find_width(sys.stdout))
        show(text if statistics is None else f"{text}\n\n{LEGEND}")
    verdicts = {finding.verdict for finding in findings}
    failing = {"does not fit", "drifted"} if values.fail_on_drift else {"does not fit"}
    return FAILED_STATUS if verdicts & failing else 0


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string("schema", None, "YAML file of the schema", flag_values=values)
    text = "data files: paths, globs and directories"
    flags.DEFINE_list("data", [], text, flag_values=values)
    flags.DEFINE_string(
        "statistics",
        None,
        "job_dir of a trained job, or its file of statistics: report the drift from its training "
        "data; unset: no drift",
        flag_values=values,
    )
    text = "the data are serving requests, without the columns of label and weight"
    flags.DEFINE_boolean("serving", False, text, flag_values=values)
    flags.DEFINE_enum(
        "format", "text", ["text", "json"], "format of the report", flag_values=values
    )
    text = "end with status 3 also if a column has drifted"
    flags.DEFINE_boolean("fail_on_drift", False, text, flag_values=values)
    define_format(values)
    define_engine(values)
    define_reading(values)
    define_storage(values)


def _load_statistics(name: str, copies: storage.Copies) -> Statistics:
    path = Path(_fetch_statistics(name, copies))
    path = path / job_layout.STATISTICS if path.is_dir() else path
    try:
        stored = storage.read_json(path)
        statistics = None if stored is None else parse_statistics(stored)
    except (OSError, ValueError, KeyError, TypeError, UserError) as error:
        raise UserError(f"--statistics={name}: {path} cannot be read: {error!s:.200}") from error
    if statistics is None:
        raise UserError(f"--statistics={name}: no {path}; name the job_dir of a trained model")
    return statistics


def _fetch_statistics(name: str, copies: storage.Copies) -> str:
    if not storage.is_remote(name):
        return name
    if name.endswith(".json"):
        return storage.fetch_data(name)
    return copies.fetch(name, "--statistics", lambda one: one == job_layout.STATISTICS)


def check(
    files: Sequence[DataFile],
    schema: Schema,
    data: config_lib.DataConfig,
    statistics: Optional[Statistics],
    serving: bool,
    engine: Engine = LOCALLY,
) -> tuple[list[Finding], int, int]:
    """Checks every row of some files.

    Args:
        files: the files.
        schema: the schema.
        data: delimiter and header of CSV files.
        statistics: statistics of the training data; None: drift is not measured.
        serving: whether the data lack label and weight.
        engine: what reads the files.

    Returns:
        The findings (for rows and files as a whole, then per column), the number of rows that fit,
        and the number of rows that do not fit.
    """
    one = build_pass(schema, data, serving)
    files = divide_files(files, describe_dialect(data), engine)
    found = run_pass(one, files, "checking the data", engine)
    return judge(one, found, statistics), found.num_rows, found.bad_rows.count


def build_pass(schema: Schema, data: config_lib.DataConfig, serving: bool) -> CheckPass:
    """Returns the pass that checks some files.

    Args:
        schema: the schema.
        data: delimiter and header of CSV files.
        serving: whether the data lack label and weight.
    """
    absent = {*schema.label_columns, schema.weight} if serving else set()
    names = [name for name in schema.input_columns if name not in absent]
    details = ReadDetails([[name for name in schema.columns if name not in absent]])
    return CheckPass(schema, names, data, details)


def judge(one: CheckPass, found: Checked, statistics: Optional[Statistics]) -> list[Finding]:
    """Returns the findings: for rows and files as a whole, then per column.

    Args:
        one: the pass.
        found: its result.
        statistics: statistics of the training data; None: drift is not measured.
    """
    rows, bad = found.num_rows, found.bad_rows
    whole = _collect_faults(bad, "")
    if found.num_damaged:
        examples = found.damaged.get()
        whole["files"] = {"rows": None, "examples": examples, "files": found.num_damaged}
    verdict = "does not fit" if whole else "fits"
    findings = [Finding("", verdict, rows, None, None, None, None, whole, [])]
    for name in one.names:
        findings.append(_check_column(name, one.schema, rows, found.statistics, bad, statistics))
    return findings


def _collect_faults(bad: BadRows, name: str) -> dict[str, dict[str, Any]]:
    return {
        kind: {"rows": found.rows, "examples": found.examples}
        for (column, kind), found in bad.by_column.items()
        if column == name
    }


def _check_column(
    name: str,
    schema: Schema,
    rows: int,
    streaming: StreamingStatistics,
    bad: BadRows,
    statistics: Optional[Statistics],
) -> Finding:
    faults, column = _collect_faults(bad, name), schema.columns[name]
    counts, moments = streaming.counts.get(name), streaming.moments.get(name)
    missing = counts.missing if counts is not None else moments.missing if moments else None
    changes: list[tuple[float, str]] = []
    distance: Optional[drift.Distance] = None
    trained: Union[Categories, Range, None] = None
    if counts is not None:
        seen = {str(value): number for value, number in counts.list_counts()}
        categories = statistics.categories.get(name) if statistics else None
        changes += _find_unseen(
            seen, column, categories, name in schema.label_columns, hides(schema, name)
        )
        distance = drift.compare_categories(seen, categories) if categories else None
        trained = categories
    elif moments is not None and statistics and name in statistics.columns:
        numbers = statistics.columns[name]
        if not column.is_multivalent_numeric:
            distance = drift.compare_numbers(streaming.sample.get(name), numbers)
        changes += drift.find_outside(moments, numbers, hides(schema, name))
        trained = numbers
    drifted = any(share >= drift.UNSEEN_SHARE for share, _ in changes)
    sentences = [text for _, text in changes]
    trained_missing = None
    if trained and statistics and missing is not None and statistics.num_rows:
        trained_missing = trained.missing / statistics.num_rows
        if drift.has_missing_drifted(missing, rows, trained.missing, statistics.num_rows):
            drifted = True
            sentences.append(
                f"missing in {percent(missing / rows)} of the rows, "
                f"in {percent(trained_missing)} of the training data"
            )
    if distance is not None and distance.verdict != "the same":
        sentences.append(f"PSI {distance.psi:.3f}: {distance.verdict}")
    verdict = "fits"
    if faults:
        verdict = "does not fit"
    elif drifted or (distance is not None and distance.verdict == "drifted"):
        verdict = "drifted"
    elif distance is not None and distance.verdict == "shifted":
        verdict = "shifted"
    return Finding(
        name,
        verdict,
        rows,
        None if missing is None or not rows else missing / rows,
        trained_missing,
        distance.psi if distance else None,
        min(distance.noise, 1e9) if distance else None,
        faults,
        sentences,
    )


def _find_unseen(
    seen: dict[str, int],
    column: Column,
    trained: Optional[Categories],
    is_label: bool,
    hidden: bool,
) -> list[tuple[float, str]]:
    """Returns (share, sentence) for values that are not in the schema or the training data."""
    total = sum(seen.values())
    unseen, where = {}, ""
    if column.vocabulary is not None and not is_label:
        known = {str(value) for value in column.vocabulary}
        unseen = {value: rows for value, rows in seen.items() if value not in known}
        where = "outside the vocabulary"
    elif column.identities is not None:
        unseen = {v: rows for v, rows in seen.items() if not 0 <= int(v) < column.identities}
        where = f"outside the identities 0 to {column.identities - 1}"
    elif trained is not None and trained.complete:
        unseen = {value: rows for value, rows in seen.items() if value not in trained.counts}
        where = "never seen in training"
    if not unseen:
        return []
    share = sum(unseen.values()) / total
    sentence = f"{percent(share)} of the values are {where}"
    if not hidden:
        examples = ", ".join(repr(value)[:40] for value in list(unseen)[:MAX_EXAMPLES])
        sentence += f", such as {examples}"
    return [(share, sentence)]


def _describe(
    findings: list[Finding],
    rows: int,
    bad_rows: int,
    files: int,
    terminal: Optional[int],
) -> str:
    """Returns the report; `terminal` is the width of the terminal, None without one."""
    counted = {
        verdict: sum(1 for finding in findings[1:] if finding.verdict == verdict)
        for verdict in ("does not fit", "drifted", "shifted")
    }
    words = {"does not fit": "do not fit", "drifted": "have drifted", "shifted": "have shifted"}
    summary = ", ".join(
        f"{number} {words[verdict]}" for verdict, number in counted.items() if number
    )
    lines = [
        f"{rows:,} rows in {files} file(s) fit, {bad_rows:,} do not; "
        f"of {len(findings) - 1} columns {summary or 'all fit'}",
        "",
    ]
    width = max(len(name) for name in ("column", *(finding.column for finding in findings))) + 2
    is_wide = terminal is None or width + 28 + len("does not fit") <= terminal
    if is_wide:
        lines.append(f"{'column':<{width}}{'missing':>9}{'trained':>9}{'PSI':>8}  verdict")
    for finding in findings:
        if finding.column or finding.does_not_fit:
            lines.append(_describe_finding(finding, width if is_wide else None))
        for kind, fault in finding.does_not_fit.items():
            number = f"{fault['rows']:,} row(s)" if fault["rows"] else f"{fault['files']} file(s)"
            lines.append(f"    {kind}: {number}")
            lines += [f"      {example}" for example in fault["examples"]]
        lines += [f"    {sentence}" for sentence in finding.drift]
    return "\n".join(lines)


def _describe_finding(finding: Finding, width: Optional[int]) -> str:
    """Returns a row of the table, whose first column has this width; without one, a sentence."""
    name, psi = finding.column or "(rows)", "" if finding.psi is None else f"{finding.psi:.3f}"
    shares = [_cell(finding.missing), _cell(finding.trained_missing)]
    if width is not None:
        return f"{name:<{width}}{shares[0]:>9}{shares[1]:>9}{psi:>8}  {finding.verdict}"
    cells = zip(("missing", "trained", "PSI"), (*shares, psi))
    parts = [f"{name}: {finding.verdict}", *(f"{what} {cell}" for what, cell in cells if cell)]
    return SEPARATOR.join(parts)


def _cell(share: Optional[float]) -> str:
    return "" if share is None else percent(share)
