"""What a schema says of a column, by what its data look like."""

import math
import re
from typing import Any, NamedTuple, Optional

import numpy as np
import yaml

from trainer.data_validation.lists import are_numbers, choose_separator, find_separator
from trainer.data_validation.profile import LARGEST_QUANTITY, Profile
from trainer.inputs.streaming_statistics import build_bins
from trainer.schema.columns import DATE_PATTERN

# Words in a column up to which they are listed one by one; more are hashed.
MAX_VOCABULARY = 50
MAX_CLASSES = 1000
# With four buckets for each value, about one value in five shares its bucket with another.
BUCKETS_A_VALUE = 4
MAX_HASH_BUCKETS = 1 << 20
# Share of different values from which a column names its rows rather than describes them.
KEY_SHARE = 0.95
KEY_ROWS = 20
TEXT_WORDS = 4
FEW_NUMBERS = 12
DATE_PARTS = ["year", "month", "weekday"]
ID_NAME = re.compile(r"(^|_)(id|uid|uuid|guid|key|code|zip|zipcode|postcode)$", re.I)


class Proposal(NamedTuple):
    """One column of the proposed schema.

    Attributes:
        fields: as the schema takes them.
        comment: what was seen, and why it is so.
    """

    fields: dict[str, Any]
    comment: str


def flow(value: Any) -> str:
    """A value as YAML, on one line."""
    return yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=10**9, allow_unicode=True
    ).strip()


def propose_column(name: str, profile: Profile, numbers: np.ndarray) -> Proposal:
    """Proposes a feature.

    Args:
        name: of the column.
        profile: what it looks like.
        numbers: a sample of its numbers, float64 [n].
    """
    left_out = {"type": "string", "use": []}
    if profile.unsupported:
        return _propose_lists(profile) or _propose_other(profile.unsupported)
    if not profile.count:
        return Proposal(left_out, "left out: never has a value")
    distinct, missing = profile.distinct.value, _tell_missing(profile)
    kind = "int" if profile.is_int else "float" if profile.is_number else "string"
    if distinct == 1:
        value = profile.list_values(1)[0][0]
        return Proposal({"type": kind, "use": []}, f"left out: always {value!r:.60}{missing}")
    if not profile.is_number:
        return _propose_words(profile, distinct, missing)
    low, high = profile.numbers.low, profile.numbers.high
    unique = profile.is_int and distinct >= KEY_SHARE * profile.count and profile.count > KEY_ROWS
    if unique and (ID_NAME.search(name) or high - low < 2 * profile.count):
        return Proposal(
            {"type": "int", "use": []},
            f"unique in nearly every row, a running number or a key: left out{missing}",
        )
    if profile.is_int and max(abs(low), abs(high)) > LARGEST_QUANTITY:
        return Proposal(
            {"type": "int", "use": []},
            "left out: numbers as large as these are keys or hashes, no quantities; "
            f"hash_buckets would make {distinct:,} categories of them{missing}",
        )
    if profile.is_int and ID_NAME.search(name) and not profile.num_missing:
        fields, told = _propose_categories(profile, distinct)
        return Proposal({"type": "int", **fields}, f"a number that names: {told}")
    return _propose_number(profile, distinct, missing, numbers)


def _propose_other(kind: str) -> Proposal:
    """A column of Parquet or TFRecord files that holds neither numbers nor texts nor lists."""
    if kind.startswith(("date", "timestamp")):
        parts = [*DATE_PARTS, "hour"] if kind.startswith("timestamp") else DATE_PARTS
        return Proposal({"type": "string", "date": parts}, f"{kind}: its parts are seen")
    return Proposal({"type": "string", "use": []}, f"left out: {kind} is no number and no text")


def _propose_lists(profile: Profile) -> Optional[Proposal]:
    """A column of lists in Parquet or TFRecord files."""
    values = profile.several
    if values is None or not values.count:
        return None
    words = [str(word) for word, _ in values.list_values(MAX_CLASSES)]
    separator = choose_separator(words)
    if separator is None:
        return None
    if values.is_number and not values.is_int:
        return _propose_several_numbers(separator)
    fields, told = _propose_categories(values, values.distinct.value)
    kind = "int" if values.is_int else "string"
    return Proposal(
        {"type": kind, **fields, "separator": separator},
        f"several values in a row, the separator may be in none: {told}",
    )


def _propose_several_numbers(separator: str) -> Proposal:
    return Proposal(
        {"type": "float", "separator": separator, "use": []},
        "several numbers in a row, left out: name them as weights: of another column, or give them "
        "use: [sequence]",
    )


