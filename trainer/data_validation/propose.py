"""Proposes the schema of a column from its profile."""

import re
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np

from trainer.data_validation.lists import are_numbers, choose_separator, find_separator
from trainer.data_validation.number_formats import Format, find_format
from trainer.data_validation.profile import LARGEST_QUANTITY, NO_NUMBER, Profile
from trainer.data_validation.propose_categories import (
    MAX_CLASSES,
    MAX_VOCABULARY,
    Proposal,
    count_buckets,
    count_rare_rows,
    propose_categories,
    propose_rare_words,
    share,
    to_buckets,
)
from trainer.data_validation.yaml_text import flow
from trainer.inputs.streaming_statistics import build_bins
from trainer.schema.columns import DATE_PATTERN

# A column is a key if at least this share of its values are different.
KEY_SHARE = 0.95
KEY_ROWS = 20
TEXT_WORDS = 4
FEW_NUMBERS = 12
# Rows per value from which a model learns each whole number by itself.
ROWS_PER_CATEGORY = 200
# The logarithm of a skewed number is used if no negative number is larger than this share of the
# largest one.
SMALL_NEGATIVE = 0.01
# Rows per bin from which a model learns the effect of each bin by itself.
ROWS_PER_BIN = 200
# Rows without a value, and their share of all rows, from which a number gets an indicator.
INDICATOR_ROWS = 20
INDICATOR_SHARE = 0.01
# What makes words of free text features.
FREE_TEXT: dict[str, Any] = {
    "type": "string",
    "hash_buckets": 5000,
    "embedding": 16,
    "use": ["deep"],
    "text": {"ngrams": 1},
}
# Whole numbers of the same length, from this one on, may be identifiers.
SHORTEST_ID = 10_000
# A number that often means a missing value, and the rows from which it is no odd one.
MISSING_CODE = re.compile(r"-9+|99+|-(8+|7+)")
MISSING_ROWS = 5
DATE_PARTS = ["year", "month", "weekday"]
ID_NAME = re.compile(r"(^|_)(id|uid|uuid|guid|key|code|zip|zipcode|postcode)$", re.I)


def propose_column(name: str, profile: Profile, numbers: np.ndarray) -> Proposal:
    """Proposes a feature.

    Args:
        name: name of the column.
        profile: profile of the column.
        numbers: sample of its numbers, float64 [n].
    """
    unused = {"type": "string", "use": []}
    if profile.unsupported:
        return _propose_lists(profile) or _propose_other(profile.unsupported)
    if not profile.count:
        return Proposal(unused, "left out: never has a value")
    distinct, missing = profile.num_distinct, _describe_missing(profile)
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
            "left out: numbers as large as these are keys or hashes, not quantities; "
            f"hash_buckets would make {distinct:,} categories of them{missing}",
        )
    if profile.is_int and ID_NAME.search(name) and (not profile.num_missing or low >= 0):
        fields, description = _propose_int_categories(profile, distinct)
        return Proposal(fields, f"an identifier: {description}{missing}")
    if _is_cyclic_or_irregular(profile, distinct):
        fields, description = _propose_int_categories(profile, distinct)
        return Proposal(fields, f"whole numbers as categories: {description}")
    proposal = _propose_number(profile, distinct, missing, numbers)
    doubt = _doubt_number(profile, distinct) or _doubt_extreme(numbers)
    return proposal._replace(doubt=doubt)


def _doubt_number(profile: Profile, distinct: int) -> str:
    """Returns what whole numbers may be that no name and no size tells from a quantity."""
    low, high = profile.numbers.low, profile.numbers.high
    if profile.is_too_large:
        return "has numbers beyond float32, which training refuses; name them in missing_values"
    if not profile.is_int or distinct <= MAX_VOCABULARY:
        return ""
    if distinct >= KEY_SHARE * profile.count and profile.count > KEY_ROWS:
        return "different in nearly every row, used as a quantity; if it is a key, set use: []"
    if low >= SHORTEST_ID and len(str(int(low))) == len(str(int(high))):
        return (
            "whole numbers of the same length, used as a quantity; if they are identifiers, write "
            f"{{type: int, default: -1, hash_buckets: {count_buckets(profile, distinct)}}}"
        )
    return ""


