"""Reads new log files into the state: sketches by period and slice, and predictions with a key."""

import datetime
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa

from trainer.console import Console, Progress
from trainer.errors import TemporaryError, UserError
from trainer.inputs.floats import to_floats
from trainer.metrics import slices
from trainer.metrics.grouping import group
from trainer.schema import Column, Schema, Statistics
from trainer.watching.batches import MILLISECONDS, Batch, Wanted
from trainer.watching.collecting import Collector
from trainer.watching.contents import Beginnings, find_first, follow_moves
from trainer.watching.reading import LogFile, ReadState, read_log
from trainer.watching.sketches import Plan, Sketch, plan_columns, plan_scores, sketch
from trainer.watching.state import (
    DAY_SECS,
    Answer,
    Seen,
    SketchKey,
    State,
    find_latest_time,
    hash_key,
)

# Prefix of the names of the sketches of scores, before the version. No column name begins with it.
SCORE = "score\n"
# Maximum number of sketches in memory before they are added to the state; each has some hundred
# numbers.
MAX_SKETCHES = 20_000
# Maximum number of slices of one --by.
MAX_SLICES = 2_000
OTHERS = "(others)"


class Plans(NamedTuple):
    """How rows are sketched.

    Attributes:
        schema: schema of the model.
        statistics: statistics of its training data.
        columns: column → how it is sketched.
        scores: how the scores are sketched.
        by: columns to slice by.
        days: length of a period.
        key: key column; None: predictions are not stored.
        unit: column of the unit that is assigned to a version, such as a user; None: the key.
        sliced: the schema, with buckets for every numeric column to slice by, so that the slices
            are the same in each batch.
    """

    schema: Schema
    statistics: Statistics
    columns: dict[str, Plan]
    scores: Plan
    by: Sequence[Sequence[str]]
    days: int
    key: Optional[str]
    unit: Optional[str]
    sliced: Schema


def make_plans(
    schema: Schema,
    statistics: Statistics,
    by: Sequence[str],
    days: int,
    key: Optional[str] = None,
    unit: Optional[str] = None,
) -> Plans:
    """Returns how rows are sketched.

    Args:
        schema: schema of the model.
        statistics: statistics of its training data.
        by: columns to slice by; a*b: each pair of values is a slice.
        days: length of a period in days.
        key: key column; None: none.
        unit: column of the unit that is assigned to a version, such as a user; None: the key.

    Raises:
        UserError: a column to slice by does not exist, or its values must not be shown.
    """
    parsed = slices.parse_by(by, schema)
    sliced = dict(schema.columns)
    for names in parsed:
        count = 1
        for name in names:
            sliced[name], size = _slice_column(name, schema, statistics)
            count *= size
        if count > MAX_SLICES:
            raise UserError(
                f"--by={'*'.join(names)}: has {count:,} slices, and the limit is {MAX_SLICES:,}; "
                "name other columns"
            )
    columns = plan_columns(schema, statistics, schema.used_features)
    return Plans(
        schema,
        statistics,
        columns,
        plan_scores(schema, statistics),
        parsed,
        days,
        key,
        unit,
        schema.model_copy(update={"columns": sliced}),
    )


def _slice_column(name: str, schema: Schema, statistics: Statistics) -> tuple[Column, int]:
    """Returns a column whose slices are the same in every batch, and their number."""
    column = schema.columns[name]
    if column.vocabulary is not None:
        return column, len(column.vocabulary) + 2
    if column.identities is not None:
        return column, column.identities + 1
    if column.is_categorical or column.raw_type == "string":
        raise UserError(
            f"--by: column {name} has no vocabulary, and the report would contain its values; name "
            "another column"
        )
    trained = statistics.columns.get(name)
    edges = column.buckets or (trained.bins.edges if trained and trained.bins else None)
    if not edges:
        raise UserError(
            f"--by: column {name} has no buckets in the schema; add buckets, or name another column"
        )
    return column.model_copy(update={"buckets": tuple(edges)}), len(edges) + 2


def find_periods(seconds: np.ndarray, days: int) -> np.ndarray:
    """Returns the periods of times: the number of the first day, counted from 1970-01-01 in UTC.

    Args:
        seconds: since 1970, float64 [times].
        days: length of a period; weeks begin on Monday.

    Returns:
        int64 [times].
    """
    # 1970-01-01 was a Thursday.
    shift = 3 if days == 7 else 0
    day: np.ndarray = np.floor_divide(seconds, DAY_SECS).astype(np.int64)
    return (day + shift) // days * days - shift


