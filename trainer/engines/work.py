"""Work on the pieces of some data, which any engine can run: each piece alone, then merged."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Optional, Protocol, TypeVar, Union, cast

from trainer import storage
from trainer.console import Console
from trainer.errors import TemporaryError, UserError, redact_data, redacts_data
from trainer.passes.contract import Pass, Piece, add_piece

Task = TypeVar("Task", contravariant=True)
Result = TypeVar("Result")
Found = TypeVar("Found", covariant=True)


class Tasks(Protocol[Task, Found]):
    """Work that consists of tasks; it can be pickled."""

    def run(self, task: Task) -> Found:
        """Returns the result of a task.

        Args:
            task: one of them.

        Raises:
            UserError: the work as a whole has failed.
            TemporaryError: the task may succeed if it is run again.
        """


class Work(Tasks[Task, Result], Protocol[Task, Result]):
    """Work whose results can be merged."""

    def merge(self, first: Result, second: Result) -> Result:
        """Returns the result of two groups of tasks.

        Args:
            first: of one group; may be changed.
            second: of the other.
        """


class PassWork(Generic[Result]):
    """A pass over files; a task is some files, or a share of one.

    Args:
        one: the pass.
    """

    def __init__(self, one: Pass[Result]):
        self._pass = one

    def run(self, task: Sequence[Piece]) -> Result:
        """Returns the partial result of some files.

        Args:
            task: the files.

        Raises:
            UserError: a file cannot be read.
        """
        partial = self._pass.create()
        for piece in task:
            add_piece(self._pass, partial, piece)
        return partial

    def merge(self, first: Result, second: Result) -> Result:
        """Returns the partial result of the files of two results.

        Args:
            first: may be changed.
            second: of other files.
        """
        self._pass.merge(first, second)
        return first


class Together:
    """Several kinds of work in one; a task is the name of a kind and one of its tasks.

    Args:
        works: name → work.
    """

    def __init__(self, works: Mapping[str, Work[Any, Any]]):
        self._works = works

    def run(self, task: tuple[str, Any]) -> dict[str, Any]:
        """Returns the name of a task's work → its result.

        Args:
            task: name, and task of that work.

        Raises:
            UserError: the work has failed.
        """
        name, one = task
        return {name: self._works[name].run(one)}

    def merge(self, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
        """Returns the results of two groups of tasks.

        Args:
            first: of one group; may be changed.
            second: of the other.
        """
        for name, result in second.items():
            first[name] = self._works[name].merge(first[name], result) if name in first else result
        return first


class Failure(NamedTuple):
    """Why the work has failed; engines would run a task that raises an error again.

    Attributes:
        message: of the UserError.
    """

    message: str


QUIET = Console(quiet=True)
Outcome = Union[Failure, Any]


class Job(NamedTuple):
    """Work, and what this process does otherwise than others would.

    Attributes:
        work: the work.
        redacts: whether messages show no values of the data.
        settings: how gs:// data are accessed.
        folder: in which relative paths are, if a worker has that folder.
        finish: is given the result of all tasks when all have succeeded; may run again.
        begin: runs before the first task of a pipeline that is only written; may run again.
    """

    work: Union[Work[Any, Any], Tasks[Any, Any]]
    redacts: bool
    settings: storage.Settings
    folder: str
    finish: Optional[Callable[[Any], None]] = None
    begin: Optional[Callable[[], None]] = None

    def start(self) -> None:
        """Begins the work.

        Raises:
            UserError: it cannot begin.
            TemporaryError: the engine may try again.
        """
        self._settle()
        if self.begin is not None:
            self.begin()

    def perform(self, task: Any) -> Outcome:
        """Returns the result of a task, or why the work has failed.

        Args:
            task: one of its tasks.

        Raises:
            TemporaryError: the engine may run the task again.
        """
        return self._run(self.work.run, task)

    def complete(self, outcome: Outcome) -> Outcome:
        """Returns the outcome of all tasks when the work is complete.

        Args:
            outcome: the same.

        Raises:
            TemporaryError: the engine may try again.
        """
        if self.finish is None or isinstance(outcome, Failure):
            return outcome
        failed = self._run(self.finish, outcome)
        return outcome if failed is None else failed

    def _settle(self) -> None:
        redact_data(self.redacts)
        storage.configure(self.settings, QUIET)
        if os.path.isdir(self.folder):
            os.chdir(self.folder)

    def _run(self, function: Callable[[Any], Any], argument: Any) -> Outcome:
        self._settle()
        try:
            return function(argument)
        except TemporaryError:
            raise
        except UserError as error:
            return Failure(str(error))

    def combine(self, outcomes: Sequence[Outcome]) -> Outcome:
        """Returns the outcome of several groups of tasks.

        Args:
            outcomes: at least one.
        """
        first = outcomes[0]
        for second in outcomes[1:]:
            if isinstance(first, Failure):
                return first
            first = second if isinstance(second, Failure) else self._merge(first, second)
        return first

    def _merge(self, first: Any, second: Any) -> Outcome:
        try:
            return cast(Work[Any, Any], self.work).merge(first, second)
        except UserError as error:
            return Failure(str(error))


def raise_temporary(error: Exception) -> None:
    """Raises the TemporaryError of a task that has made an engine fail, if there is one.

    Args:
        error: of the engine; its text contains the errors of the tasks.

    Raises:
        TemporaryError: a task has raised one.
    """
    found = re.search(r"TemporaryError: (.*)", str(error))
    if found:
        raise TemporaryError(found[1][:300]) from error


def start_job(
    work: Union[Work[Any, Any], Tasks[Any, Any]],
    finish: Optional[Callable[[Any], None]] = None,
    begin: Optional[Callable[[], None]] = None,
) -> Job:
    """Returns work that other processes do as this one would.

    Args:
        work: the work.
        finish: is given the result of all tasks; can be pickled.
        begin: runs before the first task; can be pickled.
    """
    return Job(work, redacts_data(), storage.current_settings(), os.getcwd(), finish, begin)


def open_outcome(work: Tasks[Any, Result], outcome: Outcome) -> Result:
    """Returns the result of one task, or of all.

    Args:
        work: the work.
        outcome: of one of its tasks, or of all.

    Raises:
        UserError: the work has failed.
    """
    if isinstance(outcome, Failure):
        raise UserError(outcome.message)
    return cast(Result, outcome)