def _propose_several(profile: Profile, missing: str) -> Optional[Proposal]:
    """A column of texts such as red|green."""
    found = find_separator(profile.list_values(MAX_CLASSES))
    if found is None:
        return None
    is_int = are_numbers(found.counts, int)
    if are_numbers(found.counts) and not is_int:
        return _propose_several_numbers(found.separator)
    words, distinct = [word for word, _ in found.counts.most_common()], len(found.counts)
    fields: dict[str, Any] = {"type": "int" if is_int else "string"}
    if distinct <= MAX_VOCABULARY:
        fields["vocabulary"] = sorted(map(int, words)) if is_int else words
    else:
        fields["hash_buckets"] = _count_buckets(distinct)
    common = ", ".join(flow([word])[1:-1] for word in words[:3])
    return Proposal(
        {**fields, "separator": found.separator},
        f"up to {found.most} values in a row, {distinct:,} different ones: {common}{missing}",
    )


def _count_buckets(distinct: int) -> int:
    return min(1 << math.ceil(math.log2(BUCKETS_A_VALUE * distinct)), MAX_HASH_BUCKETS)


def _propose_dates(profile: Profile, missing: str) -> Optional[Proposal]:
    words = [word for word, _ in profile.list_values(MAX_CLASSES)]
    if not all(re.fullmatch(DATE_PATTERN, word.strip()) for word in words):
        return None
    with_time = any(len(word.strip()) > len("2020-12-31") for word in words)
    parts = [*DATE_PARTS, "hour"] if with_time else DATE_PARTS
    fields = {"type": "string", "date": parts}
    return Proposal(fields, f"dates such as {words[0]}: their parts are seen{missing}")


def _propose_words(profile: Profile, distinct: int, missing: str) -> Proposal:
    dates = _propose_dates(profile, missing)
    if dates is not None:
        return dates
    several = _propose_several(profile, missing)
    if several is not None:
        return several
    if distinct >= KEY_SHARE * profile.count and profile.count > KEY_ROWS:
        return Proposal(
            {"type": "string", "use": []},
            f"unique in nearly every row ({distinct:,} values): left out{missing}",
        )
    if distinct > MAX_VOCABULARY and profile.words / distinct > TEXT_WORDS:
        return Proposal(
            {"type": "string", "use": []},
            f"left out: free text, {distinct:,} values of "
            f"{profile.words / distinct:.0f} words{missing}",
        )
    fields, told = _propose_categories(profile, distinct)
    return Proposal({"type": "string", **fields}, told + missing)


def _propose_categories(profile: Profile, distinct: int) -> tuple[dict[str, Any], str]:
    most = profile.list_values(3)
    common = ", ".join(f"{flow([value])[1:-1]} {share(rows, profile)}" for value, rows in most)
    if distinct <= MAX_VOCABULARY:
        words = [value for value, _ in profile.list_values(MAX_VOCABULARY)]
        if profile.is_int:
            words = sorted(int(word) for word in words)
        return {"vocabulary": words}, f"{distinct} values: {common}"
    about = "" if profile.counts.complete else "about "
    return (
        {"hash_buckets": _count_buckets(distinct)},
        f"{about}{distinct:,} values, {BUCKETS_A_VALUE} buckets and more for each: {common}",
    )


def _propose_number(profile: Profile, distinct: int, missing: str, numbers: np.ndarray) -> Proposal:
    seen = profile.numbers.to_range()
    # A missing int has no mean to stand for it.
    as_int = profile.is_int and not profile.num_missing
    fields: dict[str, Any] = {"type": "int" if as_int else "float"}
    if profile.num_missing:
        fields["default"] = "mean"
    skewed = seen.min >= 0 and seen.std > 2 * seen.mean
    if skewed:
        fields["normalize"] = "log"
    buckets = _choose_buckets(numbers, distinct)
    if buckets:
        fields["buckets"] = buckets
    about = "" if profile.counts.complete else "about "
    return Proposal(
        fields,
        f"{about}{distinct:,} values from {seen.min:.6g} to {seen.max:.6g}, mean {seen.mean:.6g}"
        + (", skewed" if skewed else "")
        + missing,
    )


def _choose_buckets(numbers: np.ndarray, distinct: int) -> list:
    """Boundaries between bins of about equal share, as short as numbers can be."""
    values = np.unique(numbers)
    if distinct <= FEW_NUMBERS:
        edges = values[1:].tolist()
    else:
        edges = list(build_bins(numbers).edges)
        distinct_values, rows = np.unique(numbers, return_counts=True)
        most = int(rows.argmax())
        if rows[most] > 0.5 * len(numbers):
            # Most rows have one value, often 0: what the others have is cut by itself.
            others = build_bins(numbers[numbers != distinct_values[most]])
            edges += others.edges[1::2]
    short = dict.fromkeys(float(f"{edge:.4g}") for edge in edges)
    # Rounding may have moved a boundary below all values, where it divides nothing.
    return [int(edge) if edge == int(edge) else edge for edge in sorted(short) if edge > values[0]]


def share(rows: int, profile: Profile) -> str:
    """Rows as a share of all of a column."""
    return f"{100 * rows / (profile.count + profile.num_missing):.0f} %"


def _tell_missing(profile: Profile) -> str:
    missing = profile.num_missing
    return f"; {missing:,} missing ({share(missing, profile)})" if missing else ""