def name_period(period: int) -> str:
    """Returns the first day of a period as ISO text.

    Args:
        period: number of its first day.
    """
    first = datetime.date(1970, 1, 1) + datetime.timedelta(days=period)
    return first.isoformat()


class Intake(NamedTuple):
    """The reading of log files into the state.

    Attributes:
        wanted: the fields to read from each row.
        plans: how rows are sketched.
        state: the state, to which the rows are added.
        console: shows progress.
        collectors: purpose → what collects rows for it, after the reading.
    """

    wanted: Wanted
    plans: Plans
    state: State
    console: Console
    collectors: Mapping[str, Collector]


def read_new(files: Sequence[LogFile], intake: Intake) -> tuple[int, list[str]]:
    """Reads the new rows of some files.

    Args:
        files: all files of the log.
        intake: how they are read.

    Returns:
        The number of new rows, and a line for each file that cannot be read. No row of such a file
        is added to the state, and the next run tries the file again. Problems of single rows, and
        the parts of files with rows for the collectors, are noted in the state.

    Raises:
        TemporaryError: a bucket does not respond, or another watch writes the state.
    """
    state, console = intake.state, intake.console
    changed = follow_moves(files, state)
    total, problems = 0, []
    progress = Progress(console, "reading the log", "files", len(files))
    for file in files:
        try:
            # Another watch may read the same files; it waits here, and then finds them read.
            with state.transaction():
                total += _read_file(file, changed.get(file.file.path, Beginnings({})), intake)
        except TemporaryError:
            raise
        except UserError as error:
            problems.append(str(error))
        progress.add(1)
    progress.end()
    return total, problems


def _read_file(file: LogFile, beginnings: Beginnings, intake: Intake) -> int:
    state, console = intake.state, intake.console
    path = file.file.path
    seen = state.find_file(path)
    if seen is not None and seen.mark == file.mark:
        return 0
    _check_size(file, seen)
    progress, rows, future = ReadState(), 0, 0
    before = seen or Seen("", 0, 0, 0, "")
    first, origin = find_first(path, before, beginnings, state)
    if origin:
        console.warn(f"{path}: begins with the {first:,} records of {origin}; they count once")
    sketches: dict[SketchKey, Sketch] = {}
    purposes: set[str] = set()
    for batch in read_log(file.file, intake.wanted, first, progress):
        rows += batch.columns.num_rows
        times, replaced = _choose_times(batch.times, file.time)
        future += replaced
        _add(batch, times, intake, sketches)
        if len(sketches) > MAX_SKETCHES:
            state.add_sketches(sketches)
            sketches.clear()
        for purpose in intake.collectors.keys() - purposes:
            if intake.collectors[purpose].can_use(batch):
                purposes.add(purpose)
    state.add_sketches(sketches)
    for purpose in sorted(purposes):
        state.note_part(purpose, path, first, progress.records)
    _tell_skipped(path, progress, intake)
    if future:
        state.note_problem(
            f"{path}: the time of {future:,} of {rows:,} rows is in the future; they count for the "
            "time of the file; check the clock of the server and the unit of the time"
        )
    noted = Seen(
        file.mark,
        progress.records,
        before.rows + rows,
        before.skipped + progress.skipped,
        progress.tail,
    )
    state.note_file(path, noted, beginnings.whole)
    return rows


def _tell_skipped(path: str, progress: ReadState, intake: Intake) -> None:
    """Notes and prints which records of a file were not read."""
    for problem in progress.list_problems(path):
        intake.state.note_problem(problem)
    if progress.tail:
        intake.console.warn(f"{path}: {progress.tail}; the rest is read when the file has grown")
    without = progress.skipped - progress.unreadable
    if without:
        intake.console.warn(f"{path}: {without:,} records without a row are skipped")


def _check_size(file: LogFile, seen: Optional[Seen]) -> None:
    if seen is not None and int(file.mark.split()[0]) < int(seen.mark.split()[0]):
        raise UserError(
            f"{file.file.path}: is shorter than when it was last read; write new requests to a new "
            "file"
        )


