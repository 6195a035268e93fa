"""Restores `tf.data.experimental.CheckpointInputPipelineHook`, removed by TensorFlow 2.16."""

import os

from estimator_bridge.private_tf import (
    api_data_experimental,
    api_v1_data_experimental,
    api_v2_data_experimental,
    checkpoint_management,
    data_experimental,
    experimental_iterator_ops,
    iterator_ops,
    ops,
    session_run_hook,
    training_util,
)
from estimator_bridge.private_tf import basic_session_run_hooks as hooks
from estimator_bridge.private_tf import data_options as options
from estimator_bridge.private_tf import saver as saver_lib
from estimator_bridge.private_tf import tf_logging as logging

__all__ = ["CheckpointInputPipelineHook", "apply"]

_POLICIES = {
    None: options.ExternalStatePolicy.FAIL,
    "fail": options.ExternalStatePolicy.FAIL,
    "warn": options.ExternalStatePolicy.WARN,
    "ignore": options.ExternalStatePolicy.IGNORE,
}


class CheckpointInputPipelineHook(session_run_hook.SessionRunHook):
    """Saves the position of the input pipeline, from which resumed training continues to read.

    It writes checkpoints of the graph's iterators into the model_dir, as often as the model is
    saved. When a session starts, it restores the latest one. Each of several workers has its own
    files.

    Args:
      estimator: the Estimator that is trained; its RunConfig sets how often to save.
      external_state_policy: what to do with a pipeline whose state cannot be saved, such as a
        Python random generator: "fail" (the default), "warn" or "ignore".

    Raises:
      ValueError: the policy is none of these.
    """

    def __init__(self, estimator, external_state_policy=None):
        if external_state_policy not in _POLICIES:
            raise ValueError(
                f"external_state_policy={external_state_policy!r}: choose one of fail, warn, ignore"
            )
        self._policy = _POLICIES[external_state_policy]
        config = estimator.config
        self._folder = estimator.model_dir
        self._prefix = "input"
        if config.num_worker_replicas > 1:
            self._prefix += f"_{config.task_type}_{config.task_id}"
        self._keep = config.keep_checkpoint_max, config.keep_checkpoint_every_n_hours
        self._timer = hooks.SecondOrStepTimer(
            every_secs=config.save_checkpoints_secs, every_steps=config.save_checkpoints_steps
        )
        self._is_new_session = True

    def begin(self):
        self._step = training_util.get_or_create_global_step()
        iterators = ops.get_collection(iterator_ops.GLOBAL_ITERATORS)
        saveables = [
            iterator_ops._IteratorSaveable(iterator, iterator.name, self._policy)
            for iterator in iterators
        ]
        most, every_hours = self._keep
        self._saver = saver_lib.Saver(
            saveables,
            max_to_keep=most,
            keep_checkpoint_every_n_hours=every_hours,
            save_relative_paths=True,
        )

    def after_create_session(self, session, coord):
        """Marks the session as new.

        Args:
          session: not used.
          coord: not used.
        """
        self._is_new_session = True

    def before_run(self, run_context):
        """Restores the iterators in a new session; requests the global step.

        Args:
          run_context: the SessionRunContext of the run.
        """
        # By now all hooks have received the session, also the one that initializes the iterators.
        if self._is_new_session:
            self._is_new_session = False
            self._resume(run_context.session)
        return session_run_hook.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        """Saves the iterators if a checkpoint is due.

        Args:
          run_context: the SessionRunContext of the run.
          run_values: the SessionRunValues, whose results are the global step, an int64 scalar.
        """
        if self._timer.should_trigger_for_step(run_values.results + 1):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                self._save(run_context.session, step)

    def end(self, session):
        """Saves the iterators after the last step.

        Args:
          session: the tf.compat.v1.Session, which is still open.
        """
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)

    def _resume(self, session):
        latest = checkpoint_management.latest_checkpoint(self._folder, self._latest_filename)
        if latest:
            logging.info("Restoring the input pipeline from %s", latest)
            self._saver.restore(session, latest)
            self._timer.update_last_triggered_step(session.run(self._step))
        else:
            self._save(session, session.run(self._step))

    def _save(self, session, step):
        self._timer.update_last_triggered_step(step)
        self._saver.save(
            session,
            os.path.join(self._folder, f"{self._prefix}.ckpt"),
            global_step=step,
            latest_filename=self._latest_filename,
            write_meta_graph=False,
        )

    @property
    def _latest_filename(self):
        return f"checkpoint_{self._prefix}"


def apply() -> None:
    """Adds the hook to the modules in which TensorFlow had it."""
    name = CheckpointInputPipelineHook.__name__
    for module in (
        experimental_iterator_ops,
        data_experimental,
        api_data_experimental,
        api_v1_data_experimental,
        api_v2_data_experimental,
    ):
        if name not in vars(module):
            vars(module)[name] = CheckpointInputPipelineHook
