"""Compares what a case computes with what TensorFlow 1.15 computed. Needs no TensorFlow."""

import ast
import gzip
import hashlib
import json
import os
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
STORED = HERE.parent / "golden" / "1.15.5"
KNOWN = HERE / "known.json"
# Area -> fingerprint of what its stored values were computed by.
MEASURED_BY = "measured_by.json"
NAMES = HERE.parents[2] / "estimator_bridge" / "audit" / "symbols" / "supplied.json"
# Environment of the cases: matrix products use AVX2, also where the processor has AVX-512. With
# other last bits, other cases are just within their tolerance.
KERNELS = {"TF_ENABLE_ONEDNN_OPTS": "0", "ONEDNN_MAX_CPU_ISA": "AVX2"}
AREAS = sorted(path.stem for path in (HERE / "cases").glob("[a-z]*.py"))

# float32 has 7 digits: a few roundings are 1e-6 of the largest value. Allowed is also twice as much
# as one rounding step of the inputs moves a result (`moved`), and as two runs of 1.15 are apart.
# In the debug Estimators two optimizers update the centered bias at once: there, `apart` is that of
# 190 runs of 1.15 with one to four threads, on busy processors.
ROUNDING = 1e-6
STRUCTURE = ("variables", "local_variables", "collections", "summaries")
VALUES = ("initial", "outputs", "gradients")


def read(area):
    """Returns what TensorFlow 1.15 computed: case -> record, or path -> signature."""
    return json.loads(gzip.decompress((STORED / f"{area}.json.gz").read_bytes()))


def write(area, records, fingerprint):
    """Stores records and what they were computed by; the same records leave the file as it is."""
    STORED.mkdir(parents=True, exist_ok=True)
    path = STORED / f"{area}.json.gz"
    text = json.dumps(records, sort_keys=True, separators=(",", ":")).encode()
    # Versions of zlib give other bytes.
    if not path.exists() or gzip.decompress(path.read_bytes()) != text:
        _replace(path, gzip.compress(text, mtime=0))
    found = json.dumps({**measured_by(), area: fingerprint}, indent=1, sort_keys=True)
    _replace(STORED / MEASURED_BY, found.encode() + b"\n")


def _replace(path, content):
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)


def measured_by():
    """Returns area -> fingerprint of what the stored values were computed by."""
    path = STORED / MEASURED_BY
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def fingerprint(area, packages):
    """Returns a text that changes with the cases of an area, what runs them, and the packages.

    Args:
      area: name of a file of cases, or `signatures`.
      packages: of the environment, with their versions.
    """
    files = {HERE / name for name in ("measure.py", "trained.py", "values.py")}
    files |= {HERE / "signatures.py", NAMES} if area == "signatures" else _files_of(area)
    whole = hashlib.sha256("\n".join(packages).encode())
    for path in sorted(files):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def _files_of(area):
    """Returns the file of an area, and the files here that it imports."""
    found, waiting = set(), [HERE / "cases" / f"{area}.py"]
    while waiting:
        path = waiting.pop()
        if path in found or not path.exists():
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                folder = HERE / "cases" if getattr(node, "module", None) == "cases" else HERE
                waiting += [folder / f"{one.name}.py" for one in node.names]
    return found


def distance(native, ours):
    """Returns the largest difference of two values, infinite where they cannot be compared."""
    if native["type"] != ours["type"] or native["shape"] != ours["shape"]:
        return np.inf
    if not native["type"].startswith("float"):
        return 0.0 if native["values"] == ours["values"] else np.inf
    first, second = (np.asarray(one["values"], np.float64) for one in (native, ours))
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        away = np.where(same, 0.0, np.abs(first - second))
    return float(np.where(np.isnan(away), np.inf, away).max(initial=0.0))


def scale(value):
    """Returns the largest finite number of a value, at least 1."""
    numbers = np.asarray(value["values"], np.float64)
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=1.0))


def keep_distances(records, earlier):
    """Counts the stored records as runs of 1.15 too, where they say how far two runs are apart.

    On an idle machine, threads that update one variable may take the same order again and again.

    Args:
      records: case -> record; changed.
      earlier: case -> stored record of the same cases.
    """
    for case in records.keys() & earlier.keys():
        one, other = records[case], earlier[case]
        if not isinstance(one, dict):
            # A signature.
            continue
        apart = dict(one.get("apart", {}))
        for key, away in other.get("apart", {}).items():
            apart[key] = max(apart.get(key, 0.0), away)
        for part in set(VALUES) & one.keys() & other.keys():
            for name in one[part].keys() & other[part].keys():
                key, away = f"{part}/{name}", distance(one[part][name], other[part][name])
                if 0 < away < np.inf and key not in {*one["random"], *other["random"]}:
                    apart[key] = max(apart.get(key, 0.0), float(f"{away:.2g}"))
        if apart:
            one["apart"] = apart


def values_apart(native, ours, part):
    """Yields (name, distance, text) of values outside their tolerance."""
    random = set(native["random"])
    for name in sorted({*native[part], *ours[part]}):
        one, other = native[part].get(name), ours[part].get(name)
        if one is None or other is None:
            yield name, np.inf, f"{name}: only {'here' if one is None else 'in 1.15'}"
            continue
        if f"{part}/{name}" in random:
            # The graph's seed gives other numbers in each version.
            if (one["type"], one["shape"]) != (other["type"], other["shape"]):
                yield name, np.inf, f"{name}: {other['type']} {other['shape']}"
            continue
        away = distance(one, other)
        key = f"{part}/{name}"
        step = max(
            native[reason].get(key, 0.0) for reason in ("moved", "apart") if reason in native
        )
        if away > max(ROUNDING * (scale(one) if one["type"].startswith("float") else 1), 2 * step):
            shown = [
                f"{value['type']} {value['shape']} {value['values'][:4]}" for value in (one, other)
            ]
            yield name, away, f"{name}: {shown[1]} for {shown[0]}"


