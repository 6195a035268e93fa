"""python -m trainer.watch: checks from logged requests whether a served model still works well.

python -m trainer.watch served/flights/7 --requests='logs/*' \\
    --state=watch/flights
python -m trainer.watch jobs/flights --requests=gs://logs/flights \\
    --period=week --by=origin,carrier --state=gs://logs/watch \\
    --then='sh retrain.sh'

--requests are logged requests with their predictions: PredictionLog records of TensorFlow Serving
(TFRecord), JSON lines, CSV or Parquet; docs/watch.md describes them. A run reads only requests that
are new since the last run. The folder --state contains the counts so far and the report, watch.html
and watch.json. The served columns are compared with the training data of the model. Scores and
slices are compared with the first served days.

After the report, --compare=6,7 --metric=log_loss --effect=0.01 compares two versions of the model.
Each served unit, such as a user, must have been assigned to one of the versions by a hash.

Exit status: 0 green, 3 red, 4 yellow. With --compare: 0 blessed, 3 not blessed, 4 inconclusive, as
for trainer.gate.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from absl import flags

import estimator_bridge as bridge
from trainer import storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError, require_column
from trainer.export.choose import fetch_export
from trainer.prediction.description import describe_export
from trainer.release.verdict import STATUS
from trainer.schema import Schema
from trainer.watching import comparing, report
from trainer.watching.batches import TASKS, Wanted
from trainer.watching.collecting import LABEL_NEXT, REPLAY, Collector, collect
from trainer.watching.database import NAME
from trainer.watching.following import (
    Following,
    find_program,
    split_command,
    start_following,
)
from trainer.watching.intake import Intake, Plans, make_plans, name_period, read_new
from trainer.watching.judging import judge_periods
from trainer.watching.labelling import Pool, write_next
from trainer.watching.labels import judge_labels, read_labels
from trainer.watching.reading import LogFile, check_names, find_logs
from trainer.watching.replay import Sample
from trainer.watching.state import State

PERIODS = {"day": 1, "week": 7}


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
        return _run(values, copies)


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they request only help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    values = arguments.parse_export_flags("trainer.watch", _define, argv, __doc__ or "")
    if values is None:
        return None
    arguments.require_one(values, "export=FOLDER", "job_dir=FOLDER")
    arguments.require(values, "requests", "state")
    if values.then is not None:
        split_command(values.then)
    return values


def _run(values: flags.FlagValues, copies: storage.Copies) -> int:
    export = fetch_export(*arguments.get_export(values), copies)
    description = describe_export(export)
    schema = description.schema
    if schema.task not in TASKS:
        raise UserError(
            f"this is a {schema.task} model; name a model of the tasks {', '.join(TASKS)}"
        )
    days = PERIODS[values.period]
    _check_flags(values, schema)
    key = values.key or schema.key
    plans = make_plans(schema, description.statistics, values.by, days, key, values.unit)
    folder = copies.open_output(values.state, "--state", is_file=False)
    database = folder / NAME
    copies.fetch_output(database)
    facts = {
        "period": values.period,
        "by": ",".join(values.by),
        "columns": _describe_columns(plans),
    }
    console = Console(display_path=copies.display_path)
    files = find_logs(values.requests, "requests")
    with State(database, facts) as state:
        pool = Pool(key) if values.label_next and key else None
        intake = _build_intake(values, plans, state, export, console, pool)
        outcome = _watch(values, files, intake, export)
        if pool is not None:
            parts, problems = collect(LABEL_NEXT, pool, files, intake.wanted, state)
            outcome = outcome._replace(problems=[*outcome.problems, *problems])
            written = write_next(pool, values.label_next, plans, state, outcome.findings, folder)
            for path in written:
                copies.store_output(path)
            state.remove_parts(parts)
        for path in report.write_report(outcome, folder):
            copies.store_output(path)
        show(copies.display_path(report.summarise(outcome)))
        state.remove_problems(outcome.problems)
        following = Following(values.then, values.then_labels)
        start_following(following, outcome, state, console)
        status = report.STATUS[outcome.status]
        if values.compare:
            status = _compare(values, schema, state, folder, copies)
    copies.store_output(database)
    return status


def _compare(
    values: flags.FlagValues, schema: Schema, state: State, folder: Path, copies: storage.Copies
) -> int:
    found = comparing.compare(
        state, schema, values.compare, values.metric, values.effect, values.share
    )
    path = folder / comparing.DOCUMENT
    storage.write_json(path, comparing.to_json(found))
    copies.store_output(path)
    show(comparing.describe(found))
    return STATUS[found.verdict]


def _check_flags(values: flags.FlagValues, schema: Schema) -> None:
    for flag in ("key", "unit"):
        name = values[flag].value
        if name:
            require_column(name, schema.columns, f"--{flag}")
    key = values.key or schema.key
    if (values.labels or values.compare) and not key:
        raise UserError("--labels: the schema has no key; name the key column with --key")
    if values.label_next and (not key or schema.hides(key)):
        raise UserError(
            "--label_next: needs a key that is not private, to label the rows by; name its column "
            "with --key"
        )
    if values.compare and (len(set(values.compare)) != 2 or not values.labels):
        raise UserError("--compare: write two versions, such as 6,7, and give --labels=FILES")
    if values.compare:
        arguments.require(values, "metric", "effect")
    if values.then is not None:
        find_program(values.then)
    if values.then_labels and not (values.then and values.labels):
        raise UserError("--then_labels: needs --then=COMMAND and --labels=FILES; give both")


def _build_intake(
    values: flags.FlagValues,
    plans: Plans,
    state: State,
    export: str,
    console: Console,
    pool: Optional[Pool],
) -> Intake:
    names = list(plans.columns)
    names += [name for name in (plans.key, plans.unit) if name and name not in names]
    wanted = Wanted(plans.schema, names, values.time_column, values.version_column)
    collectors: dict[str, Collector] = {}
    if values.replay and Path(export, storage.GRAPH).is_file():
        collectors[REPLAY] = Sample(values.served_version or Path(values.export or export).name)
    if pool is not None:
        collectors[LABEL_NEXT] = pool
    return Intake(wanted, plans, state, console, collectors)


def _check_names(values: flags.FlagValues, files: Sequence[LogFile], state: State) -> None:
    """Checks the flags that name fields before a file is read, since each is read only once."""
    named = {f"--{flag}": values[flag].value for flag in ("time_column", "version_column")}
    names = {flag: name for flag, name in named.items() if name}
    marks = {path: one.mark for path, one in state.list_files().items()}
    old = [log for log in files if marks.get(log.file.path) == log.mark]
    new = [log for log in files if marks.get(log.file.path) != log.mark]
    if names and new:
        check_names([*new, *old], names)


def _watch(
    values: flags.FlagValues, files: Sequence[LogFile], intake: Intake, export: str
) -> report.Outcome:
    plans, state = intake.plans, intake.state
    schema = plans.schema
    _check_names(values, files, state)
    new_rows, problems = read_new(files, intake)
    rows = sum(one.rows for one in state.list_files().values())
    if not rows and not problems:
        raise UserError(
            f"--requests={','.join(values.requests)}: the files contain no rows; check the path"
        )
    if not files:
        problems.append(
            f"--requests={','.join(values.requests)}: no file matches, so nothing new was read; "
            "check the path, and whether requests are logged"
        )
    findings = judge_periods(plans, state, max(1, values.reference_days // plans.days))
    if values.labels and plans.key is not None:
        label_files = find_logs(values.labels, "labels")
        wanted_labels = Wanted(schema, [plans.key, schema.label.column])
        problems += read_labels(label_files, wanted_labels, plans.key, state)[1]
        findings += judge_labels(plans, state, export, values.label_delay_days)
    problems += state.list_problems()
    with state.transaction():
        state.forget(max(state.list_periods(), default=0) - values.keep_days)
    notes = [] if findings else ["no period has enough rows to be judged (100)"]
    labels = state.count_labels() if values.labels else {}
    if values.labels and not labels:
        notes.append(
            f"--labels: no logged answer has a {plans.key}, so none is joined; check --key"
        )
    future = state.find_future()
    if future is not None:
        notes.append(
            f"--state: contains rows of the future, from {name_period(future)}, which an earlier "
            "version read; they are not judged"
        )
    replay = state.read_note("replay") or {}
    sample = intake.collectors.get(REPLAY)
    if isinstance(sample, Sample):
        bridge.set_verbosity("error")
        parts, unread = collect(REPLAY, sample, files, intake.wanted, state)
        problems += unread
        again = sample.replay(export, schema, plans.statistics)
        if again:
            replay = again
            state.write_note("replay", replay)
        state.remove_parts(parts)
    return report.Outcome(
        values.export or values.job_dir,
        rows,
        new_rows,
        findings,
        problems,
        notes,
        replay,
        labels,
    )


def _describe_columns(plans: Plans) -> str:
    """Returns a text that is equal only for sketches that can be merged."""
    text = json.dumps([plans.columns, plans.scores], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _define(values: flags.FlagValues) -> None:
    for name, default, meaning in (
        ("state", None, "folder for the counts so far and the report, local or gs://"),
        ("key", None, "column that joins a label to its request; unset: the key of the schema"),
        ("served_version", None, "version of --export in the log; unset: the name of its folder"),
        ("unit", None, "column of the units that --compare assigns to versions; unset: the key"),
        ("metric", None, "for --compare: log_loss, accuracy, squared_error, label"),
        ("then", None, "command to start when something turns red"),
        ("time_column", None, "time of JSON and table rows; unset: time, timestamp"),
        ("version_column", None, "model version of JSON and table rows; unset: model_version"),
    ):
        flags.DEFINE_string(name, default, meaning, flag_values=values)
    flags.DEFINE_list("requests", [], "files: paths, globs, directories", flag_values=values)
    flags.DEFINE_list(
        "labels", [], "files of keys and labels that arrived later", flag_values=values
    )
    flags.DEFINE_list(
        "compare", [], "two versions: the one in service, and the other", flag_values=values
    )
    flags.DEFINE_float(
        "effect",
        None,
        "for --compare: smallest difference of --metric that matters",
        1e-12,
        flag_values=values,
    )
    flags.DEFINE_float(
        "share",
        0.5,
        "for --compare: share of the units that the second version serves",
        0,
        1,
        flag_values=values,
    )
    flags.DEFINE_list("by", [], "columns to slice by; a*b: by both at once", flag_values=values)
    flags.DEFINE_enum("period", "day", list(PERIODS), "rows judged together", flag_values=values)
    flags.DEFINE_integer(
        "reference_days",
        7,
        "first served days that scores and slices are compared with",
        1,
        flag_values=values,
    )
    flags.DEFINE_integer(
        "label_next",
        0,
        "write this many of the new rows whose labels would be most informative",
        0,
        flag_values=values,
    )
    flags.DEFINE_integer(
        "then_labels",
        0,
        "start --then also for this many new labelled rows; 0: only when something turns red",
        0,
        flag_values=values,
    )
    flags.DEFINE_integer(
        "label_delay_days", 0, "days after which labels should have arrived", 0, flag_values=values
    )
    flags.DEFINE_integer(
        "keep_days",
        120,
        "days for which answers are kept to wait for their labels",
        1,
        flag_values=values,
    )
    flags.DEFINE_boolean(
        "replay",
        True,
        "predict some logged rows again with the export, and compare",
        flag_values=values,
    )
    commands.define_storage(values)