def _doubt_extreme(numbers: np.ndarray) -> str:
    """Returns that -999, 9999 or a similar number far from all others may be a missing value."""
    values, rows = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if len(values) < 3:
        return ""
    for value, count, nearest, farthest in (
        (values[0], rows[0], values[1], values[-1]),
        (values[-1], rows[-1], values[-2], values[0]),
    ):
        is_apart = abs(value - nearest) > abs(nearest - farthest)
        if is_apart and count >= MISSING_ROWS and MISSING_CODE.fullmatch(f"{value:.12g}"):
            return (
                f"{value:.12g} is far from all other values; if it means that there is no value, "
                f"add '{value:.12g}' to missing_values, which count in all columns"
            )
    return ""


def keep_names_apart(proposals: Mapping[str, Proposal]) -> dict[str, Proposal]:
    """Returns the proposals without derived features that have the name of another column.

    Args:
        proposals: name → proposal of each column.
    """
    kept = {}
    for name, proposal in proposals.items():
        fields, comment = dict(proposal.fields), proposal.comment
        if f"{name}_missing" in proposals and fields.pop("missing_indicator", None):
            comment += f"; without missing_indicator, because {name}_missing is a column"
        taken = [part for part in fields.get("date", ()) if f"{name}_{part}" in proposals]
        if taken:
            columns = ", ".join(f"{name}_{part}" for part in taken)
            fields["date"] = [part for part in fields["date"] if part not in taken]
            if fields["date"]:
                comment += f"; without {columns}: column{'s' * (len(taken) > 1)} of these files"
            else:
                fields = {"type": "string", "use": []}
                comment = f"left out: its parts are columns of these files: {columns}"
        kept[name] = Proposal(fields, comment, proposal.doubt)
    return kept


def _is_cyclic_or_irregular(profile: Profile, distinct: int) -> bool:
    """Returns whether the label may depend on each whole number in its own way.

    An hour of the day is such a number. Few of them fit into a few bins, of many or of rare ones
    the model cannot learn each.
    """
    return (
        profile.is_int
        and not profile.num_missing
        and FEW_NUMBERS < distinct <= MAX_VOCABULARY
        and profile.count >= ROWS_PER_CATEGORY * distinct
    )


def _propose_other(kind: str) -> Proposal:
    """Proposes a column of Parquet or TFRecord files that contains no numbers, texts or lists."""
    if kind.startswith(("date", "timestamp")):
        parts = [*DATE_PARTS, "hour"] if kind.startswith("timestamp") else DATE_PARTS
        return Proposal({"type": "string", "date": parts}, f"{kind}: its parts are features")
    return Proposal({"type": "string", "use": []}, f"left out: {kind} is neither a number nor text")


def _propose_lists(profile: Profile) -> Optional[Proposal]:
    """Proposes a column of lists in Parquet or TFRecord files."""
    values = profile.list_values_profile
    if values is None or not values.count:
        return None
    words = [str(word) for word, _ in values.list_values(MAX_CLASSES)]
    separator = choose_separator(words)
    if separator is None:
        return None
    if values.is_number and not values.is_int:
        return _propose_multivalent_numbers(separator)
    fields, description = propose_categories(values, values.num_distinct)
    kind = "int" if values.is_int else "string"
    return Proposal(
        {"type": kind, **fields, "separator": separator},
        f"lists, joined by a separator that no value contains: {description}",
    )


def _propose_multivalent_numbers(separator: str) -> Proposal:
    return Proposal(
        {"type": "float", "separator": separator, "use": []},
        "left out: several numbers per row; name them as weights: of another column, or set "
        "use: [sequence]",
    )


