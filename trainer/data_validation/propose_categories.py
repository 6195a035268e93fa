"""Proposes the fields of columns of categories from their profiles."""

import math
from typing import Any, NamedTuple

from trainer.data_validation.profile import Profile
from trainer.data_validation.yaml_text import flow
from trainer.inputs.streaming_statistics import MAX_COUNTED

# A column with at most this many different words gets a vocabulary. The words of other columns are
# hashed.
MAX_VOCABULARY = 50
# Maximum number of classes of a label, and of words in a vocabulary of frequent values.
MAX_CLASSES = 1000
# With four buckets per value, about one value in five collides with another.
BUCKETS_PER_VALUE = 4
MAX_HASH_BUCKETS = 1 << 20
# A column with more values than this gets a narrow embedding. The default dimension would need more
# memory than the values are worth.
MANY_VALUES = 1000
# Of a column with more values than this, only those that a model can learn count for the number of
# buckets. The other values have few rows each, and so disturb a value with the same bucket little.
VERY_MANY_VALUES = 20_000
# Most rows of a text column may have a value with fewer rows than this. A model would learn such
# rows by heart, so these values share one id; the column is left out if its other values have
# less than FREQUENT_SHARE of the rows.
ROWS_PER_WORD = 5
FREQUENT_SHARE = 0.2


class Proposal(NamedTuple):
    """One column of the proposed schema.

    Attributes:
        fields: fields of the column in the schema.
        comment: what the data contain, and the reason for the fields.
        doubt: what the column may be instead, and the fields to write then; "" if it is clear.
    """

    fields: dict[str, Any]
    comment: str
    doubt: str = ""


def propose_categories(profile: Profile, distinct: int) -> tuple[dict[str, Any], str]:
    """Returns the fields of a column of categories, without its type, and a comment.

    Args:
        profile: profile of the column.
        distinct: number of its different values.
    """
    most = profile.list_values(3)
    common = ", ".join(f"{flow([value])[1:-1]} {share(rows, profile)}" for value, rows in most)
    if distinct <= MAX_VOCABULARY:
        words = [value for value, _ in profile.list_values(MAX_VOCABULARY)]
        if profile.is_int:
            words = sorted(int(word) for word in words)
        return {"vocabulary": words}, f"{distinct} values: {common}"
    about = "" if profile.counts.complete else "about "
    learned = _count_learned(profile, distinct)
    which = "" if learned == distinct else f" that has {ROWS_PER_WORD} rows or more"
    fields: dict[str, Any] = {"hash_buckets": count_buckets(profile, distinct)}
    text = f"{about}{distinct:,} values, at least {BUCKETS_PER_VALUE} buckets per value{which}"
    if distinct > MANY_VALUES:
        # The rule of thumb of "Introducing TensorFlow Feature Columns" (Google Developers Blog,
        # 2017).
        fields["embedding"] = math.ceil(distinct**0.25)
        text += ", embedding by the fourth root of their number"
    return fields, f"{text}: {common}"


def count_rare_rows(profile: Profile) -> int:
    """Returns the number of rows with a rare value; an estimate if there are very many values.

    Args:
        profile: profile of the column.
    """
    if not profile.counts.complete:
        return profile.distinct.count_rare_rows(ROWS_PER_WORD)
    return sum(rows for _, rows in profile.list_values(MAX_COUNTED) if rows < ROWS_PER_WORD)


def propose_rare_words(profile: Profile, distinct: int, missing: str) -> Proposal:
    """Proposes a column of text most rows of which have a rare value.

    Args:
        profile: profile of the column.
        distinct: number of its different values.
        missing: sentence about the missing values.
    """
    frequent = [word for word, rows in profile.list_values(MAX_COUNTED) if rows >= ROWS_PER_WORD]
    rare = f"most rows have one of the values that appear in fewer than {ROWS_PER_WORD} rows"
    frequent_rows = profile.count - count_rare_rows(profile)
    if frequent_rows < FREQUENT_SHARE * profile.count:
        return Proposal(
            {"type": "string", "use": []},
            f"left out: {rare}; hash_buckets: {count_buckets(profile, distinct)} would use all "
            f"{distinct:,} values{missing}",
        )
    if len(frequent) > MAX_CLASSES:
        fields, description = propose_categories(profile, distinct)
        return Proposal({"type": "string", **fields}, description + missing)
    return Proposal(
        {"type": "string", "vocabulary": frequent, "oov_buckets": 1},
        f"{distinct:,} values; {rare}, and these share one id{missing}",
    )


def count_buckets(profile: Profile, distinct: int) -> int:
    """Returns the number of hash buckets of a column.

    Args:
        profile: profile of the column.
        distinct: number of its different values.
    """
    return to_buckets(_count_learned(profile, distinct))


def to_buckets(distinct: int) -> int:
    """Returns the number of hash buckets for a number of values.

    Args:
        distinct: number of different values.
    """
    return min(1 << math.ceil(math.log2(BUCKETS_PER_VALUE * distinct)), MAX_HASH_BUCKETS)


def _count_learned(profile: Profile, distinct: int) -> int:
    """Returns the number of values that need buckets of their own."""
    if distinct <= VERY_MANY_VALUES:
        return distinct
    return min(distinct, max(profile.distinct.count_frequent(ROWS_PER_WORD), VERY_MANY_VALUES))


def share(rows: int, profile: Profile) -> str:
    """Returns a number of rows as a percentage of all rows.

    Args:
        rows: number of rows.
        profile: profile of the column.
    """
    percent = 100 * rows / (profile.count + profile.num_missing)
    return "< 1 %" if 0 < percent < 0.5 else f"{percent:.0f} %"
