"""The history of a pipeline's runs, as one line of JSON for each event."""

import datetime
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from trainer.errors import TemporaryError, UserError
from trainer.storage.files import append_lines

EVENTS, LOCK = "runs.jsonl", ".run.lock"


# Kind of event → required field → type.
_EVENTS: dict[str, dict[str, Any]] = {
    "start": {"file": str, "time": str},
    "step": {"step": str, "key": str, "status": int},
    "end": {"step": str, "status": int, "time": str, "secs": (int, float)},
}


class Done(NamedTuple):
    """How a step ended.

    Attributes:
        key: key of the step's flags, inputs and versions.
        status: exit status of the step.
        inputs: path → fingerprint.
    """

    key: str
    status: int
    inputs: dict[str, str]


class History:
    """The events of a pipeline.

    Args:
        folder: folder of the pipeline; it is created if it does not exist.

    Raises:
        UserError: the folder cannot be used.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._path = folder / EVENTS
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"folder {folder}: {error.strerror}; name another folder") from error

    @contextmanager
    def lock(self) -> Iterator[BinaryIO]:
        """Holds the lock of the folder while a `with` statement runs.

        Steps inherit the lock, so a step that outlives this process still holds it.

        Yields:
            The locked file, which steps inherit.

        Raises:
            TemporaryError: another run holds the lock.
        """
        with (self._folder / LOCK).open("ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TemporaryError(
                    f"{self._folder}: another run of this pipeline, or a step of a run that was "
                    "killed, is still running; wait until it ends"
                ) from error
            yield stream

    def add(self, event: str, **values: Any) -> None:
        """Adds an event.

        Args:
            event: start, step or end.
            **values: its content.
        """
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        append_lines(self._path, [json.dumps({"event": event, "time": now, **values})])

    def read(self) -> list[dict[str, Any]]:
        """Returns the events; incomplete lines, which a crash can leave, are ignored."""
        if not self._path.is_file():
            return []
        events = []
        for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if _is_event(value):
                events.append(value)
        return events

    def find_last(self, step: str) -> Optional[Done]:
        """Returns how the last run of a step ended; None if it has never run.

        Args:
            step: name of the step.
        """
        for event in reversed(self.read()):
            if event["event"] == "step" and event.get("step") == step and not event.get("skipped"):
                return Done(event["key"], event["status"], event.get("inputs", {}))
        return None

    def describe(self) -> str:
        """Returns a line for each version of the pipeline file: runs, mean duration, failures."""
        runs: dict[str, list[dict[str, Any]]] = {}
        for event in self.read():
            if event["event"] == "start":
                runs.setdefault(event["file"], []).append({"start": event["time"]})
                current = runs[event["file"]][-1]
            elif event["event"] == "end" and runs:
                current.update(event)
        return "\n".join(_describe_runs(name, found) for name, found in runs.items()) or "no runs"


def _is_event(value: Any) -> bool:
    """Returns whether a value has the fields of an event that are used here."""
    if not isinstance(value, dict):
        return False
    wanted = _EVENTS.get(str(value.get("event")))
    if wanted is None or not isinstance(value.get("inputs", {}), dict):
        return False
    return all(isinstance(value.get(name), kind) for name, kind in wanted.items())


def _describe_runs(fingerprint: str, runs: list[dict[str, Any]]) -> str:
    failed = [run for run in runs if run.get("status") != 0]
    whole = [run["secs"] for run in runs if run.get("status") == 0]
    last = runs[-1]
    state = "not finished"
    if "status" in last:
        state = (
            f"step {last['step']} ended with {last['status']}" if last["status"] else "succeeded"
        )
    mean = f"mean {sum(whole) / len(whole):.1f} s" if whole else "none succeeded"
    return (
        f"version {fingerprint[:12]}: {len(runs)} runs, {mean}, {len(failed) / len(runs):.0%} "
        f"failed; last {last['start']}, {state}"
    )
