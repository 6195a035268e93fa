"""The state of a watch: one SQLite file, which is changed only by complete transactions.

The sketches of a log file, and the position up to which it was read, are committed together. If a
watch is killed, its last transaction is rolled back when the state is opened again, so no row is
lost or counted twice. Predictions and labels are joined inside the file by a hash of the key. The
key itself is not stored.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from trainer.errors import TemporaryError, UserError
from trainer.watching.sketches import Sketch

FORMAT = 1
NAME = "watch.sqlite"
# Maximum number of predictions of a period for its metrics; if there are more, a random sample.
MAX_ANSWERS = 200_000
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files (path TEXT PRIMARY KEY, kind TEXT, mark TEXT, records INTEGER, rows INTEGER,
  skipped INTEGER, tail TEXT) WITHOUT ROWID;
CREATE TABLE sketches (period INTEGER, slice TEXT, name TEXT, value TEXT,
  PRIMARY KEY (period, slice, name)) WITHOUT ROWID;
CREATE TABLE answers (key BLOB PRIMARY KEY, period INTEGER, slices TEXT, score TEXT, version TEXT,
  unit BLOB)
  WITHOUT ROWID;
CREATE INDEX answers_by_period ON answers (period, key);
CREATE TABLE labels (key BLOB PRIMARY KEY, label REAL) WITHOUT ROWID;
"""

SketchKey = tuple[int, str, str]


class Seen(NamedTuple):
    """A file that was read.

    Attributes:
        mark: mark of its content, see LogFile.
        records: number of records that were read.
        rows: number of rows in these records.
        skipped: number of records without a row.
        tail: why reading stopped before the end of the file; "" if it did not.
    """

    mark: str
    records: int
    rows: int
    skipped: int
    tail: str


class Answer(NamedTuple):
    """A logged prediction, stored until its label arrives.

    Attributes:
        key: hash from hash_key.
        period: period of the request.
        slices: names of the slices that the row belongs to.
        score: number, or one number for each class.
        version: version of the model.
        unit: hash from hash_key of the unit that is assigned to a version, such as a user.
    """

    key: bytes
    period: int
    slices: Sequence[str]
    score: Any
    version: str
    unit: bytes


def hash_key(key: Any) -> bytes:
    """Returns the hash of a key, which is stored in its place.

    Args:
        key: number or text; 1 and "1" are the same key.
    """
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    return hashlib.blake2b(str(key).encode(), digest_size=16).digest()


