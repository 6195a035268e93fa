"""Proposes what a schema says about the label, from the profile of its column."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from trainer.data_validation.profile import NO_NUMBER, Profile
from trainer.data_validation.propose import describe_format, describe_odd, find_written_format
from trainer.data_validation.propose_categories import MAX_CLASSES, share
from trainer.data_validation.yaml_text import flow
from trainer.errors import UserError

# If a label has at most this many different whole numbers, the task is a classification.
MAX_INT_CLASSES = 20

# Words, in lower case, that name the positive and the negative one of two classes.
POSITIVE_WORDS = {
    *("1", "true", "t", "yes", "y", "positive", "pos", "+", "+1", "on"),
    *("ja", "wahr", "oui", "vrai", "si", "sí", "sì", "sim", "verdadero", "vero"),
}
NEGATIVE_WORDS = {
    *("0", "-1", "false", "f", "no", "n", "negative", "neg", "-", "off", "none"),
    *("nein", "falsch", "non", "faux", "nee", "nej", "não", "falso"),
}
# A class with fewer rows than this can hardly be learned, and may have no evaluation row.
FEW_ROWS = 5


def propose_label(name: str, profile: Profile) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Returns the fields of the label's column and of the label, and sentences about it.

    Args:
        name: name of the column.
        profile: profile of the column.

    Raises:
        UserError: the column cannot be a label.
    """
    if profile.unsupported:
        raise UserError(
            f"--label={name}: has values of type {profile.unsupported}; name another column"
        )
    if not profile.count:
        raise UserError(f"--label={name}: never has a value; name another column")
    distinct = profile.num_distinct
    if distinct == 1:
        value = profile.list_values(1)[0][0]
        raise UserError(f"--label={name}: is {value!r:.60} in every row; there is nothing to learn")
    lines = []
    if profile.num_missing:
        lines = [
            f"{profile.num_missing:,} rows have no label: correct them, or skip them with "
            f"--data.max_bad_rows={profile.num_missing}."
        ]
    words = _put_positive_last([value for value, _ in profile.list_values(MAX_CLASSES + 1)])
    common = [f"{flow([v])[1:-1]} {share(n, profile)}" for v, n in profile.list_values(5)]
    is_quantity = distinct > MAX_INT_CLASSES or (distinct > 2 and not profile.is_int)
    if profile.is_number and (is_quantity or profile.stored == "float"):
        seen = profile.numbers.to_range()
        lines.append(
            f"Regression: a number from {seen.min:.6g} to {seen.max:.6g}, mean {seen.mean:.6g}."
        )
        kind = "int" if profile.stored == "int" else "float"
        return {"type": kind}, _propose_regression(name, profile), lines
    _require_classes(name, profile)
    lines.append(f"{'Binary' if distinct == 2 else f'{distinct} classes'}: {', '.join(common)}.")
    if profile.is_int:
        column, label = {"type": "int"}, _propose_int_classes(name, words)
    else:
        column, label = {"type": "string"}, {"column": name, "vocabulary": list(map(str, words))}
        if profile.is_number and not profile.is_text:
            column = {"type": "int"}
            label["vocabulary"] = [int(word) for word in words if word == int(word)]
            if len(label["vocabulary"]) < len(words):
                return (
                    {"type": "float"},
                    {"column": name},
                    lines + ["A regression, since some labels are not whole numbers."],
                )
    lines += _doubt_classes(profile)
    positive = _find_positive(label)
    if distinct == 2:
        lines.append(f"The positive class is {positive!r}; in a vocabulary it is the second class.")
    elif profile.is_int:
        lines.append(
            "The classes have no order. If the numbers are amounts, such as stars or counts, a "
            f"regression fits better: label: {flow(_propose_regression(name, profile))}."
        )
    return column, label, lines


def _propose_regression(name: str, profile: Profile) -> dict[str, Any]:
    seen = profile.numbers.to_range()
    # A hundredth of the standard deviation is precise enough, and short.
    digits = 2 - math.floor(math.log10(seen.std))
    moments = {"mean": round(seen.mean, digits), "std": round(seen.std, digits)}
    return {"column": name, "normalize": moments}


def _doubt_classes(profile: Profile) -> list[str]:
    """Returns sentences about classes that may be mistakes."""
    counts = {str(word): rows for word, rows in profile.list_values(MAX_CLASSES)}
    lines = []
    alike = defaultdict(list)
    for word in counts:
        alike[" ".join(word.split()).casefold()].append(word)
    for words in [words for words in alike.values() if len(words) > 1][:3]:
        lines.append(
            f"{flow(words)[1:-1]} differ only in blanks or in upper and lower case: if they are "
            "one class, write one word for it in the file."
        )
    for word in [word for word in counts if word.strip() in NO_NUMBER and len(counts) > 2]:
        lines.append(
            f"If {flow([word])[1:-1]} means no label, add it to missing_values, remove the class, "
            f"and skip its rows with --data.max_bad_rows={counts[word]}."
        )
    few = [f"{flow([word])[1:-1]} {rows}" for word, rows in counts.items() if rows < FEW_ROWS]
    if few:
        lines.append(
            f"Classes with fewer than {FEW_ROWS} rows: {', '.join(few[:5])}"
            f"{f' and {len(few) - 5} more' if len(few) > 5 else ''}. The model can hardly learn "
            "them, and the evaluation rows may have none."
        )
    return lines


def _require_classes(name: str, profile: Profile) -> None:
    """Raises if the values of a label are too many, or numbers that are written as text."""
    distinct = profile.num_distinct
    written = None if profile.is_number else find_written_format(profile)
    if written is not None and distinct > MAX_INT_CLASSES:
        raise UserError(
            f"--label={name}: {describe_format(written, profile)}; {written.remedy} in the file"
        )
    if profile.odd_words and distinct > MAX_INT_CLASSES:
        raise UserError(
            f"--label={name}: is {describe_odd(profile)}; correct these rows, or remove them"
        )
    if distinct > MAX_CLASSES:
        raise UserError(
            f"--label={name}: has about {distinct:,} different words, more than the {MAX_CLASSES} "
            "that can be classes; name another column"
        )


def _put_positive_last(words: list[Any]) -> list[Any]:
    """Orders two classes: the positive one last, by its name, else the rarer one.

    Args:
        words: the values, the most frequent first; the order of more than two does not change.
    """
    if len(words) != 2:
        return words
    names = [str(word).strip().lower() for word in words]
    is_reversed = names[0] in POSITIVE_WORDS and names[1] not in POSITIVE_WORDS
    is_reversed |= names[1] in NEGATIVE_WORDS and names[0] not in NEGATIVE_WORDS
    return words[::-1] if is_reversed else words


def _propose_int_classes(name: str, words: Sequence[Any]) -> dict[str, Any]:
    ordered = sorted(int(word) for word in words)
    if ordered == list(range(len(ordered))):
        return {"column": name, "num_classes": len(ordered)}
    vocabulary = ordered if len(ordered) > 2 else [int(word) for word in words]
    return {"column": name, "vocabulary": vocabulary}


def _find_positive(label: dict[str, Any]) -> Any:
    return label["vocabulary"][1] if "vocabulary" in label else 1
