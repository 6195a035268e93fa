"""Evaluation of checkpoints as they appear, as `tf.contrib.training` did it."""

import tensorflow.compat.v1 as tf
from tensorflow.python.training import evaluation as _evaluation

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
    values = None
    checkpoints = tf.train.checkpoints_iterator(
        checkpoint_dir, eval_interval_secs, timeout=timeout, timeout_fn=timeout_fn
    )
    for count, path in enumerate(checkpoints, 1):
        values = evaluate_once(
            path,
            master=master,
            scaffold=scaffold,
            eval_ops=eval_ops,
            feed_dict=feed_dict,
            final_ops=final_ops,
            final_ops_feed_dict=final_ops_feed_dict,
            hooks=hooks,
            config=config,
        )
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values
