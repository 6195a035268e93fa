"""The command line: python -m estimator_bridge audit PATH [options]."""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

from estimator_bridge.command_line.commands import Parser
from estimator_bridge.errors import BridgeError
from estimator_bridge.loadable.models import find_models, kind_of
from estimator_bridge.output.logs import set_verbosity
from estimator_bridge.output.terminal import (
    describe_progress,
    escape_lines,
    find_width,
    fit,
    fit_live,
)
from estimator_bridge.processor import count_cores

from ..user_files import notebook_cells
from . import html, text
from .report import Report, audit, to_json

__all__ = ["main"]

_FAIL_ON = ("never", "edits", "tf1", "any")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m estimator_bridge audit",
        description="Lists every use of tf.estimator, tf.contrib, feature columns, TensorFlow 1 "
        "and private modules in a code base without running it; reports which uses run on today's "
        "TensorFlow, and how to replace the others.",
    )
    parser.add_argument(
        "path", metavar="PATH", help="a folder, a Python file, a notebook or a model"
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="audit the SavedModels, checkpoints, Transform graphs and frozen graphs below PATH; "
        "the default if PATH is a model or has no Python files",
    )
    parser.add_argument("--format", choices=("text", "json", "html"), default="text")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write to this new file instead of the terminal",
    )
    parser.add_argument(
        "--fail_on", "--fail-on", choices=_FAIL_ON, default="never",
        help="exit with status 1 if a program needs edits (edits), if anything needs --tf1 or "
        "edits (tf1), or if anything is found (any); for models, if the newest TensorFlow does not "
        "load one",
    )  # fmt: skip
    return parser


class _Progress:
    """Reports progress on stderr: one updated line on a terminal, else a line every 2 seconds."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._written = self._started
        self._what, self._began = "", self._started
        self._width = 0

    def __call__(self, what: str, done: int, of: int) -> None:
        now, columns = time.monotonic(), find_width(sys.stderr)
        if what != self._what:
            self._what, self._began = what, now
        if now - self._written < (0.1 if columns is not None else 2.0):
            return
        self._written = now
        line = f"audit: {what}"
        if done and now > self._began:
            line = describe_progress(line, done, of, "files", now - self._began)
        if columns is not None:
            line = fit_live(line, columns)
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Removes the line of a terminal."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0

    def end(self, report: Report) -> None:
        """Prints the last line, with the number of files and the time.

        Args:
          report: the report.
        """
        secs = time.monotonic() - self._started
        files = "1 file" if report.num_files == 1 else f"{report.num_files:,} files"
        line = f"audit: {files} read in {secs:.1f} s"
        print(fit(line, find_width(sys.stderr)), file=sys.stderr, flush=True)


def _checked(path: str) -> str:
    if not os.path.exists(path):
        raise BridgeError(f"audit: no such file or folder: {path}")
    if os.path.isfile(path) and not path.endswith((".py", notebook_cells.SUFFIX)):
        raise BridgeError(f"audit: {path} is neither a folder, a .py or .ipynb file, nor a model")
    if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
        raise BridgeError(f"audit: {path} cannot be read: no permission")
    return path


def _failed(report: Report, fail_on: str) -> bool:
    verdicts = {entry.verdict for entry in report.entries}
    runs = {finding.symbol.runs for finding in report.findings if not finding.guarded}
    if fail_on == "edits":
        return bool(verdicts & {"edits", "port"})
    if fail_on == "tf1":
        return bool(verdicts & {"--tf1", "edits", "port"} or runs & {"--tf1", "no"})
    return fail_on == "any" and bool(report.findings)


def _write(lines: Iterable[str], output: Optional[str]) -> None:
    # Names of files need not be UTF-8.
    lines = (line.encode(errors="backslashreplace").decode() for line in lines)
    if output is None:
        for line in lines:
            print(line)
        sys.stdout.flush()
        return
    try:
        file = open(output, "x", encoding="utf-8")  # noqa: SIM115
        try:
            with file:
                file.writelines(line + "\n" for line in lines)
        except BaseException:
            os.remove(output)
            raise
    except FileExistsError:
        raise BridgeError(
            f"audit: --output={output} exists already; name another file or remove it"
        ) from None
    except OSError as error:
        raise BridgeError(f"audit: --output={output} cannot be written: {error.strerror}") from None


def _audit_models(options: argparse.Namespace) -> int:
    """Audits the models at or below a path; returns the exit status."""
    # Imported here: code is audited without TensorFlow.
    from ..downgrade.operations import known_versions
    from . import models

    if options.format == "html":
        raise BridgeError("audit: models are reported with --format=text or --format=json")
    found = find_models(Path(options.path))
    if not found:
        raise BridgeError(f"audit: no .py or .ipynb file and no model below {options.path}")
    set_verbosity("error")
    results = models.audit_models(found)
    if options.format == "json":
        _write([models.to_json(results)], options.output)
    else:
        _write(map(escape_lines, models.render(results)), options.output)
    failed = [one for one in results if known_versions()[-1] not in one.loads]
    return 1 if options.fail_on != "never" and failed else 0


def main(argv: list[str]) -> int:
    """Runs the command.

    Args:
      argv: arguments of the command line.

    Returns:
      The exit status: 0, or 1 if --fail_on applies.

    Raises:
      BridgeError: an argument is invalid; the message is one line.
    """
    options = _parser().parse_args(argv)
    if options.output is not None and os.path.exists(options.output):
        raise BridgeError(
            f"audit: --output={options.output} exists already; name another file or remove it"
        )
    if options.models or kind_of(Path(options.path)) is not None:
        return _audit_models(options)
    path = _checked(options.path)
    progress = _Progress()
    try:
        report = audit(path, progress, processes=min(count_cores(), 32))
    except BaseException:
        progress.clear()
        raise
    progress.clear()
    if not report.num_files:
        return _audit_models(options)
    progress.end(report)
    try:
        if options.format == "json":
            _write([to_json(report)], options.output)
        elif options.format == "html":
            _write([html.render(report)], options.output)
        else:
            width = shutil.get_terminal_size((100, 24)).columns
            _write(map(escape_lines, text.render(report, min(width, 120))), options.output)
    except BrokenPipeError:
        # The reader of the pipe, such as `head`, has exited. Without this line, Python would report
        # the error again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if _failed(report, options.fail_on) else 0
