"""The state of a watch: one SQLite file, which is changed only by complete transactions.

The sketches of a log file, and the position up to which it was read, are committed together. If a
watch is killed, its last transaction is rolled back when the state is opened again, so no row is
lost or counted twice. The same transaction notes what the run still has to do with the rows: which
of them to predict again, and what to tell about them. Predictions and labels are joined inside the
file by a hash of the key. The key itself is not stored.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from trainer.watching.database import Database
from trainer.watching.sketches import Sketch

# Maximum number of predictions of a period for its metrics; if there are more, a random sample.
MAX_ANSWERS = 200_000
DAY_SECS = 86_400
# Earlier versions also noted files of labels in the table of files.
_REQUESTS = "requests"
SketchKey = tuple[int, str, str]


class Seen(NamedTuple):
    """A file of requests that was read.

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


class Content(NamedTuple):
    """What a file contained when it was read.

    Attributes:
        length: number of bytes, without compression.
        digest: their hash.
    """

    length: int
    digest: str


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


def find_latest_time() -> float:
    """Returns the latest time that a served row can have: in a day, since clocks differ."""
    return time.time() + DAY_SECS


def hash_key(key: Any) -> bytes:
    """Returns the hash of a key, which is stored in its place.

    Args:
        key: number or text; 1 and "1" are the same key.
    """
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    return hashlib.blake2b(str(key).encode(), digest_size=16).digest()


def _find_last_period() -> int:
    return int(find_latest_time() // DAY_SECS)


class State(Database):
    """The state of a watch.

    Args:
        path: path of the file; it is created if it does not exist.
        facts: settings of the state: model, period, slices. They must not change.

    Raises:
        UserError: the file is damaged, or was created with other settings.
        TemporaryError: another process writes it.
    """

    def find_file(self, path: str) -> Optional[Seen]:
        """Returns how far a file of requests has been read; None if it has not been read.

        Args:
            path: path of the file, as it is listed.
        """
        found = self._database.execute(
            "SELECT mark, records, rows, skipped, tail FROM files WHERE path = ? AND kind = ?",
            (path, _REQUESTS),
        ).fetchone()
        return Seen(*found) if found else None

    def list_files(self) -> dict[str, Seen]:
        """Returns path → how far each file of requests has been read."""
        found = self._database.execute(
            "SELECT path, mark, records, rows, skipped, tail FROM files WHERE kind = ?",
            (_REQUESTS,),
        )
        return {path: Seen(*rest) for path, *rest in found}

    def note_file(self, path: str, seen: Seen, content: Optional[Content]) -> None:
        """Records how far a file of requests has been read.

        Args:
            path: path of the file, as it is listed.
            seen: how far it has been read.
            content: what it contained; None if unknown.
        """
        self._database.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", (path, _REQUESTS, *seen)
        )
        if content is not None:
            self._database.execute(
                "INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", (path, *content)
            )

    def list_contents(self) -> dict[str, Content]:
        """Returns path → what each file of requests contained when it was read, if known."""
        found = self._database.execute("SELECT path, length, digest FROM contents")
        return {path: Content(*rest) for path, *rest in found}

    def move_files(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Records the new paths of files of requests.

        Args:
            moves: path → new path, which may be the old path of another file, and mark.
        """
        # Two steps, because logs move in chains: a to b, b to c.
        steps = [(path, f"\n{place}", mark) for path, (place, mark) in moves.items()]
        for before, after, mark in [*steps, *((one, one[1:], mark) for _, one, mark in steps)]:
            for table in ("files", "parts", "contents"):
                statement = f"UPDATE OR REPLACE {table} SET path = ? WHERE path = ?"  # noqa: S608
                self._database.execute(statement, (after, before))
            self._database.execute("UPDATE files SET mark = ? WHERE path = ?", (mark, after))

    def find_labels(self, path: str) -> str:
        """Returns the mark of a file of labels when it was read; "" if it has not been read.

        Args:
            path: path of the file, as it is listed.
        """
        statement = "SELECT mark FROM label_files WHERE path = ?"
        found = self._database.execute(statement, (path,)).fetchone()
        return str(found[0]) if found else ""

    def note_labels(self, path: str, mark: str) -> None:
        """Records that a file of labels has been read; it may be a file of requests, too.

        Args:
            path: path of the file, as it is listed.
            mark: mark of its content, see LogFile.
        """
        self._database.execute("INSERT OR REPLACE INTO label_files VALUES (?, ?)", (path, mark))

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

    def list_periods(self) -> list[int]:
        """Returns the periods with rows, ascending, without those of the future."""
        found = self._database.execute(
            "SELECT DISTINCT period FROM sketches WHERE period <= ? ORDER BY period",
            (_find_last_period(),),
        )
        return [period for (period,) in found]

    def find_future(self) -> Optional[int]:
        """Returns the first period of the future, which an earlier version stored; None if none."""
        found = self._database.execute(
            "SELECT MIN(period) FROM sketches WHERE period > ?", (_find_last_period(),)
        ).fetchone()
        return None if found[0] is None else int(found[0])

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
        """Returns period → (number of predictions with a key, number of those with a label).

        Periods of the future are left out.
        """
        found = self._database.execute(
            "SELECT period, COUNT(*), COUNT(label) FROM answers LEFT JOIN labels USING (key) "
            "WHERE period <= ? GROUP BY period",
            (_find_last_period(),),
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
