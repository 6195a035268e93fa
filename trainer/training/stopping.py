"""Hooks that end training before its last step: signal, early stop, used-up time budget."""

import functools
import math
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.model_files.saving_beside import wait_for_checkpoints
from trainer import config as config_lib
from trainer.job_dir.checkpoints import read_step
from trainer.job_layout import CHECKPOINT_STEM
from trainer.signals import Interrupted, SignalWatch


def save_checkpoint(
    session: Any, step: int, model_dir: str, listener: Optional[estimator.CheckpointSaverListener]
) -> int:
    """Saves a checkpoint, unless there is one of this step; returns when it is complete.

    Args:
        session: the training session.
        step: the global step.
        model_dir: folder of the checkpoints.
        listener: is asked before, and raises an exception if none must be saved; None: is not.

    Returns:
        The global step in the checkpoint, which may be later: asynchronous workers train on.
    """
    saver = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVERS)[0]
    prefix = str(Path(model_dir) / CHECKPOINT_STEM)
    wait_for_checkpoints()
    path = f"{prefix}-{step}"
    if tf.train.latest_checkpoint(model_dir) != path:
        if listener:
            listener.before_save(session, step)
        saver.save(session, prefix, global_step=step)
        wait_for_checkpoints()
    return read_step(path)


class InterruptHook(estimator.SessionRunHook):
    """Saves a checkpoint and ends the run when a signal is pending.

    In training, the hook saves a checkpoint after the current step. In evaluation, it saves
    nothing, because the evaluated checkpoint exists already.

    Args:
        watch: receives signals.
        model_dir: folder of the checkpoints.
        training: True for a hook of training, False for a hook of evaluation.
        listener: is asked before a checkpoint is saved, and raises an exception if it must not be.
    """

    def __init__(
        self,
        watch: SignalWatch,
        model_dir: str,
        *,
        training: bool,
        listener: Optional[estimator.CheckpointSaverListener] = None,
    ):
        self._watch = watch
        self._model_dir = model_dir
        self._training = training
        self._listener = listener

    def begin(self) -> None:
        """Finds the global step; in training, removes duplicate variables that prevent saving."""
        self._step = tf.compat.v1.train.get_global_step()
        if self._training:
            _drop_wrapped_variables()
        if self._listener:
            self._listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Makes signals wait for the end of the current step from now on.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        if self._training:
            self._watch.in_session = True

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends the run if a signal has arrived.

        Args:
            run_context: context of the session run.
            run_values: unused.

        Raises:
            Interrupted: a signal has arrived; in training a checkpoint has been saved.
            NanLossDuringTrainingError: a signal has arrived, and the model has diverged.
        """
        if self._watch.pending is None:
            return
        if not (self._training and self._watch.saves):
            raise Interrupted(self._watch.pending)
        session = run_context.session
        step = int(session.run(self._step))
        saved = save_checkpoint(session, step, self._model_dir, self._listener)
        raise Interrupted(self._watch.pending, saved)

    def end(self, session: Any) -> None:
        """Makes signals no longer wait for the end of a step.

        Args:
            session: the session that is about to close.
        """
        if self._training:
            self._watch.in_session = False


class DiscardListener(estimator.CheckpointSaverListener):
    """Saves no checkpoint when another job has claimed job_dir.

    Args:
        watch: receives signals.
    """

    def __init__(self, watch: SignalWatch):
        self._watch = watch

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Ends the run if its checkpoints must not be saved.

        Args:
            session: the session whose variables would be saved.
            global_step_value: the global step.

        Raises:
            Interrupted: another job has claimed job_dir.
        """
        if not self._watch.saves:
            raise Interrupted(signal.SIGTERM)