def describe(ours, native):
    """Returns a text of what only one of two parts of a record has, or of both if that is all."""
    if isinstance(ours, list):
        more = [one for one in ours if one not in native]
        lacking = [one for one in native if one not in ours]
        if more or lacking:
            return f"{more} for {lacking}"
    return f"{ours} for {native}"


def compare(native, ours):
    """Returns aspect -> text of how a case differs from its stored record.

    Args:
      native: record of TensorFlow 1.15.
      ours: record of the bridge.

    Returns:
      Empty where they agree. Aspects are `error`, the parts of a record, and `... within 1e-4` for
      values outside their tolerance that are all within 1e-4 of the largest one.
    """
    if "error" in native or "error" in ours:
        one, other = native.get("error"), ours.get("error")
        text = f"{other} ({ours.get('message', '')[:160]}) for {one}"
        return {} if one == other else {"error": text}
    found = {
        part: describe(ours[part], native[part]) for part in STRUCTURE if native[part] != ours[part]
    }
    for part in VALUES:
        apart = list(values_apart(native, ours, part))
        if apart:
            near = all(
                away <= 1e-4 * scale(native[part][name])
                for name, away, _ in apart[:]
                if np.isfinite(away)
            ) and all(np.isfinite(away) for _, away, _ in apart)
            found[f"{part} within 1e-4" if near else part] = "; ".join(text for *_, text in apart)
    return found


def compare_signatures(native, ours):
    """Returns how a signature differs, or None; more arguments after the original's are allowed."""
    if native == "property" or ours is None or ours == "property":
        return None if native == "property" and ours else "missing" if ours is None else "property"
    kinds = {kind for _, kind, _ in ours}
    named = [part for part in ours if not part[1]]
    for place, (name, kind, default) in enumerate(native):
        if kind:
            if kind not in kinds:
                return f"no {kind}{name}"
            continue
        if place >= len(named):
            if kinds == {"*", "**"}:
                return None
            return f"no argument {name}"
        if named[place][0] != name:
            return f"argument {place} is {named[place][0]}, not {name}"
        given = named[place][2]
        # Any object may be the same default as another; none at all is not.
        if given != default and (
            "<none>" in (default, given) or "<object>" not in (default, given)
        ):
            return f"default of {name} is {given}, not {default}"
    more = named[sum(not kind for _, kind, _ in native) :]
    required = [name for name, _, default in more if default == "<none>"]
    return f"requires {required[0]}" if required else None


def known():
    """Returns area -> case -> aspects that are known to differ."""
    found = {}
    for entry in json.loads(KNOWN.read_text(encoding="utf-8")):
        for area, cases in entry["cases"].items():
            for case, aspects in cases.items():
                found.setdefault(area, {}).setdefault(case, []).extend(aspects)
    return found


def differences(area, records):
    """Returns case -> aspect -> text of everything that differs in an area.

    Args:
      area: name of a file of cases, or `signatures`.
      records: what the bridge computed for it.
    """
    stored = read(area)
    found = {}
    if area == "signatures":
        for path, native in stored.items():
            text = compare_signatures(native, records.get(path))
            if text:
                found[path] = {"signature": text}
        return found
    for case in sorted({*stored, *records}):
        if case not in stored or case not in records:
            found[case] = {"case": "run `make parity-1x`: the cases have changed"}
            continue
        aspects = compare(stored[case], records[case])
        if aspects:
            found[case] = aspects
    return found


def unexpected(area, records):
    """Returns lines for differences that are not listed, and for listed ones that are gone."""
    found, listed, lines = differences(area, records), known().get(area, {}), []
    for case in sorted({*found, *listed}):
        for aspect in sorted({*found.get(case, ()), *listed.get(case, ())}):
            if aspect not in listed.get(case, ()):
                lines.append(f"{area}: {case}: {aspect}: {found[case][aspect][:600]}")
            elif aspect not in found.get(case, {}):
                lines.append(
                    f"{area}: {case}: {aspect} no longer differs: remove it from {KNOWN.name}"
                )
    return lines


def table(computed):
    """Returns the table of docs/parity.md as lines.

    Args:
      computed: area -> records of the bridge.
    """
    return [
        "| area | cases | identical | within 1e-4 | different | not supplied |",
        "|---|---|---|---|---|---|",
        *(row(area, computed[area]) for area in [*AREAS, "signatures"]),
    ]


def row(area, records):
    """Returns the row of an area in the table.

    Args:
      area: name of a file of cases, or `signatures`.
      records: what the bridge computed for it.
    """
    found = differences(area, records)
    refused = [
        case
        for case, aspects in found.items()
        if "NotSuppliedError" in aspects.get("error", "") or aspects.get("signature") == "missing"
    ]
    near = [
        case
        for case, aspects in found.items()
        if case not in refused and all("within" in aspect for aspect in aspects)
    ]
    count = len(read(area))
    other = len(found) - len(refused) - len(near)
    return f"| {area} | {count} | {count - len(found)} | {len(near)} | {other} | {len(refused)} |"
