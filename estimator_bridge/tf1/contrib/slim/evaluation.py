"""`tf.contrib.slim.evaluation`: checkpoints evaluated one after the other."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework import get_variables_to_restore
from estimator_bridge.tf1.contrib.training import evaluation

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

checkpoints_iterator = evaluation.checkpoints_iterator
wait_for_new_checkpoint = evaluation.wait_for_new_checkpoint

# Not None, which means that there are to be no summaries.
_GRAPHS_SUMMARIES = object()


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
    summary_op=_GRAPHS_SUMMARIES,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    session_config=None,
    hooks=None,
):
    """Evaluates a checkpoint; returns the value of `final_op`.

    Args:
      checkpoint_path: the checkpoint's prefix.
      logdir: for the summaries; None: there are none.
      num_evals: how often `eval_op` is run.
      initial_op: is run before; the default initializes local variables and tables.
      summary_op: by default all of the graph's summaries; None: none.
      variables_to_restore: by default all.
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
    summary_op=_GRAPHS_SUMMARIES,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    eval_interval_secs=60,
    max_number_of_evaluations=None,
    session_config=None,
    timeout=None,
    timeout_fn=None,
    hooks=None,
):
    """As evaluate_once, for each checkpoint that appears in `checkpoint_dir`; returns the last
    value of `final_op`.

    Args:
      eval_interval_secs: seconds from the beginning of one evaluation to that of the next.
      max_number_of_evaluations: None: until `timeout` (seconds without a new checkpoint).
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
        saver=tf.train.Saver(variables or get_variables_to_restore()),
    )


def _hooks(logdir, num_evals, summary_op, feed_dict, more):
    hooks = [evaluation.StopAfterNEvalsHook(num_evals)]
    if logdir is not None and summary_op is not None:
        # The hook itself takes the graph's summaries where it is given none.
        summary_op = None if summary_op is _GRAPHS_SUMMARIES else summary_op
        hooks.append(
            evaluation.SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feed_dict)
        )
    return hooks + list(more or ())