def _propose_multivalent(profile: Profile, missing: str) -> Optional[Proposal]:
    """Proposes a column of texts such as red|green."""
    found = find_separator(profile.list_values(MAX_CLASSES))
    if found is None:
        return None
    is_int = are_numbers(found.counts, int)
    if are_numbers(found.counts) and not is_int:
        return _propose_multivalent_numbers(found.separator)
    words, distinct = [word for word, _ in found.counts.most_common()], len(found.counts)
    fields: dict[str, Any] = {"type": "int" if is_int else "string"}
    if distinct <= MAX_VOCABULARY:
        fields["vocabulary"] = sorted(map(int, words)) if is_int else words
    else:
        fields["hash_buckets"] = to_buckets(distinct)
    common = ", ".join(flow([word])[1:-1] for word in words[:3])
    return Proposal(
        {**fields, "separator": found.separator},
        f"up to {found.most} values per row, {distinct:,} different ones: {common}{missing}",
    )


def _propose_dates(profile: Profile, missing: str) -> Optional[Proposal]:
    words = [word for word, _ in profile.list_values(MAX_CLASSES)]
    if not all(re.fullmatch(DATE_PATTERN, word.strip()) for word in words):
        return None
    with_time = any(len(word.strip()) > len("2020-12-31") for word in words)
    parts = [*DATE_PARTS, "hour"] if with_time else DATE_PARTS
    fields = {"type": "string", "date": parts}
    return Proposal(fields, f"dates such as {words[0]}: their parts are features{missing}")


def _propose_words(profile: Profile, distinct: int, missing: str) -> Proposal:
    dates = _propose_dates(profile, missing)
    if dates is not None:
        return dates
    written = find_written_format(profile)
    if written is not None and distinct > FEW_NUMBERS:
        return Proposal(
            {"type": "string", "use": []},
            f"left out: {describe_format(written, profile)}; to use them, {written.remedy} in the "
            f"file, then set {written.fields}{missing}",
        )
    multivalent = _propose_multivalent(profile, missing)
    if multivalent is not None:
        return multivalent
    proposal = _propose_text(profile, distinct, missing)
    if not profile.odd_words or distinct <= FEW_NUMBERS:
        return proposal
    odd = (
        f"{describe_odd(profile)}; to use the numbers, correct these rows, or add the words to "
        "missing_values, and set {type: float, default: mean}"
    )
    if proposal.fields.get("use") == []:
        return Proposal(proposal.fields, f"left out: {odd}{missing}")
    return proposal._replace(doubt=f"text, because it is {odd}")


def _propose_text(profile: Profile, distinct: int, missing: str) -> Proposal:
    if distinct > MAX_VOCABULARY and profile.words / profile.count > TEXT_WORDS:
        return Proposal(
            FREE_TEXT,
            f"free text, {distinct:,} values of {profile.words / profile.count:.0f} words on "
            f"average{missing}: its words are features; to leave it out, set "
            "{type: string, use: []}",
        )
    if distinct >= KEY_SHARE * profile.count and profile.count > KEY_ROWS:
        return Proposal(
            {"type": "string", "use": []},
            f"unique in nearly every row ({distinct:,} values): left out{missing}",
        )
    if distinct > MAX_VOCABULARY and count_rare_rows(profile) > 0.5 * profile.count:
        return propose_rare_words(profile, distinct, missing)
    fields, description = propose_categories(profile, distinct)
    return Proposal({"type": "string", **fields}, description + missing)


def find_written_format(profile: Profile) -> Optional[Format]:
    """Returns how numbers or dates are written that a schema cannot read; None for other texts.

    Args:
        profile: profile of a column of text.
    """
    texts = [str(text) for text, _ in profile.list_values(MAX_CLASSES)]
    return find_format([text for text in texts if text.strip() not in NO_NUMBER])


def describe_odd(profile: Profile) -> str:
    """Returns what keeps a column of text from being numbers.

    Args:
        profile: of a column with odd_words.
    """
    odd = profile.odd_words
    words = [f"{flow([word])[1:-1]} ({rows:,} row{'s' * (rows > 1)})" for word, rows in odd.items()]
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return f"a number in all rows but those with {', '.join(words[:3])}{more}"