def _choose_times(logged: np.ndarray, file_time: float) -> tuple[np.ndarray, int]:
    """Returns the times of rows, [rows], and how many of the logged times are in the future.

    Such a time would hide all later rows, because the newest period is judged, and would remove the
    answers that wait for labels.
    """
    future = np.isfinite(logged) & (logged > find_latest_time())
    known = (np.abs(logged) < MILLISECONDS) & ~future
    return np.where(known, logged, min(file_time, time.time())), int(future.sum())


def _add(
    batch: Batch, times: np.ndarray, intake: Intake, sketches: dict[SketchKey, Sketch]
) -> None:
    """Adds the rows to the sketches, and predictions with a key to the state."""
    plans, state = intake.plans, intake.state
    periods = find_periods(times, plans.days)
    places = find_slices(batch.columns, plans)
    versions = np.array(batch.versions, object)
    for period in np.unique(periods).tolist():
        inside = periods == period
        for name, mask in [("", inside), *((name, inside & one) for name, one in places.items())]:
            if mask.any():
                found = _sketch_rows(batch, mask, versions, plans, with_unreadable=name == "")
                for column, one in found.items():
                    key = (period, name, column)
                    sketches[key] = sketches[key] + one if key in sketches else one
    if plans.key is not None:
        state.add_answers(_list_answers(batch, periods, places, (plans.key, plans.unit)))


def _sketch_rows(
    batch: Batch, mask: np.ndarray, versions: np.ndarray, plans: Plans, with_unreadable: bool
) -> dict[str, Sketch]:
    rows = batch.columns if mask.all() else batch.columns.filter(pa.array(mask))
    share = rows.num_rows / batch.columns.num_rows
    found = {}
    for name, plan in plans.columns.items():
        # By row it is not known which values were unreadable.
        unreadable = round(batch.unreadable.get(name, 0) * share) if with_unreadable else 0
        found[name] = sketch(rows.column(name), plan, unreadable)
    for version in set(versions[mask].tolist()):
        scores = batch.scores[mask & (versions == version)]
        found[f"{SCORE}{version}"] = sketch_scores(scores, plans)
    return found


def sketch_scores(scores: np.ndarray, plans: Plans) -> Sketch:
    """Returns the sketch of scores.

    Args:
        scores: [rows] or [rows, classes]; NaN: not logged.
        plans: how they are sketched.
    """
    if scores.ndim == 1:
        return sketch(pa.array(scores, from_pandas=True), plans.scores)
    names = np.array([str(one) for one in plans.schema.label.classes], object)
    known = np.isfinite(scores).all(axis=1)
    best = names[np.where(known, np.nan_to_num(scores).argmax(axis=1), 0)]
    return sketch(pa.array(best, pa.string(), mask=~known), plans.scores)


def find_slices(columns: pa.RecordBatch, plans: Plans) -> dict[str, np.ndarray]:
    """Returns slice → mask of its rows, bool [rows].

    Args:
        columns: the rows.
        plans: contains the columns to slice by.
    """
    chunk = {}
    for name in {name for names in plans.by for name in names}:
        array = columns.column(name)
        if plans.schema.columns[name].raw_type == "string":
            words = array.cast(pa.string()).fill_null("").to_pylist()
            known = {str(one) for one in plans.schema.columns[name].vocabulary or ()} | {""}
            chunk[name] = np.array(
                [(word if word in known else OTHERS).encode() for word in words], object
            )
        else:
            chunk[name] = to_floats(array)
    grouped = group([chunk], plans.by, plans.sliced, {})
    masks = {}
    for by, grouping in grouped.items():
        for code in np.unique(grouping.codes).tolist():
            masks[f"{by} = {grouping.names[code]}"] = grouping.codes == code
    return masks


def _list_answers(
    batch: Batch,
    periods: np.ndarray,
    places: dict[str, np.ndarray],
    names: tuple[str, Optional[str]],
) -> list[Answer]:
    keys, units = (batch.columns.column(name or names[0]).to_pylist() for name in names)
    scores: list[Any] = batch.scores.tolist()
    answered = batch.answered
    return [
        Answer(
            hash_key(value),
            int(periods[row]),
            [name for name, mask in places.items() if mask[row]],
            scores[row],
            batch.versions[row],
            hash_key(units[row]),
        )
        for row, value in enumerate(keys)
        if value is not None and answered[row]
    ]