class State:
    """The state of a watch.

    Args:
        path: path of the file; it is created if it does not exist.
        facts: settings of the state: model, period, slices. They must not change.

    Raises:
        UserError: the file is damaged, or was created with other settings.
        TemporaryError: another process writes it.
    """

    def __init__(self, path: Path, facts: dict[str, str]):
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"--state={path.parent}: {error.strerror}; name another folder"
            ) from error
        with self._explained():
            # Transactions are begun and committed by name.
            self._database = sqlite3.connect(path, timeout=5, isolation_level=None)
            self._database.execute("PRAGMA synchronous = FULL")
            with self.transaction():
                self._prepare({"format": str(FORMAT), **facts})

    def _prepare(self, facts: dict[str, str]) -> None:
        found = self._database.execute("SELECT name FROM sqlite_master").fetchall()
        if not found:
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            self._database.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
            return
        stored = dict(self._database.execute("SELECT name, value FROM facts"))
        for name, value in facts.items():
            if stored.get(name) != value:
                raise UserError(
                    f"--state={self._path.parent}: was created for {name} "
                    f"{stored.get(name)!r:.100}, not {value!r:.100}; name another folder"
                )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise TemporaryError(
                    f"--state={self._path.parent}: another trainer.watch writes to it; wait for it"
                ) from error
            raise UserError(f"--state={self._path.parent}: {error}; check the folder") from error
        except sqlite3.DatabaseError as error:
            raise UserError(
                f"--state={self._path.parent}: {NAME} is damaged ({error}); remove this file, and "
                "all logs are read again"
            ) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Applies all changes of a `with` statement as one transaction.

        Raises:
            TemporaryError: another process writes the state.
        """
        with self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def __enter__(self) -> "State":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def find_file(self, path: str) -> Optional[Seen]:
        """Returns how far a file has been read; None if it has not been read.

        Args:
            path: path of the file, as it is listed.
        """
        found = self._database.execute(
            "SELECT mark, records, rows, skipped, tail FROM files WHERE path = ?", (path,)
        ).fetchone()
        return Seen(*found) if found else None

    def list_files(self, kind: str) -> dict[str, Seen]:
        """Returns path → how far each file has been read.

        Args:
            kind: requests or labels.
        """
        found = self._database.execute(
            "SELECT path, mark, records, rows, skipped, tail FROM files WHERE kind = ?", (kind,)
        )
        return {path: Seen(*rest) for path, *rest in found}

    def note_file(self, path: str, kind: str, seen: Seen) -> None:
        """Records how far a file has been read.

        Args:
            path: path of the file, as it is listed.
            kind: requests or labels.
            seen: how far it has been read.
        """
        self._database.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", (path, kind, *seen)
        )

    def add_sketches(self, sketches: dict[SketchKey, Sketch]) -> None:
        """Adds sketches to those of earlier rows.

        Args:
            sketches: (period, slice, name) → sketch.
        """
        for key, sketch in sketches.items():
            found = self._database.execute(
                "SELECT value FROM sketches WHERE period = ? AND slice = ? AND name = ?", key
            ).fetchone()
            if found:
                sketch = Sketch(*json.loads(found[0])) + sketch
            self._database.execute(
                "INSERT OR REPLACE INTO sketches VALUES (?, ?, ?, ?)", (*key, json.dumps(sketch))
            )

    def read_note(self, name: str) -> Any:
        """Returns the value that write_note stored; None if there is none.

        Args:
            name: name of the note.
        """
        found = self._database.execute(
            "SELECT value FROM facts WHERE name = ?", (f"note {name}",)
        ).fetchone()
        return json.loads(found[0]) if found else None

    def write_note(self, name: str, value: Any) -> None:
        """Stores a value for later runs.

        Args:
            name: name of the note.
            value: a value of JSON.
        """
        with self.transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", (f"note {name}", json.dumps(value))
            )

    def list_periods(self) -> list[int]:
        """Returns the periods with rows, ascending."""
        found = self._database.execute("SELECT DISTINCT period FROM sketches ORDER BY period")
        return [period for (period,) in found]

    def list_slices(self) -> list[str]:
        """Returns the slices that have rows; the first is "", which stands for all rows."""
        found = self._database.execute("SELECT DISTINCT slice FROM sketches ORDER BY slice")
        return [name for (name,) in found]

    def read_sketches(self, period: int) -> dict[tuple[str, str], Sketch]:
        """Returns (slice, name) → sketch of a period.

        Args:
            period: the period.
        """
        found = self._database.execute(
            "SELECT slice, name, value FROM sketches WHERE period = ?", (period,)
        )
        return {(slice_, name): Sketch(*json.loads(value)) for slice_, name, value in found}

    def add_answers(self, answers: Iterable[Answer]) -> None:
        """Stores predictions until their labels arrive; for equal keys, the last one counts.

        Args:
            answers: predictions in the order of the log.
        """
        self._database.executemany(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)",
            (
                one._replace(slices=json.dumps(one.slices), score=json.dumps(one.score))
                for one in answers
            ),
        )

    def add_labels(self, labels: Iterable[tuple[bytes, float]]) -> None:
        """Stores labels, including those whose predictions have not been read yet.

        Args:
            labels: (key from hash_key, class id or number); for equal keys, the last one counts.
        """
        self._database.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?)", labels)

    def has_label(self, key: bytes) -> bool:
        """Returns whether the label of a key is stored.

        Args:
            key: hash from hash_key.
        """
        found = self._database.execute("SELECT 1 FROM labels WHERE key = ?", (key,)).fetchone()
        return found is not None

    def count_labels(self) -> dict[int, tuple[int, int]]:
        """Returns period → (number of predictions with a key, number of those with a label)."""
        found = self._database.execute(
            "SELECT period, COUNT(*), COUNT(label) FROM answers LEFT JOIN labels USING (key) "
            "GROUP BY period"
        )
        return {period: (answers, labels) for period, answers, labels in found}

    def read_labelled(
        self, period: int, most: int = MAX_ANSWERS
    ) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
        """Returns labels, scores and slices of the labelled predictions of a period.

        Args:
            period: the period.
            most: maximum number; if there are more, a random sample, because the keys are hashes.
        """
        found = self._database.execute(
            "SELECT label, score, slices FROM answers JOIN labels USING (key) "
            "WHERE period = ? AND label IS NOT NULL ORDER BY key LIMIT ?",
            (period, most),
        ).fetchall()
        labels = np.array([label for label, *_ in found], np.float64)
        scores = np.array([json.loads(score) for _, score, _ in found], np.float64)
        return labels, scores, [json.loads(slices) for *_, slices in found]

    def read_outcomes(
        self, versions: Sequence[str]
    ) -> Iterator[tuple[bytes, str, np.ndarray, float]]:
        """Yields unit, version, score and label of the labelled predictions, unit by unit.

        Args:
            versions: two versions of the model.
        """
        found = self._database.execute(
            "SELECT unit, version, score, label FROM answers JOIN labels USING (key) "
            "WHERE version IN (?, ?) ORDER BY unit",
            tuple(versions),
        )
        for unit, version, score, label in found:
            yield unit, version, np.array(json.loads(score), np.float64), label

    def forget(self, before: int) -> None:
        """Removes the predictions of old periods and their labels.

        Args:
            before: first period that is kept.
        """
        old = "SELECT key FROM answers WHERE period < ?"
        self._database.execute(f"DELETE FROM labels WHERE key IN ({old})", (before,))  # noqa: S608
        self._database.execute("DELETE FROM answers WHERE period < ?", (before,))
