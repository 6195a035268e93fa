"""`tf.contrib.learn.graph_actions`: runs tensors of a graph, also with values of a checkpoint."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "clear_summary_writers",
    "get_summary_writer",
    "infer",
    "run_feeds",
    "run_feeds_iter",
    "run_n",
]

_LOOP = "use tf.train.MonitoredTrainingSession, or tf.contrib.learn.Estimator"

__getattr__, _advice_for = _unsupported_names(globals(), {"evaluate": _LOOP, "train": _LOOP})


def get_summary_writer(logdir):
    """Returns the writer of a folder, which all callers share.

    Args:
      logdir: the folder.
    """
    return tf.summary.FileWriterCache.get(logdir)


def clear_summary_writers():
    """Closes the shared writers of all folders."""
    tf.summary.FileWriterCache.clear()


def run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path=None):
    """Runs tensors once for each feed.

    Args:
      output_dict: {name: tensor or variable}, all of one graph.
      feed_dicts: list of {placeholder: value}.
      restore_checkpoint_path: of the checkpoint that has the variables; None initializes them.

    Yields:
      {name: array} for each feed.

    Raises:
      ValueError: one of the arguments is empty, or there is no such checkpoint.
    """
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not feed_dicts:
        raise ValueError(f"feed_dicts is invalid: {feed_dicts}.")
    graph = next(iter(output_dict.values())).graph
    with graph.as_default(), tf.Session("") as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        if restore_checkpoint_path:
            tf.train.Saver().restore(session, restore_checkpoint_path)
        coordinator = tf.train.Coordinator()
        threads = None
        try:
            threads = tf.train.start_queue_runners(session, coord=coordinator)
            for feed in feed_dicts:
                yield session.run(output_dict, feed_dict=feed)
        finally:
            coordinator.request_stop()
            if threads:
                coordinator.join(threads, stop_grace_period_secs=120)


def run_feeds(*args, **kwargs):
    """Returns the list of what `run_feeds_iter` yields.

    Args:
      *args: those of `run_feeds_iter`.
      **kwargs: those of `run_feeds_iter`.

    Returns:
      [{name: array}].

    Raises:
      ValueError: one of the arguments is empty, or there is no such checkpoint.
    """
    return list(run_feeds_iter(*args, **kwargs))


def run_n(output_dict, feed_dict=None, restore_checkpoint_path=None, n=1):
    """Runs tensors several times with the same feed.

    Args:
      output_dict: {name: tensor or variable}, all of one graph.
      feed_dict: {placeholder: value}, or None.
      restore_checkpoint_path: of the checkpoint that has the variables; None initializes them.
      n: int, how often.

    Returns:
      [{name: array}] of length n.

    Raises:
      ValueError: `output_dict` is empty, or there is no such checkpoint.
    """
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not n:
        return []
    return run_feeds(output_dict, [feed_dict] * n, restore_checkpoint_path)


def infer(restore_checkpoint_path, output_dict, feed_dict=None):
    """Runs tensors once.

    Args:
      restore_checkpoint_path: of the checkpoint that has the variables; None initializes them.
      output_dict: {name: tensor or variable}, all of one graph.
      feed_dict: {placeholder: value}, or None.

    Returns:
      {name: array}.

    Raises:
      ValueError: `output_dict` is empty, or there is no such checkpoint.
    """
    return run_n(output_dict, feed_dict, restore_checkpoint_path, n=1)[0]
