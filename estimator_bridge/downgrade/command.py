"""python -m estimator_bridge downgrade: rewrites an export for an older TensorFlow."""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from ..command_line.commands import Parser
from ..errors import BridgeError
from ..output.logs import set_verbosity
from ..output.terminal import escape
from . import addresses, files, operations, proof

__all__ = ["main"]

_USAGE = """python -m estimator_bridge downgrade EXPORT --to=VERSION [--output=DIR]
                                          [--with=PYTHON]

EXPORT is a SavedModel's folder, or a file *.meta, *.pbtxt or *.pb that contains
a graph; it may be in gs://."""


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="estimator_bridge downgrade", usage=_USAGE)
    parser.add_argument("export", metavar="EXPORT")
    parser.add_argument(
        "--to", required=True, metavar="VERSION", help="the older TensorFlow, such as 1.15 or 2.8"
    )
    parser.add_argument(
        "--output", help="the folder or file to write; default: EXPORT with -tfVERSION added"
    )
    parser.add_argument(
        "--with",
        dest="python",
        metavar="PYTHON",
        help="a Python that has the older TensorFlow: the result is loaded there, and the answers "
        "of every signature are compared",
    )
    return parser.parse_args(argv)


def _output(
    options: argparse.Namespace, export: files.Export, version: str, places: addresses.Places
) -> Path:
    """Returns the path to write."""
    path = export.path
    if options.output is not None:
        output = places.find(options.output)
    elif export.kind == "saved_model":
        output = path.resolve().with_name(f"{path.resolve().name}-tf{version}")
    else:
        output = path.with_name(f"{path.stem}-tf{version}{path.suffix}")
    if places.exists(output):
        raise BridgeError(f"{output} already exists; remove it, or choose another --output")
    if not output.resolve().parent.is_dir():
        raise BridgeError(f"--output={output}: there is no folder {output.resolve().parent}")
    if export.kind != "saved_model" and output.suffix != path.suffix:
        raise BridgeError(f"--output={output}: must end in {path.suffix}, like {path.name}")
    return output


def main(argv: list[str]) -> int:
    """Runs the command.

    Args:
      argv: arguments of the command line.

    Returns:
      The exit status.

    Raises:
      BridgeError: an argument is invalid, or the older version cannot express the export.
    """
    options = _parse(argv)
    target = operations.find(options.to)
    set_verbosity("error")
    with tempfile.TemporaryDirectory() as folder:
        places = addresses.Places(folder)
        try:
            for line in _downgrade(options, target, places):
                print(escape(places.show(line)))
        except BridgeError as error:
            raise type(error)(places.show(str(error))) from error
    return 0


def _downgrade(
    options: argparse.Namespace, target: operations.Operations, places: addresses.Places
) -> list[str]:
    """Rewrites the export and returns the lines of the report."""
    export = files.read_whole(str(places.fetch(options.export)))
    version = operations.minor(target.version)
    output = _output(options, export, version, places)
    interpreter = proof.find_interpreter(options.python, version) if options.python else None
    requests = proof.make_requests(export) if interpreter else None
    changes = files.rewrite(export, target)
    findings: list[str] = []

    def prove(path: Path) -> None:
        if interpreter is not None and requests is not None:
            findings.extend(proof.prove(export, path, interpreter, requests))

    files.write(export, output, prove)
    places.store(output)
    if interpreter is None:
        findings = [
            f"compared with the operations of TensorFlow {target.version}; add --with=PYTHON to "
            "load it there"
        ]
    return [
        *_report(export, target, changes),
        *(f"  {line}" for line in findings),
        f"  written {output}",
    ]


def _report(
    export: files.Export, target: operations.Operations, changes: Counter[str]
) -> list[str]:
    writer = export.written_by()
    origin = f" of TensorFlow {writer}" if writer else ""
    return [
        f"{export.path}{origin} for {operations.minor(target.version)}",
        *(f"  {number:5}  {change}" for change, number in sorted(changes.items())),
        *([] if changes else ["  nothing had to be changed"]),
    ]
