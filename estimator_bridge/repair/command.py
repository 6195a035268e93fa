"""python -m estimator_bridge repair: rewrites a model that today's TensorFlow cannot run."""

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ..command_line.commands import Parser
from ..downgrade import files, operations, proof
from ..errors import BridgeError
from ..loadable import find_unsupported
from ..output.logs import set_verbosity
from ..output.terminal import escape
from ..versions import installed_tensorflow
from .graphs import HUB_FILE, answer, compare_answers, open_frozen, open_module, write

__all__ = ["main"]

_USAGE = """python -m estimator_bridge repair MODEL [--output=DIR] [--with=PYTHON]
                                       [--inputs=NAMES] [--outputs=NAMES]

MODEL is the folder of a SavedModel, of a TF-Hub 1.x module or of a graph of
TensorFlow Transform, or a frozen graph *.pb, *.pbtxt."""
# The folder of the graph in what TensorFlow Transform writes.
_TRANSFORM = "transform_fn"


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="estimator_bridge repair", usage=_USAGE)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--output", help="the folder to write; default: MODEL with -repaired added")
    parser.add_argument(
        "--with",
        dest="python",
        metavar="PYTHON",
        help="a Python whose TensorFlow runs MODEL: the answers of every signature are compared",
    )
    for option, default in (("inputs", "its placeholders"), ("outputs", "those without readers")):
        parser.add_argument(
            f"--{option}",
            metavar="NAMES",
            help=f"tensors of a frozen graph, such as x:0,key=y:0; default: {default}",
        )
    return parser.parse_args(argv)


class _Job(NamedTuple):
    """What is repaired.

    Attributes:
      export: the model.
      output: the folder to write.
      python: the Python that runs the original, or None.
      around: the folder of TensorFlow Transform that contains the export; None if it is none.
    """

    export: files.Export
    output: Path
    python: Optional[str]
    around: Optional[Path]


def _plan(options: argparse.Namespace) -> _Job:
    """Returns what is to be done.

    Raises:
      BridgeError: an option does not fit the model.
    """
    inside = Path(options.model, _TRANSFORM)
    around = inside.parent if inside.is_dir() else None
    export = files.read_whole(str(inside) if around else options.model)
    if export.kind == "meta":
        raise BridgeError(f"{options.model}: a .meta file has no values; repair the SavedModel")
    path = Path(options.model).resolve()
    name = path.stem if export.kind == "graph" else path.name
    output = Path(options.output or path.with_name(f"{name}-repaired"))
    if output.exists():
        raise BridgeError(f"{output} already exists; remove it, or choose another --output")
    if not output.resolve().parent.is_dir():
        raise BridgeError(f"--output={output}: there is no folder {output.resolve().parent}")
    if (options.inputs or options.outputs) and export.kind != "graph":
        raise BridgeError("--inputs and --outputs are for frozen graphs; a SavedModel has its own")
    if options.python and (export.kind == "graph" or (export.path / HUB_FILE).is_file()):
        raise BridgeError("--with is for SavedModels; this model is compared without it")
    python = proof.find_interpreter(options.python, None) if options.python else None
    return _Job(export, output, python, around)


def main(argv: list[str]) -> int:
    """Runs the command.

    Args:
      argv: arguments of the command line.

    Returns:
      The exit status.

    Raises:
      BridgeError: an argument is invalid, or the model cannot be repaired.
    """
    options = _parse(argv)
    set_verbosity("error")
    job = _plan(options)
    if (job.export.path / HUB_FILE).is_file():
        changes, findings = _repair_module(job)
    elif job.export.kind == "graph":
        changes, findings = _repair_frozen(job, options.inputs, options.outputs)
    else:
        changes, findings = _repair_saved_model(job)
    _report(job, changes, findings)
    return 0


def _repair_graph(graph: Any, job: _Job) -> Any:
    """Replaces what can be replaced in a graph, and refuses what is left; returns the Repair."""
    # Imports TensorFlow, which a wrong flag does not wait for.
    from .operations import Repair

    folder = job.export.path if job.export.kind == "saved_model" else None
    repair = Repair(graph, folder)
    try:
        repair.run()
    except BridgeError as error:
        raise BridgeError(f"{job.export.path}: {error}") from error
    left = find_unsupported(graph, operations.of_installed())
    if left:
        raise BridgeError(f"{job.export.path}: cannot be repaired: {'; '.join(left)}")
    return repair


