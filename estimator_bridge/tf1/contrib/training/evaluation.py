"""Evaluation of new checkpoints, as in `tf.contrib.training`."""

import time

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
    """Writes summaries once, at the end of the session.

    Args:
      log_dir: directory for the summaries; this or `summary_writer` is required.
      summary_writer: tf.summary.FileWriter, which goes before `log_dir`.
      summary_op: scalar string tensor; None for all summaries of the graph.
      feed_dict: feed_dict of the summaries, or None.

    Raises:
      ValueError: neither log_dir nor summary_writer is given.
    """

    def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
        if log_dir is None and summary_writer is None:
            raise ValueError("SummaryAtEndHook: pass log_dir or summary_writer")
        self._log_dir, self._writer = log_dir, summary_writer
        self._summary_op, self._feed_dict = summary_op, feed_dict
        self._takes_all = summary_op is None

    def begin(self):
        if self._takes_all:
            # Each evaluation has a graph of its own.
            self._summary_op = tf.summary.merge_all()
        self._global_step = tf.train.get_or_create_global_step()

    def after_create_session(self, session, coord):
        """Opens the writer of the summaries.

        Args:
          session: not used.
          coord: not used.
        """
        if self._writer is None:
            self._writer = tf.summary.FileWriterCache.get(self._log_dir)

    def end(self, session):
        """Writes the summary of the evaluation.

        Args:
          session: the tf.Session, which is still open.
        """
        if self._summary_op is None:
            return
        step = tf.train.global_step(session, self._global_step)
        self._writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._writer.flush()


def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
    """Waits for a checkpoint other than `last_checkpoint`.

    Args:
      checkpoint_dir: directory of the checkpoints.
      last_checkpoint: prefix of the last known checkpoint, or None.
      seconds_to_sleep: seconds between two looks.
      timeout: seconds to wait; None waits forever.

    Returns:
      Prefix of the checkpoint; None after the timeout.
    """
    found = tf.train.checkpoints_iterator(
        checkpoint_dir, min_interval_secs=seconds_to_sleep, timeout=timeout
    )
    for path in found:
        if path != last_checkpoint:
            return path
    return None


def _now():
    return time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime())


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
    """Evaluates each new checkpoint.

    Args:
      checkpoint_dir: directory of the checkpoints.
      master: address of the session's target.
      scaffold: tf.train.Scaffold, or None.
      eval_ops: operations that run until a hook stops the session; None runs none.
      feed_dict: feed_dict of `eval_ops`, or None.
      final_ops: tensors to read at the end of an evaluation, or None.
      final_ops_feed_dict: feed_dict of `final_ops`, or None.
      eval_interval_secs: minimum seconds between the starts of two evaluations.
      hooks: list of tf.train.SessionRunHook, or None.
      config: tf.ConfigProto of the sessions.
      max_number_of_evaluations: number of evaluations; None continues until the timeout.
      timeout: seconds to wait for a new checkpoint; None waits forever.
      timeout_fn: function called at the timeout; the loop ends when it returns True.

    Returns:
      The last values of `final_ops`, or None.
    """
    hooks = list(hooks or ())
    # The first session finalizes the graph, so that all operations must exist before it.
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
        tf.logging.info("Starting evaluation at %s", _now())
        creator = tf.train.ChiefSessionCreator(
            scaffold, master=master, config=config, checkpoint_filename_with_path=path
        )
        final = tf.train.FinalOpsHook(final_ops, final_ops_feed_dict)
        with tf.train.MonitoredSession(creator, [*hooks, final]) as session:
            while eval_ops is not None and not session.should_stop():
                session.run(eval_ops, feed_dict)
        tf.logging.info("Finished evaluation at %s", _now())
        values = final.final_ops_values
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values
