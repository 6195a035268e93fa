"""Evaluation of checkpoints as they appear, as `tf.contrib.training` did it."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import evaluation as _evaluation

__all__ = [
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "checkpoints_iterator",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "wait_for_new_checkpoint",
]

checkpoints_iterator = tf.train.checkpoints_iterator
StopAfterNEvalsHook = _evaluation._StopAfterNEvalsHook
evaluate_once = _evaluation._evaluate_once
get_or_create_eval_step = _evaluation._get_or_create_eval_step


class SummaryAtEndHook(tf.train.SessionRunHook):
    """Writes summaries once, when the session ends."""

    def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
        if (log_dir is None) == (summary_writer is None):
            raise ValueError("Exactly one of log_dir or summary_writer must be provided.")
        self._log_dir, self._writer = log_dir, summary_writer
        self._summary_op, self._feed_dict = summary_op, feed_dict

    def begin(self):
        if self._summary_op is None:
            self._summary_op = tf.summary.merge_all()
        self._global_step = tf.train.get_or_create_global_step()

    def after_create_session(self, session, coord):
        if self._writer is None:
            self._writer = tf.summary.FileWriterCache.get(self._log_dir)

    def end(self, session):
        if self._summary_op is None:
            return
        step = tf.train.global_step(session, self._global_step)
        self._writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._writer.flush()


def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
    """Returns the prefix of the next checkpoint after `last_checkpoint`; None after `timeout`
    seconds.
    """
    found = tf.train.checkpoints_iterator(
        checkpoint_dir, min_interval_secs=seconds_to_sleep, timeout=timeout
    )
    for path in found:
        if path != last_checkpoint:
            return path
    return None


def evaluate_repeatedly(
    checkpoint_dir,
    master="",
    scaffold=None,
    eval_ops=None,
    feed_dict=None,
    final_ops=None,
    final_ops_feed_dict=None,
    eval_interval_secs=60,
    hooks=None,
    config=None,
    max_number_of_evaluations=None,
    timeout=None,
    timeout_fn=None,
):
    """Evaluates each new checkpoint; returns the last values of `final_ops`, a dict.

    Args:
      max_number_of_evaluations: None: until `timeout` (seconds without a new checkpoint).
    """
    hooks = list(hooks or ())
    # The first session makes the graph final: all operations, and the Scaffold that makes some, are
    # made here.
    completed = tf.assign_add(get_or_create_eval_step(), 1, use_locking=True)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(completed)
    scaffold = scaffold or tf.train.Scaffold()
    values = None
    checkpoints = tf.train.checkpoints_iterator(
        checkpoint_dir, eval_interval_secs, timeout=timeout, timeout_fn=timeout_fn
    )
    for count, path in enumerate(checkpoints, 1):
        tf.logging.info("Starting evaluation of %s", path)
        creator = tf.train.ChiefSessionCreator(
            scaffold, master=master, config=config, checkpoint_filename_with_path=path
        )
        final = tf.train.FinalOpsHook(final_ops, final_ops_feed_dict)
        with tf.train.MonitoredSession(creator, [*hooks, final]) as session:
            while eval_ops is not None and not session.should_stop():
                session.run(eval_ops, feed_dict)
        values = final.final_ops_values
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values
