"""The audit of models: which TensorFlow loads each, and what to do about the others."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from estimator_bridge.errors import BridgeError
from estimator_bridge.loadable.models import Model

__all__ = ["Audited", "audit_models", "render", "to_json"]

_SHOWN = 3
_WORDS = {
    "operation": "no operation",
    "kernel": "no kernel",
    "attribute": "no attribute",
    "type": "no data type",
}


class Audited(NamedTuple):
    """What was found about a model.

    Attributes:
      model: the model.
      written_by: the TensorFlow that wrote it; "" if it does not say.
      contents: what it contains, in words.
      loads: versions that load it, oldest first.
      serving: versions of TensorFlow Serving that load it; empty for a checkpoint or a graph.
      obstacles: what keeps versions from loading it → (those versions, what to do).
      notes: further lines.
      error: why it could not be read; "" if it was.
    """

    model: Model
    written_by: str = ""
    contents: str = ""
    loads: tuple[str, ...] = ()
    serving: tuple[str, ...] = ()
    obstacles: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


def audit_models(models: list[Model]) -> list[Audited]:
    """Audits models, one after the other; one that cannot be read does not end it.

    Args:
      models: the models.
    """
    results = []
    for model in models:
        try:
            results.append(_audit(model))
        except BridgeError as error:
            results.append(Audited(model, error=str(error)))
    return results


def _audit(model: Model) -> Audited:
    if model.kind == "checkpoint":
        return _audit_checkpoint(model)
    # Imported here: it imports TensorFlow.
    from estimator_bridge.downgrade import files
    from estimator_bridge.loadable.graphs import find_obstacles

    path = model.path / "transform_fn" if model.kind == "Transform graph" else model.path
    export = files.read(str(path))
    graphs: list[tuple[Any, Any]] = [
        (one.graph_def, one.meta_info_def.stripped_op_list.op) for one in export.meta_graphs()
    ] or [(export.message, ())]
    found = [find_obstacles(*pair) for pair in graphs]
    versions = list(found[0])
    by_version = {version: [one for each in found for one in each[version]] for version in versions}
    # The importer of a graph by itself removes no attributes, and neither does Serving.
    removes = bool(export.meta_graphs())
    loads = [
        version
        for version, obstacles in by_version.items()
        if not [one for one in obstacles if not (removes and one.serving_only)]
    ]
    serving = [version for version, obstacles in by_version.items() if not obstacles]
    return Audited(
        model,
        export.written_by() or "",
        _describe(export),
        tuple(loads),
        tuple(serving) if export.kind == "saved_model" else (),
        tuple(_obstacles(by_version)),
        tuple(_notes(graphs)),
    )


def _describe(export: Any) -> str:
    names = sorted(
        {
            name
            for one in export.meta_graphs()
            for name in one.signature_def
            if not name.startswith("__")
        }
    )
    count = sum(len(one.graph_def.node) for one in export.meta_graphs()) or len(
        getattr(export.message, "node", ())
    )
    text = f"{count:,} operations"
    return text + (f", signatures {', '.join(names)}" if names else "")


def _obstacles(by_version: dict[str, list[Any]]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yields what keeps versions from loading it, those versions, and what to do."""
    from estimator_bridge.loadable.advice import advise
    from estimator_bridge.repair.operations import REPLACED

    where: dict[Any, list[str]] = {}
    for version, obstacles in by_version.items():
        for one in dict.fromkeys(obstacles):
            where.setdefault(one, []).append(version)
    newest = list(by_version)[-1]
    alike: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for one, lacking in where.items():
        advice = advise(one.op, REPLACED) if newest in lacking and one.op else ""
        words = _WORDS[one.kind] + (" for Serving" if one.serving_only else "")
        alike.setdefault((words, tuple(lacking), advice), []).append(one.what)
    for (words, versions, advice), names in alike.items():
        yield f"{words}: {', '.join(names)}", versions, advice


