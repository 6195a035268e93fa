"""Runs tasks in several processes on this machine."""

import contextlib
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Generator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Union

from estimator_bridge.command_line.signals import block_interrupts
from trainer.engines.work import Job, Outcome, Result, Tasks, open_outcome, start_job
from trainer.errors import TemporaryError

# Number of tasks per process that may be started before the results of earlier tasks are taken.
TASKS_AHEAD = 2


def run_in_processes(
    work: Tasks[Any, Result], tasks: Sequence[Any], count: int
) -> Generator[Result, None, None]:
    """Yields the result of each task, in their order.

    New processes are started, without a copy of this process's memory. They end when the iterator
    is closed, and when this process ends for any reason.

    Args:
        work: the work; each process gets a copy.
        tasks: the tasks, which are started in this order.
        count: number of processes.

    Raises:
        UserError: the work has failed.
        TemporaryError: a process ended unexpectedly.
    """
    count = min(count, len(tasks))
    with contextlib.ExitStack() as stack:
        processes = [_Process(start_job(work)) for _ in range(count)]
        for process in processes:
            stack.callback(process.close)
        idle = deque(processes)
        # End of the connection → process, and the number of its task.
        busy: dict[Any, tuple[_Process, int]] = {}
        outcomes: dict[int, Outcome] = {}
        begun = 0
        for number in range(len(tasks)):
            while number not in outcomes:
                while idle and begun < min(len(tasks), number + TASKS_AHEAD * count):
                    process = idle.popleft()
                    process.begin(tasks[begun])
                    busy[process.end] = process, begun
                    begun += 1
                for end in wait(list(busy)):
                    process, done = busy.pop(end)
                    outcomes[done] = process.finish()
                    idle.append(process)
            yield open_outcome(work, outcomes.pop(number))


class _Process:
    """A process that runs one task after another.

    Args:
        job: the work.

    Attributes:
        end: end of the connection to the process; readable when a task is done.
    """

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self.end, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, job), daemon=True)
        with block_interrupts():
            self._process.start()
        theirs.close()

    def begin(self, task: Any) -> None:
        """Sends a task."""
        # If the process has ended, `finish` reports this.
        with contextlib.suppress(BrokenPipeError):
            self.end.send(task)

    def finish(self) -> Outcome:
        """Returns the outcome of the task."""
        try:
            outcome = self.end.recv()
        except (EOFError, ConnectionResetError) as error:
            self._process.join()
            raise TemporaryError(
                f"a process ended unexpectedly (status {self._process.exitcode}), perhaps for lack "
                "of memory; repeat the command, or use fewer processes"
            ) from error
        if isinstance(outcome, TemporaryError):
            raise outcome
        return outcome

    def close(self) -> None:
        """Ends the process."""
        self.end.close()
        self._process.terminate()
        self._process.join()


def _serve(end: Connection, job: Job) -> None:
    """Runs the tasks that arrive, until the other end is closed."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            task = end.recv()
            outcome: Union[Outcome, TemporaryError]
            try:
                outcome = job.perform(task)
            except TemporaryError as error:
                outcome = error
            end.send(outcome)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
