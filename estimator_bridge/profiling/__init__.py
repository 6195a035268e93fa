"""Measures and reports where the time of a program's sessions goes: `run --profile`."""

import contextlib
import sys
from collections.abc import Iterator

from ..output import terminal
from . import recording, report

__all__ = ["report_at_end"]


@contextlib.contextmanager
def report_at_end() -> Iterator[None]:
    """Measures the sessions of a program, and prints the report on stderr when it ends.

    A program that ends with an error before its first session run gets no report.
    """
    recorder = recording.Recorder()
    recorder.attach()
    failed = True
    try:
        yield
        failed = False
    finally:
        if recorder.first_run is not None or not failed:
            text = "\n".join(report.format_report(recorder))
            print(f"estimator_bridge: {terminal.escape_lines(text)}", file=sys.stderr)
