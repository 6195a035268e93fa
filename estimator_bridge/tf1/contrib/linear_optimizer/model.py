"""The solver of `tf.contrib.linear_optimizer`, on the one that tf.estimator has kept."""

import contextlib

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_sdca as _sdca
from estimator_bridge.private_tf import ops as _ops

__all__ = ["SdcaModel", "SparseFeatureColumn"]

_L1, _L2 = "symmetric_l1_regularization", "symmetric_l2_regularization"
# The solver does not converge well below it, and takes it instead.
_LEAST_L2 = 1.0


class SparseFeatureColumn(_sdca._SparseFeatureColumn):
    """The ids of a sparse feature in a batch.

    Args:
      example_indices: int64 tensor [N], the place of the example in the batch, ascending.
      feature_indices: int64 tensor [N], the id.
      feature_values: float32 tensor [N], the value; None for 1.
    """


class SdcaModel(_sdca._SDCAModel):
    """A linear model and the operations that train it.

    Each variable gets another one, `<name>_unshrinked/SDCAOptimizer`, with its value before
    L1 regularization. The dual state of the examples is in tables of the graph, and in checkpoints.

    Args:
      examples: dict with `sparse_features` (list of SparseFeatureColumn), `dense_features` (list of
        float32 tensors [batch, size]), `example_labels` and `example_weights` (float32 tensors
        [batch]) and `example_ids` (string tensor [batch], unique).
      variables: dict with `sparse_features_weights` and `dense_features_weights`, lists of
        variables in the order of the features.
      options: dict with `loss_type` (logistic_loss, squared_loss, hinge_loss, smooth_hinge_loss or
        poisson_loss), `symmetric_l1_regularization`, `symmetric_l2_regularization` (the solver
        takes at least 1), and optionally `num_loss_partitions`, `num_table_shards` and `adaptive`.

    Raises:
      ValueError: a part is missing, a loss is unknown, or the L1 regularization is negative.
    """

    def __init__(self, examples, variables, options):
        for strength in (_L1, _L2) if options else ():
            if (options.get(strength) or 0.0) < 0.0:
                raise ValueError(
                    f"{strength} should be non-negative. Found ({options[strength]:f})"
                )
        self._given_l2 = (options or {}).get(_L2)
        solved = options
        if options and self._given_l2 is not None:
            solved = {**options, _L2: max(self._given_l2, _LEAST_L2)}
        with _without_advice_on_l2():
            super().__init__(examples, variables, solved)

    def _create_slots(self):
        self._slots = {
            f"unshrunk_{kind}": [
                [_unshrunk(part) for part in one]
                if isinstance(one, (list, tuple)) or hasattr(one, "_get_variable_list")
                else _unshrunk(one)
                for one in self._variables[kind]
            ]
            for kind in ("sparse_features_weights", "dense_features_weights")
        }

    def regularized_loss(self, examples):
        """Returns the mean loss with the L1 and L2 regularization.

        Args:
          examples: dict as for the constructor.

        Returns:
          float64 scalar tensor.
        """
        solved, self._options = self._options, {**self._options, _L2: self._given_l2}
        try:
            return super().regularized_loss(examples)
        finally:
            self._options = solved


def _unshrunk(variable):
    """Returns the variable of the value before L1 regularization."""
    with _ops.colocate_with(variable):
        zeros = tf.zeros_like(variable.initialized_value(), tf.float32)
        return tf.Variable(zeros, name=f"{variable.op.name}_unshrinked/SDCAOptimizer")


@contextlib.contextmanager
def _without_advice_on_l2():
    """Keeps back the advice to regularize by more than 1, which 1.x did not give."""
    level = tf.logging.get_verbosity()
    tf.logging.set_verbosity(max(level, tf.logging.ERROR))
    try:
        yield
    finally:
        tf.logging.set_verbosity(level)