def _repair_saved_model(job: _Job) -> tuple[Counter[str], list[str]]:
    changes: Counter[str] = Counter()
    findings: list[str] = []
    original = files.read(str(job.export.path))
    for meta_graph in job.export.meta_graphs():
        repair = _repair_graph(meta_graph.graph_def, job)
        changes += repair.changes
        findings += repair.findings
        _forget(meta_graph, repair.gone)
    if not changes:
        return changes, findings
    requests = proof.make_requests(job.export)

    def prove(path: Path) -> None:
        if job.python is not None:
            findings.extend(proof.prove(original, path, sys.executable, requests, job.python))
        else:
            findings.extend(_ask(path, requests))

    def write_all(path: Path) -> list[str]:
        shutil.copytree(job.around or "", path, ignore=shutil.ignore_patterns(_TRANSFORM))
        files.write(job.export, path / _TRANSFORM, prove)
        return findings

    if job.around is None:
        files.write(job.export, job.output, prove)
    else:
        _write_beside(job.output, write_all)
    return changes, findings


def _ask(path: Path, requests: list[proof.Signature]) -> list[str]:
    """Loads the result and asks each signature; returns what happened."""
    findings = []
    for name, found in sorted(answer(path, requests).items()):
        if found.error:
            findings.append(f"signature {name}: answers no made-up rows: {found.error}")
        else:
            findings.append(f"signature {name}: answers; outputs {len(found.outputs)}")
    return findings


def _forget(meta_graph: Any, gone: set[str]) -> None:
    """Removes what names nodes without outputs, and lists the operations of the graph anew."""
    for key, collection in list(meta_graph.collection_def.items()):
        names = list(collection.node_list.value)
        kept = [name for name in names if ":" not in name or name.partition(":")[0] not in gone]
        if kept != names:
            del collection.node_list.value[:]
            collection.node_list.value.extend(kept)
            if not kept:
                del meta_graph.collection_def[key]
    graph = meta_graph.graph_def
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    used = {node.op for node in nodes}
    listed = meta_graph.meta_info_def.stripped_op_list.op
    known = {op.name: op for op in listed if op.name in used}
    target = operations.of_installed()
    added = [target.definition(name) for name in sorted(used - set(known))]
    del listed[:]
    listed.extend(sorted([*known.values(), *filter(None, added)], key=lambda op: str(op.name)))


def _repair_module(job: _Job) -> tuple[Counter[str], list[str]]:
    plain = [one for one in job.export.meta_graphs() if not one.meta_info_def.tags]
    meta_graph = (plain or job.export.meta_graphs())[0]
    repair = _repair_graph(meta_graph.graph_def, job)
    _forget(meta_graph, repair.gone)
    with open_module(meta_graph, job.export.path) as source:
        findings = _write_beside(job.output, lambda path: _write_graph(source, path))
    changes = repair.changes + Counter({"TF-Hub 1.x module written as a SavedModel": 1})
    return changes, [*repair.findings, *findings]


def _repair_frozen(
    job: _Job, inputs: Optional[str], outputs: Optional[str]
) -> tuple[Counter[str], list[str]]:
    repair = _repair_graph(job.export.message, job)
    with open_frozen(job.export.message, inputs, outputs) as source:
        findings = _write_beside(job.output, lambda path: _write_graph(source, path))
    changes = repair.changes + Counter({"frozen graph written as a SavedModel": 1})
    return changes, [*repair.findings, *findings]


def _write_graph(source: Any, path: Path) -> list[str]:
    write(source, path)
    return compare_answers(source, answer(path, proof.make_requests(files.read(str(path)))))


def _write_beside(output: Path, make: Callable[[Path], list[str]]) -> list[str]:
    """Writes a folder that gets its name when it is complete; nothing remains if that fails."""
    beside = output.with_name(f".partial-{os.getpid()}-{output.name}")
    try:
        findings = make(beside)
        beside.rename(output)
    except OSError as error:
        raise BridgeError(f"{output}: cannot be written: {error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return findings


def _report(job: _Job, changes: Counter[str], findings: list[str]) -> None:
    version = installed_tensorflow()
    print(f"{escape(str(job.export.path))} for TensorFlow {version}")
    for change, number in sorted(changes.items()):
        print(f"  {number:5}  {escape(change)}")
    for line in findings:
        print(f"  {escape(line)}")
    if changes:
        print(f"  written {escape(str(job.output))}")
    else:
        print("  nothing to repair: every operation has a kernel; nothing is written")
