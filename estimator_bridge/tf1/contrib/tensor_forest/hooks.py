"""The hooks with which random forests train."""

import tensorflow.compat.v1 as tf

__all__ = ["LOSS_NAME", "TensorForestLossHook", "TensorForestRunOpAtEndHook"]

LOSS_NAME = "rf_training_loss"


class TensorForestRunOpAtEndHook(tf.train.SessionRunHook):
    """Runs operations when training ends, and logs what they return.

    Args:
      op_dict: {name: tensor or operation}.
    """

    def __init__(self, op_dict):
        self._ops = op_dict

    def end(self, session):
        """Runs them, in the order of their names."""
        for name in sorted(self._ops):
            tf.logging.info("%s: %s", name, session.run(self._ops[name]))


class TensorForestLossHook(tf.train.SessionRunHook):
    """Stops training when the loss has not become smaller for a number of steps.

    Args:
      early_stopping_rounds: int, number of steps.
      early_stopping_loss_threshold: share of the smallest loss by which it must become smaller, or
        None.
      loss_op: tensor of the loss; None for the operation `rf_training_loss` of the graph.
    """

    def __init__(self, early_stopping_rounds, early_stopping_loss_threshold=None, loss_op=None):
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_loss_threshold = early_stopping_loss_threshold
        self.loss_op = loss_op
        self.min_loss = None
        self.last_step = -1
        # Steps since the smallest loss.
        self.steps = 0

    def before_run(self, run_context):
        """Asks for the step and the loss."""
        graph = run_context.session.graph
        loss = self.loss_op
        if loss is None:
            loss = graph.get_operation_by_name(LOSS_NAME).outputs[0]
        step = tf.train.get_global_step(graph)
        return tf.train.SessionRunArgs({"global_step": step, "current_loss": loss})

    def after_run(self, run_context, run_values):
        """Counts the steps, and stops."""
        loss, step = run_values.results["current_loss"], run_values.results["global_step"]
        threshold = self.early_stopping_loss_threshold or 0.0
        if self.min_loss is None or loss < self.min_loss - self.min_loss * threshold:
            self.min_loss, self.steps = loss, 0
        else:
            self.steps += step - self.last_step
        self.last_step = step
        if self.steps > self.early_stopping_rounds:
            tf.logging.info("TensorForestLossHook requesting stop.")
            run_context.request_stop()
