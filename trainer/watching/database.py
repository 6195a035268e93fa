"""The SQLite file of a watch: its tables, transactions, and what is left to do for later runs."""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from trainer.errors import TemporaryError, UserError

FORMAT = 1
NAME = "watch.sqlite"
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
# Tables that the states of earlier versions lack.
_LATER_TABLES = """
CREATE TABLE IF NOT EXISTS parts (id INTEGER PRIMARY KEY AUTOINCREMENT, purpose TEXT, path TEXT,
  first INTEGER, last INTEGER);
CREATE TABLE IF NOT EXISTS problems (id INTEGER PRIMARY KEY AUTOINCREMENT, problem TEXT);
CREATE TABLE IF NOT EXISTS contents (path TEXT PRIMARY KEY, length INTEGER, digest TEXT)
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS label_files (path TEXT PRIMARY KEY, mark TEXT) WITHOUT ROWID;
"""

_Opened = TypeVar("_Opened", bound="Database")


class Part(NamedTuple):
    """A part of a file that was read, and whose rows are still to be used for a purpose.

    Attributes:
        id: identifies the part in the state.
        path: path of the file, as it is listed.
        first: number of records before the part.
        last: number of records up to its end.
    """

    id: int
    path: str
    first: int
    last: int


class Database:
    """The file of a state: its transactions, and what runs still have to do.

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
            try:
                self._database.execute("PRAGMA synchronous = FULL")
                with self.transaction():
                    self._prepare({"format": str(FORMAT), **facts})
                    for statement in _LATER_TABLES.split(";"):
                        self._database.execute(statement)
            except BaseException:
                self._database.close()
                raise

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
                given = f"{name} {stored.get(name)!r:.100}, not {value!r:.100}"
                if name == "columns":
                    given = "a model that was trained on other data or has other columns"
                raise UserError(
                    f"--state={self._path.parent}: was created for {given}; name another folder"
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

    def __enter__(self: _Opened) -> _Opened:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

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

    def note_part(self, purpose: str, path: str, first: int, last: int) -> None:
        """Records that the rows of a part of a file are still to be used for a purpose.

        Args:
            purpose: name of the purpose.
            path: path of the file, as it is listed.
            first: number of records before the part.
            last: number of records up to its end.
        """
        self._database.execute(
            "INSERT INTO parts (purpose, path, first, last) VALUES (?, ?, ?, ?)",
            (purpose, path, first, last),
        )

    def list_parts(self, purpose: str) -> list[Part]:
        """Returns the parts whose rows are still to be used, in the order of their reading.

        Args:
            purpose: name of the purpose.
        """
        found = self._database.execute(
            "SELECT id, path, first, last FROM parts WHERE purpose = ? ORDER BY id", (purpose,)
        )
        return [Part(*one) for one in found]

    def remove_parts(self, parts: Iterable[Part]) -> None:
        """Records that the rows of parts have been used.

        Args:
            parts: parts that list_parts returned.

        Raises:
            TemporaryError: another process writes the state.
        """
        with self.transaction():
            self._database.executemany(
                "DELETE FROM parts WHERE id = ?", [(one.id,) for one in parts]
            )

    def note_problem(self, problem: str) -> None:
        """Records a problem of rows that were read, until it has been reported.

        Args:
            problem: one line.
        """
        self._database.execute("INSERT INTO problems (problem) VALUES (?)", (problem,))

    def list_problems(self) -> list[str]:
        """Returns the problems that have not been reported, in the order of their reading."""
        found = self._database.execute("SELECT problem FROM problems ORDER BY id")
        return [problem for (problem,) in found]

    def remove_problems(self, problems: Iterable[str]) -> None:
        """Records that problems have been reported.

        Args:
            problems: lines that list_problems returned.

        Raises:
            TemporaryError: another process writes the state.
        """
        with self.transaction():
            self._database.executemany(
                "DELETE FROM problems WHERE problem = ?", [(one,) for one in problems]
            )
