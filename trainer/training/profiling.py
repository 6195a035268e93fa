"""Profiles a range of training steps for TensorBoard's profile plugin."""

from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer.config.values import parse_steps
from trainer.console import Console
from trainer.errors import UserError


class ProfileHook(estimator.SessionRunHook):
    """Writes a profile to plugins/profile/<time>/<host>.xplane.pb in a folder.

    A session run is profiled completely if any of its steps must be profiled.

    Args:
        folder: folder of TensorBoard's files.
        steps: the first and the last global step to profile; the first step of a job is 1.
        console: logs the path of the profile.
    """

    def __init__(self, folder: str, steps: tuple[int, int], console: Console):
        self._folder = folder
        self._first, self._last = steps
        self._console = console
        self._is_on = self._is_over = False
        self._step = self._began = 0
        # Number of steps of the last session run; assumed to be that of the next one too.
        self._stride = 1

    def begin(self) -> None:
        """Finds the global step in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Reads the global step at which training starts.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        self._step = int(session.run(self._step_tensor))
        self._stride = 1
        self._is_over = self._step >= self._last
        if self._is_over:
            self._console.log(f"profile: step {self._last:,} has been trained already")

    def before_run(self, run_context: Any) -> None:
        """Starts the profiler before the first step to profile.

        Args:
            run_context: context of the coming session run.
        """
        if not self._is_on and not self._is_over and self._step + self._stride >= self._first:
            tf.profiler.experimental.start(self._folder)
            self._is_on, self._began = True, self._step + 1

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops the profiler after the last step to profile.

        Args:
            run_context: context of the session run.
            run_values: unused.
        """
        if self._is_over:
            return
        before, self._step = self._step, int(run_context.session.run(self._step_tensor))
        self._stride = max(self._step - before, 1)
        if self._step >= self._last:
            self._stop()

    def end(self, session: Any) -> None:
        """Writes the profile so far if training ends before the last step to profile.

        Args:
            session: the training session.
        """
        self._stop()

    def _stop(self) -> None:
        if self._is_on:
            tf.profiler.experimental.stop()
            self._console.log(
                f"profile: steps {self._began:,} to {self._step:,} are in "
                f"{self._folder}/plugins/profile"
            )
        self._is_on, self._is_over = False, True


def build_profile_hooks(
    profile_steps: Optional[str], folder: str, *, max_steps: Optional[int], console: Console
) -> list[ProfileHook]:
    """Returns a list of one ProfileHook; an empty list if run.profile_steps is not set.

    Args:
        profile_steps: value of run.profile_steps, "first:last".
        folder: folder of TensorBoard's files.
        max_steps: global step at which the job ends; None if it ends with its input.
        console: logs the path of the profile.

    Raises:
        UserError: the job ends before those steps.
    """
    if profile_steps is None:
        return []
    first, last = parse_steps(profile_steps)
    if max_steps is not None and last > max_steps:
        raise UserError(
            f"run.profile_steps: got {profile_steps!r}: the job ends at step {max_steps:,}; "
            "name steps before that"
        )
    return [ProfileHook(folder, (first, last), console)]
