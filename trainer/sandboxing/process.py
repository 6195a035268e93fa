"""Runs the test of an export in a new process, and kills it at a limit of memory or time."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge.command_line.current_folder import list_words

POLL_SECS = 0.05


class Limits(NamedTuple):
    """Limits of the process.

    Attributes:
        memory_mib: limit of the resident memory, MiB.
        secs: limit of the elapsed time, seconds.
    """

    memory_mib: int
    secs: float


class Trial(NamedTuple):
    """The result of a test.

    Attributes:
        failures: a line for each failure.
        latencies: signature, batch, p50_ms and p99_ms of each measurement.
        load_secs: seconds for loading the export; None if it was not loaded.
        peak_mib: peak memory of the process, MiB; None if the process was killed.
        oldest: the oldest TensorFlow that has all operations of the export; None: unknown.
    """

    failures: list[str]
    latencies: list[dict[str, Any]]
    load_secs: Optional[float]
    peak_mib: Optional[int]
    oldest: Optional[str] = None


def run_probe(request: dict[str, Any], limits: Limits) -> Trial:
    """Runs the module probe in a new process.

    Args:
        request: input of `probe.main`: export, schema, statistics, delimiter, warm_up and servers.
        limits: limits of the process.
    """
    process = subprocess.Popen(
        [sys.executable, *list_words("trainer.sandboxing.probe")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    reasons: list[str] = []
    watcher = threading.Thread(target=_watch, args=(process, limits, reasons), daemon=True)
    watcher.start()
    try:
        out, err = process.communicate(json.dumps(request))
    finally:
        if process.poll() is None:
            process.kill()
    watcher.join()
    return _parse(out, err, process.returncode, reasons)


def _watch(process: "subprocess.Popen[str]", limits: Limits, reasons: list[str]) -> None:
    """Kills a process that exceeds a limit, and appends the reason."""
    deadline = time.monotonic() + limits.secs
    while process.poll() is None:
        used = _read_memory(process.pid)
        if used is not None and used > limits.memory_mib:
            reasons.append(
                f"killed at {used:,} MiB of memory, the limit is --memory_mib={limits.memory_mib}"
            )
        elif time.monotonic() > deadline:
            reasons.append(f"killed after the limit of --timeout_secs={limits.secs:g}")
        if reasons:
            process.kill()
            return
        time.sleep(POLL_SECS)


def _read_memory(pid: int) -> Optional[int]:
    """Returns the resident memory in MiB; None if the system does not report it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(lines[0].split()[1]) // 1024 if lines else None


def _parse(out: str, err: str, status: int, reasons: list[str]) -> Trial:
    merged: dict[str, Any] = {}
    failures, latencies = [], []
    for line in out.splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if "failure" in values:
            failures.append(values["failure"])
        if "signature" in values:
            latencies.append(values)
        merged.update(values)
    # If the process ended early, its last lines contain the step that it was in.
    if reasons:
        failures.append(f"{merged.get('trying', 'starting')}: {reasons[0]}")
    elif status != 0:
        last = (err.strip().splitlines() or ["no message"])[-1]
        how = f"signal {-status}" if status < 0 else f"status {status}"
        failures.append(f"{merged.get('trying', 'starting')}: ended with {how}: {last[:200]}")
    return Trial(
        failures, latencies, merged.get("load_secs"), merged.get("peak_mib"), merged.get("oldest")
    )