def _notes(graphs: list[tuple[Any, Any]]) -> Iterator[str]:
    from estimator_bridge.loadable.advice import advise, needs_python
    from estimator_bridge.loadable.graphs import nodes_of

    ops = {node.op for graph, _ in graphs for node, _ in nodes_of(graph)}
    for op in sorted(filter(needs_python, ops)):
        yield f"{op}: {advise(op)}"


def _audit_checkpoint(model: Model) -> Audited:
    from estimator_bridge.downgrade.operations import known_versions
    from estimator_bridge.loadable.checkpoints import read_checkpoint

    contents = read_checkpoint(model.path)
    loads = [
        version
        for version in known_versions()
        if all(version in knowing for knowing in contents.types.values())
    ]
    obstacles = [
        (f"no data type {name}", tuple(v for v in known_versions() if v not in knowing), "")
        for name, knowing in contents.types.items()
    ]
    notes = list(contents.notes)
    if model.others:
        others = "checkpoint is" if model.others == 1 else "checkpoints are"
        notes.append(f"{model.others} older {others} beside it")
    what = f"{contents.size:,} values, by {contents.layout}"
    return Audited(model, "", what, tuple(loads), (), tuple(obstacles), tuple(notes))


def _range(versions: tuple[str, ...], known: list[str]) -> str:
    """Returns versions as text: "1.15", "1.15 to 2.8", "2.9 and later"."""
    parts = []
    start = None
    for number, version in enumerate(known):
        if version in versions and start is None:
            start = version
        following = known[number + 1] if number + 1 < len(known) else None
        if start is not None and following not in versions:
            parts.append(_span(start, version, known))
            start = None
    return ", ".join(parts) or "none"


def _span(first: str, last: str, known: list[str]) -> str:
    if (first, last) == (known[0], known[-1]):
        return f"{first} to {last}, all versions"
    if last == known[-1] and first != last:
        return f"{first} and later"
    if first == known[0] and first != last:
        return f"{last} and before"
    return first if first == last else f"{first} to {last}"


def render(results: list[Audited]) -> Iterator[str]:
    """Yields the lines of the report.

    Args:
      results: the audited models.
    """
    from estimator_bridge.downgrade.operations import known_versions

    known = known_versions()
    for one in results:
        yield f"{one.model.path}"
        if one.error:
            yield f"  {one.error}"
            continue
        writer = f", written by TensorFlow {one.written_by}" if one.written_by else ""
        yield f"  {one.model.kind}{writer}; {one.contents}"
        verb = "is imported by" if one.model.kind.startswith("graph") else "loads on"
        yield f"  {verb} TensorFlow {_loads(one.loads, known)}"
        if one.model.kind in ("SavedModel", "Transform graph") and one.serving != one.loads:
            yield f"  loads on TensorFlow Serving {_loads(one.serving, known)}"
        for what, versions, advice in one.obstacles:
            yield f"  {_range(versions, known)}: {_shorten(what)}" + (
                f"; {advice}" if advice else ""
            )
        for note in one.notes:
            yield f"  {note}"
        if any(advice.startswith("`repair`") for *_, advice in one.obstacles):
            yield f"  next: python -m estimator_bridge repair {one.model.path}"


def _shorten(what: str) -> str:
    names = what.split(", ")
    more = len(names) - _SHOWN
    return what if more <= 0 else f"{', '.join(names[:_SHOWN])} and {more} more"


def _loads(versions: tuple[str, ...], known: list[str]) -> str:
    text = _range(versions, known)
    return (
        "none of " + _span(known[0], known[-1], known).removesuffix(", all versions")
        if (text == "none")
        else text
    )


def to_json(results: list[Audited]) -> str:
    """Returns the report as JSON.

    Args:
      results: the audited models.
    """
    return json.dumps(
        [
            {
                "path": str(one.model.path),
                "kind": one.model.kind,
                **{
                    name: getattr(one, name)
                    for name in ("written_by", "contents", "loads", "serving", "notes", "error")
                },
                "obstacles": [
                    {"what": what, "versions": versions, "advice": advice}
                    for what, versions, advice in one.obstacles
                ],
            }
            for one in results
        ],
        indent=2,
    )
