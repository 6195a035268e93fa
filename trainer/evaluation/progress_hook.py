"""A hook that shows how far an evaluation is."""

from typing import Any, Callable, Optional, Union

from estimator_bridge import estimator
from trainer.console import Console, Progress


class ProgressHook(estimator.SessionRunHook):
    """Shows the evaluated rows, their rate and the time left.

    Args:
        console: shows them.
        batch_size: rows of a batch; the last one may be smaller.
        total: number of rows, or a function that returns about how many there are; None: unknown.
    """

    def __init__(
        self,
        console: Console,
        batch_size: int,
        total: Union[None, float, Callable[[], Optional[float]]] = None,
    ):
        self._console = console
        self._batch_size = batch_size
        self._total = total
        self._progress: Optional[Progress] = None

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Begins to count.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        self._progress = start_progress(self._console, self._total)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Counts a batch.

        Args:
            run_context: context of the session run.
            run_values: not used.
        """
        if self._progress is not None:
            self._progress.add(self._batch_size)

    def end(self, session: Any) -> None:
        """Removes the live line.

        Args:
            session: the session.
        """
        self._console.end_progress()


def start_progress(
    console: Console, total: Union[None, float, Callable[[], Optional[float]]]
) -> Progress:
    """Returns the progress of one pass over the rows of an evaluation.

    Args:
        console: shows it.
        total: as for ProgressHook.
    """
    return Progress(console, "evaluating", "rows", total, is_estimate=callable(total))
