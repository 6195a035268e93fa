"""Compares the results of parity_2x.py, and makes the table of docs/parity.md."""

from typing import NamedTuple

# (version, program) -> why the original fails or behaves differently. docs/parity.md describes this
# under "Behaviour that changed".
_LOCK = (
    "these versions cannot copy the RunConfig, because the strategy of a cluster contains a lock"
)
KNOWN = {
    ("2.4.4", "preprocessing"): (
        "this version does not look up words in a model_fn, requires the empty lookup table in a "
        "checkpoint, and exports operations that `repair` must rewrite"
    ),
    ("2.4.4", "canned_head"): "its DNNLinearCombinedEstimator has no argument `batch_norm`",
    ("2.4.4", "cluster"): _LOCK,
    ("2.8.4", "cluster"): _LOCK,
}
# float32 has 7 digits; the order of sums differs between versions of TensorFlow.
ROUNDING = 2e-6


class Records(NamedTuple):
    """The results of a program in several runs; {} if a run was not needed.

    Attributes:
      native: those of the original.
      ours: those of the bridge.
      back: those of the original with the checkpoint and the export of the bridge.
      theirs: those of the bridge with the export of the original.
      again: those of a second run of the original.
      nudged: those of the original with variables and rows changed by one rounding step.
    """

    native: dict
    ours: dict
    back: dict
    theirs: dict
    again: dict = {}
    nudged: dict = {}


def scale(value):
    """Returns the largest finite number of a value, at least 1."""
    finite = (abs(one) for one in value["values"] if abs(one) < float("inf"))
    return max([1.0, *finite]) if value["is_real"] else 1.0


def distance(one, other):
    """Returns the largest difference relative to the largest value; infinite for other shapes."""
    if one["shape"] != other["shape"] or one["is_real"] != other["is_real"]:
        return float("inf")
    if not one["is_real"]:
        return 0.0 if one["values"] == other["values"] else float("inf")
    pairs = zip(one["values"], other["values"])
    return max((apart(a, b) for a, b in pairs), default=0.0) / scale(one)


def apart(one, other):
    """Returns the distance of two numbers; infinite if only one of them is NaN."""
    if one == other or (one != one and other != other):
        return 0.0
    away = abs(one - other)
    return away if away == away else float("inf")


def compare(one, other, moved, rounding=ROUNDING):
    """Compares values by name.

    Args:
      one, other: name -> value.
      moved: pairs of such values from two runs of the original, which differ by a rounding step
        of the input or not at all.
      rounding: the distance that is always allowed.

    Yields:
      Name, distance, and whether that is allowed.
    """
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            yield f"{name}: only in the {'first' if name in one else 'second'}", float("inf"), False
            continue
        away = distance(one[name], other[name])
        steps = [distance(first[name], second[name]) for first, second in moved if name in second]
        yield name, away, away <= max([rounding, *(2 * step for step in steps)])


def judge(records):
    """Compares the results of one program.

    Args:
      records: its Records.

    Returns:
      The largest distance in training, that of exports, and a line for each value that differs by
      more than its tolerance.
    """
    native, ours, back, theirs, *moved = records
    failed = [one["message"] for one in records if "error" in one]
    if failed:
        return float("inf"), float("inf"), failed
    worst, lines = {True: 0.0, False: 0.0}, []
    moved = [one for one in moved if one]
    compared = [
        (part, native[part], ours[part], [(native[part], one[part]) for one in moved])
        for part in ("restored", "after", "variables", "events")
    ]
    restored = [(native["restored"], one["restored"]) for one in moved]
    compared.append(("back", ours["after"], back["restored"], restored))
    for one, other in ((native, theirs), (ours, back)):
        rows = [(one["served"], one["served, rows moved"])]
        compared.append(("served", one["served"], other["served"], rows))
    for part, one, other, steps in compared:
        for name, away, is_allowed in compare(one, other, steps, native.get("rounding", ROUNDING)):
            is_export = part == "served"
            worst[is_export] = max(worst[is_export], away)
            if not is_allowed:
                lines.append(f"{part}: {name}: {away:.1e}")
    for name in sorted(native["served"].keys() ^ ours["served"].keys()):
        lines.append(f"served: {name}: only one of the two exports has it")
    return worst[False], worst[True], lines


def table(kinds, found):
    """Returns the table as lines.

    Args:
      kinds: program -> kind of program.
      found: version -> program -> largest distances in training and of exports.
    """
    heads = [*found, *(f"{version}, exports" for version in found)]
    lines = [f"| kind of program | programs | {' | '.join(heads)} |"]
    lines.append("|---|---|" + "---|" * len(heads))
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name in kinds if kinds[name] == kind]
        cells = [
            show(
                [one[name][part] for name in names if (version, name) not in KNOWN and name in one]
            )
            for part in (0, 1)
            for version, one in found.items()
        ]
        lines.append(f"| {kind} | {', '.join(names)} | {' | '.join(cells)} |")
    known = {}
    for (version, name), reason in KNOWN.items():
        known.setdefault((name, reason), []).append(version)
    lines += [
        "",
        "Not counted, because the original version itself fails or behaves differently:",
        "",
    ]
    lines += [
        f"- `{name}` on {' and '.join(on)}: {reason}." for (name, reason), on in known.items()
    ]
    for version, one in found.items():
        missing = [name for name in kinds if name not in one]
        if missing:
            lines.append(f"Not measured on {version}: {', '.join(missing)}.")
    return lines


def show(distances):
    worst = max(distances, default=None)
    if worst is None:
        return "not measured"
    return "fails" if worst == float("inf") else f"{worst:.1e}"
