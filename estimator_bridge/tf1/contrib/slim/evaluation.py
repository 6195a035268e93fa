"""`tf.contrib.slim.evaluation`: evaluation of checkpoints."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.training import evaluation

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

checkpoints_iterator = evaluation.checkpoints_iterator
wait_for_new_checkpoint = evaluation.wait_for_new_checkpoint

# Marks the default; None means no summaries.
_ALL_SUMMARIES = object()


def evaluate_once(
    master,
    checkpoint_path,
    logdir,
    num_evals=1,
    initial_op=None,
    initial_op_feed_dict=None,
    eval_op=None,
    eval_op_feed_dict=None,
    final_op=None,
    final_op_feed_dict=None,
    summary_op=_ALL_SUMMARIES,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    session_config=None,
    hooks=None,
):
    """Evaluates one checkpoint.

    Args:
      master: address of the session's target.
      checkpoint_path: prefix of the checkpoint.
      logdir: directory for the summaries; None for no summaries.
      num_evals: int, number of runs of `eval_op`.
      initial_op: operation that runs first; None initializes local variables and tables.
      initial_op_feed_dict: feed_dict of `initial_op`, or None.
      eval_op: operation of one evaluation step, or None.
      eval_op_feed_dict: feed_dict of `eval_op`, or None.
      final_op: tensors to read at the end, or None.
      final_op_feed_dict: feed_dict of `final_op`, or None.
      summary_op: scalar string tensor; by default all summaries of the graph; None for none.
      summary_op_feed_dict: feed_dict of `summary_op`, or None.
      variables_to_restore: variables in the checkpoint; None for all.
      session_config: tf.ConfigProto of the session.
      hooks: list of tf.train.SessionRunHook, or None.

    Returns:
      The value of `final_op`.
    """
    return evaluation.evaluate_once(
        checkpoint_path,
        master=master,
        scaffold=_scaffold(initial_op, initial_op_feed_dict, variables_to_restore),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        hooks=_hooks(logdir, num_evals, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
    )


def evaluation_loop(
    master,
    checkpoint_dir,
    logdir,
    num_evals=1,
    initial_op=None,
    initial_op_feed_dict=None,
    init_fn=None,
    eval_op=None,
    eval_op_feed_dict=None,
    final_op=None,
    final_op_feed_dict=None,
    summary_op=_ALL_SUMMARIES,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    eval_interval_secs=60,
    max_number_of_evaluations=None,
    session_config=None,
    timeout=None,
    timeout_fn=None,
    hooks=None,
):
    """Evaluates each checkpoint that appears in a directory.

    Args:
      master: address of the session's target.
      checkpoint_dir: directory of the checkpoints.
      logdir: directory for the summaries; None for no summaries.
      num_evals: int, number of runs of `eval_op`.
      initial_op: operation that runs first; None initializes local variables and tables.
      initial_op_feed_dict: feed_dict of `initial_op`, or None.
      init_fn: function of the session that runs after the restoring, or None.
      eval_op: operation of one evaluation step, or None.
      eval_op_feed_dict: feed_dict of `eval_op`, or None.
      final_op: tensors to read at the end, or None.
      final_op_feed_dict: feed_dict of `final_op`, or None.
      summary_op: scalar string tensor; by default all summaries of the graph; None for none.
      summary_op_feed_dict: feed_dict of `summary_op`, or None.
      variables_to_restore: variables in the checkpoint; None for all.
      eval_interval_secs: seconds between the starts of two evaluations.
      max_number_of_evaluations: number of evaluations; None continues until the timeout.
      session_config: tf.ConfigProto of the session.
      timeout: seconds to wait for a new checkpoint; None waits forever.
      timeout_fn: function called at the timeout; the loop ends when it returns True.
      hooks: list of tf.train.SessionRunHook, or None.

    Returns:
      The last value of `final_op`.
    """
    return evaluation.evaluate_repeatedly(
        checkpoint_dir,
        master=master,
        scaffold=_scaffold(initial_op, initial_op_feed_dict, variables_to_restore, init_fn),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs,
        hooks=_hooks(logdir, num_evals, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )


def _scaffold(initial_op, feed_dict, variables, init_fn=None):
    return tf.train.Scaffold(
        init_op=initial_op,
        init_feed_dict=feed_dict,
        init_fn=(lambda _, session: init_fn(session)) if init_fn else None,
        # Hooks can create the global step, which the default saver restores too.
        saver=None if variables is None else tf.train.Saver(variables),
    )


def _hooks(logdir, num_evals, summary_op, feed_dict, more):
    hooks = [evaluation.StopAfterNEvalsHook(num_evals)]
    if logdir is not None and summary_op is not None:
        # The hook itself writes all summaries of the graph if its summary_op is None.
        summary_op = None if summary_op is _ALL_SUMMARIES else summary_op
        hooks.append(
            evaluation.SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feed_dict)
        )
    return hooks + list(more or ())