class ListenersHook(estimator.SessionRunHook):
    """Calls checkpoint listeners in a cluster with a strategy.

    There TensorFlow's distribute coordinator creates the hook that saves, and calls no listeners.

    Args:
        listeners: the listeners, in the order in which they are called.
    """

    def __init__(self, listeners: Sequence[Any]):
        self._listeners = listeners

    def begin(self) -> None:
        """Lets the listeners add operations to the graph."""
        self._step = tf.compat.v1.train.get_global_step()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Makes the saver of the session call the listeners.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        saver = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVERS)[0]
        # The class's method: a new session has the same saver.
        saver.save = functools.partial(self._save, functools.partial(type(saver).save, saver))

    def _save(self, save: Callable[..., str], session: Any, *args: Any, **options: Any) -> str:
        step = int(session.run(self._step))
        for listener in self._listeners:
            listener.before_save(session, step)
        path = save(session, *args, **options)
        for listener in self._listeners:
            listener.after_save(session, step)
        return path


def _drop_wrapped_variables() -> None:
    """Removes a variable from the graph's collection if the collection also has its wrapper.

    With central_storage, TensorFlow adds each variable that Keras creates to the collection twice:
    wrapped and unwrapped. This includes the optimizers' slot variables. A Saver does not accept two
    variables of the same name.
    """
    collected = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)
    wrapped = [each.get() for each in collected if type(each).__name__ == "AggregatingVariable"]
    inner = {id(each) for each in wrapped}
    collected[:] = [each for each in collected if id(each) not in inner]


class EarlyStop:
    """Decides after each evaluation, and by the time budget, whether training continues.

    Args:
        stop: the rules.
        metric: name of the metric that is watched.
        direction: "min" or "max": whether lower or higher values of the metric are better.
        evaluations: earlier evaluations of the job, oldest first, each with "step" and metrics. A
            restarted job counts them too.
        clock: returns seconds.

    Attributes:
        reason: why training stops; None while it continues.
    """

    def __init__(
        self,
        stop: config_lib.StopConfig,
        metric: str,
        *,
        direction: str,
        evaluations: Sequence[dict[str, Any]],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._stop = stop
        self._metric = metric
        self._sign = 1 if direction == "max" else -1
        self._clock = clock
        self._started = clock()
        self._best = -math.inf
        self._without = 0
        self.reason: Optional[str] = None
        for evaluation in evaluations:
            self.add(evaluation)

    def add(self, evaluation: dict[str, Any]) -> None:
        """Applies the rules to one evaluation, unless there is a reason already.

        The checkpoint at which training has stopped may be evaluated after that.

        Args:
            evaluation: metric → value.
        """
        if self.reason is not None or self._metric not in evaluation:
            return
        value = self._sign * evaluation[self._metric]
        if value > self._best + (self._stop.min_delta if self._best > -math.inf else 0):
            self._best, self._without = value, 0
        else:
            self._without += 1
        name, best = self._metric, self._sign * self._best
        patience, target = self._stop.patience_evals, self._stop.target
        if patience is not None and self._without >= patience:
            self.reason = f"{name} has not improved on {best:.6g} for {self._without} evaluations"
        if target is not None and value >= self._sign * target:
            self.reason = f"{name} {evaluation[name]:.6g} has reached the target {target:g}"

    def stop_for(self, reason: Optional[str]) -> None:
        """Stops training if another process has a reason to stop; an earlier reason is kept.

        Args:
            reason: the other process's reason; None if it has none.
        """
        self.reason = self.reason or reason

    def check_clock(self) -> None:
        """Stops training if the time budget is used up."""
        if self._stop.max_secs is not None and self._clock() - self._started >= self._stop.max_secs:
            self.reason = f"the time budget of {self._stop.max_secs} s is used up"


class EarlyStopHook(estimator.SessionRunHook):
    """Ends training when an EarlyStop has a reason.

    Args:
        early_stop: decides whether training continues.
    """

    def __init__(self, early_stop: EarlyStop):
        self._early_stop = early_stop

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends training if there is a reason, after each session run.

        Args:
            run_context: context of the session run.
            run_values: unused.
        """
        self._early_stop.check_clock()
        if self._early_stop.reason:
            run_context.request_stop()
