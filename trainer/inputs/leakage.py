"""Looks for signs that an evaluation will be better than the model: leaks of rows and of labels.

All of it is computed from a sample of the rows that a scan reads anyway.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.inputs.floats import to_floats
from trainer.inputs.hashing import mix
from trainer.inputs.row_hashes import hash_rows, hash_values
from trainer.inputs.streaming_statistics import ValueCounts
from trainer.schema import Schema

# Rows and cells (rows x columns) that a sample keeps; up to twice as many while rows are added.
SAMPLE_ROWS, SAMPLE_CELLS = 8192, 1 << 21
# So that the sample is not the part that `Split` chooses by the same hashes.
_SALT = np.uint64(0x5851F42D4C957F2D)
# A column gives the label away if it alone removes this share of the errors, or explains this share
# of the variance.
GIVEN_AWAY = 0.98
# Bins of a number with more values.
BINS = 64
# With fewer rows, such shares mean little.
LEAST_ROWS = 100
KEY_SHARE = 0.95
LATER_SHARE = 0.95
_REMEDY = "is it known before the label? otherwise set use: []"
# Share of the evaluation rows that may be training rows, beyond the share that chance explains.
COMMON_SHARE = 0.01
# Of fewer different rows, a metric says little about others.
LEAST_DIFFERENT = 50


class RowHashes(NamedTuple):
    """The hashes of a sample of rows: of all rows whose hash is below a limit.

    Attributes:
        hashes: one per row, equal rows have equal hashes.
        limit: all rows of the data with a smaller hash are in the sample.
    """

    hashes: tuple[int, ...]
    limit: int


def list_unused_times(schema: Schema) -> list[str]:
    """Returns the dates that are no features, if dates that are can be compared with them.

    Args:
        schema: roles and types of the columns.
    """
    used = schema.used_features
    dates = [name for name in schema.features if schema.columns[name].date]
    return [name for name in dates if name not in used] if set(dates) & set(used) else []


class LeakSample:
    """A sample of rows, with the values of their columns as numbers.

    Args:
        schema: roles and types of the columns.
        names: the columns.
        times: dates that are no features: of list_unused_times.
    """

    def __init__(self, schema: Schema, names: Sequence[str], times: Sequence[str] = ()):
        # A key would make all rows different, and images take long to hash.
        left_out = {schema.key, *times, *(name for name in names if schema.columns[name].image)}
        self._names = [name for name in names if name not in left_out]
        self._times = list(times)
        self._schema = schema
        self._most = min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(self._names)))
        self._limit = np.uint64(2**64 - 1)
        self._hashes = np.zeros(0, np.uint64)
        self._codes = {name: np.zeros(0) for name in (*self._names, *times)}

    def add(self, columns: pa.RecordBatch) -> None:
        """Adds rows.

        Args:
            columns: the rows, in the Arrow types of the schema.
        """
        hashes = mix(hash_rows(columns, self._names) ^ _SALT)
        chosen = np.flatnonzero(hashes < self._limit)
        rows = pa.array(chosen)
        self._hashes = np.concatenate([self._hashes, hashes[chosen]])
        for name in self._codes:
            codes = self._encode(columns.column(name).take(rows), name)
            self._codes[name] = np.concatenate([self._codes[name], codes])
        self._shrink()

    def merge(self, other: "LeakSample") -> None:
        """Adds the rows of another sample with the same columns.

        Args:
            other: of other rows.
        """
        self._limit = min(self._limit, other._limit)
        self._hashes = np.concatenate([self._hashes, other._hashes])
        for name, codes in self._codes.items():
            self._codes[name] = np.concatenate([codes, other._codes[name]])
        self._keep_below()
        self._shrink()

    def _shrink(self) -> None:
        # The limit is halved, so that it does not depend on how the rows are divided.
        while len(self._hashes) > 2 * self._most:
            self._limit >>= np.uint64(1)
            self._keep_below()

    def _keep_below(self) -> None:
        kept = self._hashes < self._limit
        self._hashes = self._hashes[kept]
        self._codes = {name: codes[kept] for name, codes in self._codes.items()}

    def _encode(self, column: pa.Array, name: str) -> np.ndarray:
        """Returns numbers that are equal for equal values, float64 [rows]; NaN without a value."""
        if not pa.types.is_dictionary(column.type):
            return to_floats(column)
        if self._schema.columns[name].date:
            words = pc.replace_substring_regex(column.dictionary, r"\D", "")
            # The values of a column that is not used need not be dates.
            words = pc.if_else(pc.less(pc.utf8_length(words), len("YYYYMMDD")), None, words)
            words = pc.utf8_rpad(pc.utf8_slice_codeunits(words, 0, 14), 14, "0")
            return to_floats(words.cast(pa.float64()).take(column.indices))
        codes: np.ndarray = (hash_values(column) >> np.uint64(11)).astype(np.float64)
        codes[np.asarray(column.is_null())] = np.nan
        return codes

    def get_hashes(self) -> RowHashes:
        """Returns the hashes of the sample."""
        return RowHashes(tuple(np.sort(self._hashes).tolist()), int(self._limit))

    def find_leaks(self, counts: dict[str, ValueCounts]) -> list[str]:
        """Returns a sentence for each column that may be a leak.

        Args:
            counts: counts of the categorical columns over all rows.
        """
        # The order of the rows may mean something; that of the hashes is random.
        order = np.argsort(self._hashes, kind="stable")
        codes = {name: values[order] for name, values in self._codes.items()}
        used = [name for name in self._schema.used_features if name in codes]
        found = [*self._find_given_away(codes, used), *_find_keys(counts, used)]
        return [*found, *self._find_later(codes, used)]

    def _find_given_away(self, codes: dict[str, np.ndarray], used: Sequence[str]) -> Iterator[str]:
        for label in self._schema.labels:
            for name in label.all_columns:
                target, is_class = codes[name], bool(label.columns or label.classes)
                if is_class:
                    target = np.unique(target, return_inverse=True)[1]
                for feature in used:
                    column = self._schema.columns[feature]
                    is_text = column.raw_type == "string" and not column.date
                    share = _measure(codes[feature], target, is_text, is_class)
                    if share >= GIVEN_AWAY:
                        what = f"{100 * share:.1f} % of the label {name}"
                        yield f"column {feature}: alone predicts {what}; {_REMEDY}"

    def _find_later(self, codes: dict[str, np.ndarray], used: Sequence[str]) -> Iterator[str]:
        dates = [name for name in used if self._schema.columns[name].date]
        if len(self._hashes) < LEAST_ROWS:
            return
        later = {
            (name, first): _share_later(codes[name], codes[first])
            for name in dates
            for first in (*dates, *self._times)
        }
        # The rows' own time is most often the earliest.
        earliest = max(dates, key=lambda one: sum(later[name, one] for name in dates), default="")
        for name in dates:
            # Or it is no feature, like other times, for example dates of birth.
            unused = [time for time in self._times if _depends(codes[name], codes[time])]
            for first in (earliest, *unused):
                if later[name, first] >= LATER_SHARE:
                    share = f"{100 * later[name, first]:.0f} % of the rows"
                    yield f"column {name}: is later than {first} in {share}; {_REMEDY}"
                    break


def _measure(feature: np.ndarray, target: np.ndarray, is_text: bool, is_class: bool) -> float:
    """Returns how well a column alone predicts the label, on rows that were not used to fit.

    The share of errors that it removes, or for a regression the share of the variance of the
    label's ranks that it explains.
    """
    known = np.ones(len(target), bool) if is_class else ~np.isnan(target)
    feature, target = feature[known], target[known]
    half = len(target) // 2
    if half < LEAST_ROWS // 2:
        return 0.0
    places: np.ndarray = np.unique(feature, return_inverse=True)[1]
    bins = places if is_text else _bin(feature, half)
    predict = _predict_class if is_class else _predict_rank
    return predict(bins, target, half)


def _predict_class(bins: np.ndarray, target: np.ndarray, half: int) -> float:
    """Returns the share of the errors that the most frequent class of each bin avoids."""
    size = int(np.max(target)) + 1
    cells = bins[:half] * size + target[:half]
    counts: np.ndarray = np.bincount(cells, minlength=(int(np.max(bins)) + 1) * size)
    table = np.reshape(counts, (-1, size))
    common = int(np.argmax(np.sum(table, axis=0)))
    guesses = np.where(np.sum(table, axis=1) > 0, np.argmax(table, axis=1), common)[bins[half:]]
    total = int(np.sum(target[half:] != common))
    # With few rows of the other classes, a good result may be luck.
    if total < LEAST_ROWS // 10:
        return 0.0
    return 1 - int(np.sum(target[half:] != guesses)) / total


def _predict_rank(bins: np.ndarray, target: np.ndarray, half: int) -> float:
    """Returns the share of the variance of the ranks that the mean of each bin explains."""
    _, places, ties = np.unique(target, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - ties / 2)[places]
    rows = np.bincount(bins[:half], minlength=int(np.max(bins)) + 1)
    sums = np.bincount(bins[:half], ranks[:half], minlength=len(rows))
    mean = float(np.mean(ranks[:half]))
    guesses = np.where(rows > 0, sums / np.maximum(rows, 1), mean)[bins[half:]]
    total = float(np.sum((ranks[half:] - mean) ** 2))
    return 1 - float(np.sum((ranks[half:] - guesses) ** 2)) / total if total else 0.0


def _bin(feature: np.ndarray, half: int) -> np.ndarray:
    """Returns the bin of each value, from 0; the first `half` rows decide about the bins."""
    values, places = np.unique(feature, return_inverse=True)
    known = feature[:half][~np.isnan(feature[:half])]
    if len(values) <= BINS or not len(known):
        return places
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
    # NaN is the last bin.
    return np.searchsorted(edges, feature, side="right") + np.isnan(feature)


def _find_keys(counts: dict[str, ValueCounts], used: Sequence[str]) -> Iterator[str]:
    for name in used:
        seen = counts.get(name)
        if seen is None or seen.count < LEAST_ROWS:
            continue
        # Of too many values, the most frequent are counted: those of a key are in one row each.
        rows = seen.count if seen.complete else sum(rows for _, rows in seen.list_counts())
        if seen.num_values >= KEY_SHARE * rows:
            yield (
                f"column {name}: has another value in nearly every row, as a key has; the model "
                "learns rows by heart; set use: []"
            )


def _share_later(times: np.ndarray, others: np.ndarray) -> float:
    known = ~(np.isnan(times) | np.isnan(others))
    return float((times[known] > others[known]).mean()) if known.any() else 0.0


def _depends(times: np.ndarray, others: np.ndarray) -> bool:
    """Returns whether times vary less about other times of their rows than by themselves."""
    known = ~(np.isnan(times) | np.isnan(others))
    if not known.any():
        return False
    days, lags = _to_days(times[known]), _to_days(times[known]) - _to_days(others[known])
    spread, about = (np.subtract(*np.quantile(one, [0.75, 0.25])) for one in (days, lags))
    return bool(about < spread)


def _to_days(times: np.ndarray) -> np.ndarray:
    """Returns days from numbers whose digits are a time: YYYYMMDDhhmmss."""
    days, seconds = np.divmod(times, 1e6)
    months, day = np.divmod(days, 100)
    year, month = np.divmod(months, 100)
    hours, rest = np.divmod(seconds, 1e4)
    # Nearly the calendar's; the digits alone would make the end of a month or year far too long.
    return 365.25 * year + 30.44 * month + day + (hours + rest / 6000) / 24


def find_common_rows(train: RowHashes, evaluation: RowHashes) -> list[str]:
    """Returns a sentence if evaluation rows are training rows more often than by chance.

    Args:
        train: hashes of the training rows.
        evaluation: hashes of the evaluation rows.
    """
    limit = min(train.limit, evaluation.limit)
    trained, evaluated = (_take_below(each, limit) for each in (train, evaluation))
    if not len(trained) or not len(evaluated):
        return []
    distinct, rows = np.unique(trained, return_counts=True)
    common = float(np.isin(evaluated, distinct).mean())
    # Rows of few different values are equal by chance, in the training data too.
    chance = float(np.sum(rows[rows > 1])) / float(np.sum(rows))
    noise = 3 * np.sqrt(chance * (1 - chance) / len(evaluated))
    if common < chance + noise + COMMON_SHARE:
        return []
    expected = f", {100 * chance:.0f} % would be expected" if chance >= 0.005 else ""
    return [
        f"rows: {100 * common:.0f} % of the evaluation rows are also training rows{expected}; "
        "remove them from one of the files, or divide one file with --eval_share"
    ]


def find_equal_rows(evaluation: RowHashes, num_rows: int) -> list[str]:
    """Returns a sentence if the evaluation rows are too few different rows to measure a model.

    Args:
        evaluation: hashes of the evaluation rows, which are part of the data.
        num_rows: number of the evaluation rows.
    """
    different = len(set(evaluation.hashes)) / max(evaluation.limit / 2**64, 2.0**-63)
    if different >= LEAST_DIFFERENT or num_rows < 2 * different:
        return []
    return [
        f"the {num_rows:,} evaluation rows are only some {max(1, round(different))} different "
        "rows; name a column that tells rows apart in --eval_by, or give --eval_data"
    ]


def _take_below(rows: RowHashes, limit: int) -> np.ndarray:
    hashes = np.array(rows.hashes, np.uint64)
    below: np.ndarray = hashes[hashes < np.uint64(limit)]
    return below


def load_hashes(stored: Any) -> RowHashes:
    """Converts a RowHashes that was stored as JSON back.

    Args:
        stored: values of JSON.
    """
    hashes, limit = stored
    return RowHashes(tuple(hashes), limit)
