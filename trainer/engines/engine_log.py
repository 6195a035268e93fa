"""Keeps the output of Beam and Spark in a file, and reports their failures in one line."""

import atexit
import contextlib
import functools
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Optional, Union

from trainer.errors import TemporaryError, UserError

# A line that names an exception; lines that do not tell why Java has ended; the reason why Spark
# has given up a cluster.
_CAUSE = re.compile(
    r"\s*(Caused by: |Exception in thread \"[^\"]*\" |: )?"
    r"([\w$]+(?:\.[\w$]+)*(?:Error|Exception): .*)"
)
_NOISE = re.compile(r"at |WARNING: |Using |Setting |To adjust |\S+ \S+ (WARN|INFO) |Picked up ")
_GIVEN_UP = re.compile(r"Application has been killed\. Reason: (.*)")
# Text in Beam's log or error message when a worker process on this machine has ended.
_ENDED = re.compile(r"Worker subprocess exited with return code (\d+)|Channel closed prematurely")
_MAX_LENGTH = 300

# Log files that a message names. They are not deleted.
_kept: set[Path] = set()


@functools.cache
def open_log(engine: str) -> Path:
    """Returns the file for the output of an engine.

    It is deleted at the end unless a message names it. There is one file for each process, because
    all Spark sessions of a process use the same Java process.

    Args:
        engine: beam or spark.
    """
    descriptor, name = tempfile.mkstemp(prefix=f"estimator-trainer-{engine}-", suffix=".log")
    os.close(descriptor)
    atexit.register(_remove, Path(name))
    return Path(name)


def _remove(log: Path) -> None:
    if log not in _kept:
        log.unlink(missing_ok=True)


@contextlib.contextmanager
def redirect_output(log: Optional[Path]) -> Iterator[None]:
    """Redirects the output of programs that are started while a `with` statement runs.

    Args:
        log: the file to which these programs write, as long as they run; None: no redirection.
    """
    if log is None:
        yield
        return
    streams = {1: sys.stdout, 2: sys.stderr}
    own = {number: os.dup(number) for number in streams}
    try:
        with log.open("ab") as file:
            for number, stream in streams.items():
                stream.flush()
                os.dup2(file.fileno(), number)
        yield
    finally:
        for number, stream in streams.items():
            stream.flush()
            os.dup2(own[number], number)
            os.close(own[number])


def _read(log: Optional[Path], whose: str) -> tuple[str, str]:
    """Returns the content of a log and a phrase that names it, and keeps the log."""
    written = "" if log is None else log.read_text(errors="replace")
    if log is None or not written:
        return "", ""
    _kept.add(log)
    return written, f" ({whose} messages are in {log})"


def explain_beam(error: Exception, log: Optional[Path]) -> Union[UserError, TemporaryError]:
    """Returns the error to raise in place of an error of Beam.

    Args:
        error: the error of the runner.
        log: output of the runner and the workers; None: it was not kept.
    """
    written, where = _read(log, "Beam's")
    ended = _ENDED.search(f"{written}\n{error}")
    if ended:
        status = f" (status {ended[1]})" if ended[1] else ""
        return TemporaryError(
            f"--engine=beam: a worker process ended unexpectedly{status}, perhaps for lack of "
            f"memory; repeat the command, or use fewer workers{where}"
        )
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = (lines[-1] if lines else type(error).__name__)[:_MAX_LENGTH]
    return UserError(f"--engine=beam: the pipeline failed: {reason}; check --beam_options{where}")


def explain_spark(error: Exception, log: Optional[Path]) -> Union[UserError, TemporaryError]:
    """Returns the error to raise in place of an error of Spark.

    Args:
        error: the error of PySpark.
        log: output of Java; None: it was not kept.
    """
    written, where = _read(log, "Java's")
    given_up = _GIVEN_UP.search(written)
    if given_up:
        return TemporaryError(
            f"--spark_options: the cluster does not respond: {given_up[1].rstrip('. !')}; check "
            f"the address, or try again later{where}"
        )
    reason = find_reason(*_list_texts(error)) or type(error).__name__
    if "JAVA_GATEWAY_EXITED" in reason:
        reason = ": ".join(filter(None, ["Java ended at its start", find_reason(written)]))
    return UserError(
        f"--engine=spark: the job failed: {reason[:_MAX_LENGTH]}; check --spark_options{where}"
    )


def _list_texts(error: Optional[BaseException]) -> Iterator[str]:
    """Yields the texts of an error and of its causes, which PySpark does not show."""
    while error is not None:
        yield str(error)
        error = getattr(error, "_cause", None)


def find_reason(*texts: str) -> str:
    """Returns the line that describes the error.

    Args:
        texts: stack traces or output of Java; each text is the cause of the one before.
    """
    causes = [found[2] for found in map(_CAUSE.match, "\n".join(texts).splitlines()) if found]
    lines = [line.strip() for line in texts[-1].splitlines() if line.strip()]
    told = [line for line in lines if not _NOISE.match(line)]
    return causes[-1] if causes else "; ".join(told[:2])