def describe_format(written: Format, profile: Profile) -> str:
    """Returns what the texts of a column are, with an example.

    Args:
        written: how they are written.
        profile: profile of the column.
    """
    return f"{written.name} such as {profile.list_values(1)[0][0]} are not supported"


def _propose_int_categories(profile: Profile, distinct: int) -> tuple[dict[str, Any], str]:
    fields, description = propose_categories(profile, distinct)
    # Other rows may have no value, even if each of these rows has one. -1 is a missing category.
    default = {"default": -1} if profile.numbers.low >= 0 else {}
    return {"type": "int", **default, **fields}, description


def _propose_number(profile: Profile, distinct: int, missing: str, numbers: np.ndarray) -> Proposal:
    seen = profile.numbers
    # Other rows may have fractions, or no value, even if none of these rows has.
    fields: dict[str, Any] = {"type": "float", "default": "mean"}
    num_missing, num_rows = profile.num_missing, profile.count + profile.num_missing
    if profile.stored == "int":
        fields = {"type": "int", "default": round(seen.mean)}
    elif num_missing >= max(INDICATOR_ROWS, INDICATOR_SHARE * num_rows):
        fields["missing_indicator"] = True
    # A few small negative numbers, such as rounding errors or corrections, do not matter.
    skewed = seen.low >= -SMALL_NEGATIVE * seen.high and seen.std > 2 * seen.mean
    # The logarithm of a rare 0 or 1, and of other few values, says no more than the value.
    if skewed and distinct > FEW_NUMBERS:
        fields["normalize"] = _choose_log(numbers)
    buckets = _choose_buckets(numbers, distinct)
    if buckets and profile.count >= ROWS_PER_BIN * (len(buckets) + 1):
        fields["buckets"] = buckets
    about = "" if profile.counts.complete else "about "
    return Proposal(
        fields,
        f"{about}{distinct:,} values from {seen.low:.6g} to {seen.high:.6g}, mean {seen.mean:.6g}"
        + (", skewed" if skewed else "")
        + missing,
    )


def _choose_log(numbers: np.ndarray) -> Union[str, dict[str, Any]]:
    """Returns the normalisation by the logarithm, with the moments of the logarithm."""
    logs = np.sign(numbers) * np.log1p(np.abs(numbers))
    mean, std = (float(f"{each:.4g}") for each in (np.mean(logs), np.std(logs)))
    return {"mean": mean, "std": std, "log": True} if std > 0 else "log"


def _choose_buckets(numbers: np.ndarray, distinct: int) -> list[float]:
    """Returns the boundaries of bins with nearly equal shares, rounded to four digits."""
    values = np.unique(numbers)
    if distinct <= FEW_NUMBERS:
        edges = values[1:].tolist()
    else:
        edges = _find_edges(numbers)
        distinct_values, rows = np.unique(numbers, return_counts=True)
        most = int(np.argmax(rows))
        if rows[most] > 0.5 * len(numbers):
            # Most rows have the same value, often 0. Divide the other values into bins as well.
            edges += _find_edges(numbers[numbers != distinct_values[most]])[1::2]
    short = dict.fromkeys(float(f"{edge:.4g}") for edge in edges)
    # Rounding can move a boundary below all values, where it has no effect. Training refuses values
    # beyond float32, and so does the schema.
    limit = np.finfo(np.float32).max
    kept = [edge for edge in sorted(short) if edge > values[0] and abs(edge) <= limit]
    return [int(edge) if edge == int(edge) else edge for edge in kept]


def _find_edges(numbers: np.ndarray) -> list[float]:
    bins = build_bins(numbers)
    return list(bins.edges) if bins is not None else []


def _describe_missing(profile: Profile) -> str:
    missing = profile.num_missing
    return f"; {missing:,} missing ({share(missing, profile)})" if missing else ""
