"""The runs of a pipeline, one line of JSON for each event."""

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


# Kind of event → the types of its values.
_EVENTS: dict[str, dict[str, Any]] = {
    "start": {"file": str, "time": str},
    "step": {"step": str, "key": str, "status": int},
    "end": {"step": str, "status": int, "time": str, "secs": (int, float)},
}


class Done(NamedTuple):
    """A step that has ended.

    Attributes:
        key: of its flags, inputs and versions.
        status: exit status.
        inputs: path → fingerprint.
    """

    key: str
    status: int
    inputs: dict[str, str]


class History:
    """The events of a pipeline.

    Args:
        folder: of the pipeline; created if there is none.

    Raises:
        UserError: the folder cannot be used.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._path = folder / EVENTS
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"folder {folder}: {error.strerror}; name another one") from error

    @contextmanager
    def lock(self) -> Iterator[BinaryIO]:
        """Holds the lock of the folder; a step that outlives this process holds it, too.

        Yields:
            The locked file, which steps inherit.

        Raises:
            TemporaryError: another run holds it.
        """
        with (self._folder / LOCK).open("ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TemporaryError(
                    f"{self._folder}: a run of this pipeline, or a step of a run that was killed, "
                    "has not ended; wait for it"
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
        """Returns the events; a line that a crash has torn is left out."""
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
        """Returns how a step ended the last time that it was run; None: never.

        Args:
            step: its name.
        """
        for event in reversed(self.read()):
            if event["event"] == "step" and event.get("step") == step and not event.get("skipped"):
                return Done(event["key"], event["status"], event.get("inputs", {}))
        return None

    def describe(self) -> str:
        """Returns one line for each version of the file: last run, mean duration, failures."""
        runs: dict[str, list[dict[str, Any]]] = {}
        for event in self.read():
            if event["event"] == "start":
                runs.setdefault(event["file"], []).append({"start": event["time"]})
                current = runs[event["file"]][-1]
            elif event["event"] == "end" and runs:
                current.update(event)
        return "\n".join(_describe_runs(name, found) for name, found in runs.items()) or "no runs"


def _is_event(value: Any) -> bool:
    """Returns whether a value has what is read of an event."""
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
    state = "did not end"
    if "status" in last:
        state = f"ended with {last['status']} at {last['step']}" if last["status"] else "ended well"
    mean = f"mean {sum(whole) / len(whole):.1f} s" if whole else "none ended well"
    return (
        f"version {fingerprint[:12]}: {len(runs)} runs, {mean}, {len(failed) / len(runs):.0%} "
        f"failed; last {last['start']}, {state}"
    )
