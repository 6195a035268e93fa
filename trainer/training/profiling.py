"""A profile of some training steps, for TensorBoard's profile plugin."""

from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.config.values import parse_steps
from trainer.errors import UserError


class ProfileHook(estimator.SessionRunHook):
    """Writes plugins/profile/<time>/<host>.xplane.pb below a folder.

    A session run that takes several steps is profiled whole if one of them is wanted.

    Args:
        folder: where TensorBoard looks.
        steps: the first and the last global step that are profiled; the first step of a job is 1.
        console: told where the profile is.
    """

    def __init__(self, folder: str, steps: tuple[int, int], console: Any):
        self._folder = folder
        self._first, self._last = steps
        self._console = console
        self._is_on = False

    def begin(self):
        """Finds the step in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()

    def after_create_session(self, session, coord):
        """Notes where training starts."""
        self._step = int(session.run(self._step_tensor))
        # Steps that the last session run took, which the next one takes too.
        self._stride = 1
        self._is_over = self._step >= self._last
        if self._is_over:
            self._console.log(f"profile: step {self._last:,} has been trained already")

    def before_run(self, run_context):
        """Starts."""
        if not self._is_on and not self._is_over and self._step + self._stride >= self._first:
            tf.profiler.experimental.start(self._folder)
            self._is_on, self._began = True, self._step + 1

    def after_run(self, run_context, run_values):
        """Stops."""
        if self._is_over:
            return
        before, self._step = self._step, int(run_context.session.run(self._step_tensor))
        self._stride = max(self._step - before, 1)
        if self._step >= self._last:
            self._stop()

    def end(self, session):
        """Training has ended sooner: what there is is written."""
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
    config: config_lib.Config, max_steps: Optional[int], console: Any
) -> list[ProfileHook]:
    """The hook that run.profile_steps asks for, in a list; else none.

    Args:
        config: resolved.
        max_steps: global step at which the job ends; None where only the input knows.
        console: told where the profile is.

    Raises:
        UserError: the job never gets to those steps.
    """
    text = config.run.profile_steps
    if text is None:
        return []
    first, last = parse_steps(text)
    if max_steps is not None and last > max_steps:
        raise UserError(
            f"run.profile_steps: got {text!r}: the job ends at step {max_steps:,}; "
            "name steps before that"
        )
    return [ProfileHook(config.job_dir, (first, last), console)]
