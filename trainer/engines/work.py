"""Work that any engine can run: independent tasks, whose results are merged."""

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
    """Work that consists of independent tasks; it can be pickled."""

    def run(self, task: Task) -> Found:
        """Returns the result of a task.

        Args:
            task: the task.

        Raises:
            UserError: the task fails, and with it the whole work.
            TemporaryError: the task may succeed if it is repeated.
        """


class Work(Tasks[Task, Result], Protocol[Task, Result]):
    """Work whose results can be merged."""

    def merge(self, first: Result, second: Result) -> Result:
        """Returns the merged result of two groups of tasks.

        Args:
            first: result of one group; may be modified.
            second: result of the other group.
        """


class PassWork(Generic[Result]):
    """A pass over files; a task is a group of files, or a part of one file.

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
        """Returns the merged partial result of two groups of files.

        Args:
            first: result of one group; may be modified.
            second: result of the other group.
        """
        self._pass.merge(first, second)
        return first


class Together:
    """Several kinds of work in one run; a task is the name of a kind and one of its tasks.

    Args:
        works: name → work.
    """

    def __init__(self, works: Mapping[str, Work[Any, Any]]):
        self._works = works

    def run(self, task: tuple[str, Any]) -> dict[str, Any]:
        """Returns the name of the kind of work → the result of its task.

        Args:
            task: (name of the kind of work, task).

        Raises:
            UserError: the work fails.
        """
        name, one = task
        return {name: self._works[name].run(one)}

    def merge(self, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
        """Returns the merged results of two groups of tasks.

        Args:
            first: results of one group; may be modified.
            second: results of the other group.
        """
        for name, result in second.items():
            first[name] = self._works[name].merge(first[name], result) if name in first else result
        return first


class Failure(NamedTuple):
    """The result of work that failed; if a task raised an error, the engine would repeat the task.

    Attributes:
        message: message of the UserError.
    """

    message: str


QUIET = Console(quiet=True)
Outcome = Union[Failure, Any]


class Job(NamedTuple):
    """Work, and the settings of this process that the workers need.

    Attributes:
        work: the work.
        redacts: whether values of the data are hidden in messages.
        settings: how gs:// data are accessed.
        folder: current folder, to which relative paths refer on workers that have this folder.
        finish: called with the result of all tasks when all have succeeded; may be repeated.
        begin: called before the first task of a pipeline template; may be repeated.
    """

    work: Union[Work[Any, Any], Tasks[Any, Any]]
    redacts: bool
    settings: storage.Settings
    folder: str
    finish: Optional[Callable[[Any], None]] = None
    begin: Optional[Callable[[], None]] = None

    def start(self) -> None:
        """Prepares the work; called before the first task of a pipeline template.

        Raises:
            UserError: the work cannot start.
            TemporaryError: the engine may try again.
        """
        self._settle()
        if self.begin is not None:
            self.begin()

    def perform(self, task: Any) -> Outcome:
        """Runs a task.

        Args:
            task: a task of the work.

        Returns:
            The result of the task, or a Failure.

        Raises:
            TemporaryError: the engine may repeat the task.
        """
        return self._run(self.work.run, task)

    def complete(self, outcome: Outcome) -> Outcome:
        """Calls `finish` with the result of all tasks.

        Args:
            outcome: the merged result, or a Failure.

        Returns:
            The same; a Failure if `finish` fails.

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
        """Returns the merged result of several groups of tasks, or their first Failure.

        Args:
            outcomes: at least one result or Failure.
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
    """Raises the TemporaryError of a task, if it made the engine fail.

    Args:
        error: error of the engine; its text contains the errors of the tasks.

    Raises:
        TemporaryError: a task raised one.
    """
    found = re.search(r"TemporaryError: (.*)", str(error))
    if found:
        raise TemporaryError(found[1][:300]) from error


def start_job(
    work: Union[Work[Any, Any], Tasks[Any, Any]],
    finish: Optional[Callable[[Any], None]] = None,
    begin: Optional[Callable[[], None]] = None,
) -> Job:
    """Returns a job with the settings of this process.

    Args:
        work: the work.
        finish: called with the result of all tasks; can be pickled.
        begin: called before the first task; can be pickled.
    """
    return Job(work, redacts_data(), storage.current_settings(), os.getcwd(), finish, begin)


def open_outcome(work: Tasks[Any, Result], outcome: Outcome) -> Result:
    """Returns a result, or raises the error of a Failure.

    Args:
        work: the work.
        outcome: result of one of its tasks or of all tasks, or a Failure.

    Raises:
        UserError: the outcome is a Failure.
    """
    if isinstance(outcome, Failure):
        raise UserError(outcome.message)
    return cast(Result, outcome)
