"""What the clustering estimators of `tf.contrib.learn` share: their input, hooks and results."""

import tensorflow.compat.v1 as tf

__all__ = ["InitializeClusters", "StopAtRelativeChange", "joined", "last_value", "total"]


def joined(features):
    """Returns the points to cluster.

    Args:
      features: float32 tensor [rows, dimensions], or {feature: such a tensor}.

    Returns:
      float32 tensor; features of a dict are joined in the order of their names.
    """
    if not isinstance(features, dict):
        return features
    return tf.concat([features[name] for name in sorted(features)], 1)


def last_value(tensor):
    """Returns a metric whose value is that of a tensor in one more batch, as in 1.x.

    Args:
      tensor: tensor.
    """
    return tensor, tf.no_op()


def total(scalar):
    """Returns the metric of the sum of a scalar over all batches.

    Args:
      scalar: float32 scalar tensor.
    """
    sums = tf.Variable(
        0.0,
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
        name="total",
    )
    return tf.identity(sums), tf.assign_add(sums, scalar)


class InitializeClusters(tf.train.SessionRunHook):
    """Chooses the first clusters, unless a checkpoint has some.

    Args:
      start: operation that does so.
      ready: bool tensor.
      is_chief: whether this process does so; the others wait for it.
    """

    def __init__(self, start, ready, is_chief):
        self._start, self._ready, self._is_chief = start, ready, is_chief

    def after_create_session(self, session, coord):
        """Runs the operation.

        Args:
          session: tf.Session.
          coord: ignored.
        """
        del coord
        if self._is_chief:
            while not session.run(self._ready):
                session.run(self._start)


class StopAtRelativeChange(tf.train.SessionRunHook):
    """Ends training when the loss hardly changes.

    Args:
      loss: scalar tensor.
      tolerance: change relative to the loss, below which training ends.
    """

    def __init__(self, loss, tolerance):
        self._loss, self._tolerance, self._previous = loss, tolerance, None

    def before_run(self, run_context):
        """Asks for the loss.

        Args:
          run_context: ignored.
        """
        del run_context
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        """Compares the loss with that of the step before.

        Args:
          run_context: tf.train.SessionRunContext.
          run_values: tf.train.SessionRunValues.
        """
        loss, previous = run_values.results, self._previous
        if previous is not None:
            # The first loss may be zero.
            change = abs(loss - previous) / (1 + previous)
            if change < self._tolerance:
                run_context.request_stop()
        self._previous = loss
