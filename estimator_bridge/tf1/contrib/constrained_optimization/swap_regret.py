"""Stochastic matrices in place of multipliers (Cotter et al., 2018, section 4)."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.constrained_optimization.problems import (
    TwoPlayerOptimizer,
    project,
)

__all__ = ["AdditiveSwapRegretOptimizer", "MultiplicativeSwapRegretOptimizer"]

# Steps and accuracy of the power iteration.
_STEPS, _ACCURACY = 100, 1e-6


def find_distribution(matrix):
    """Returns the stationary distribution of a left-stochastic matrix by power iteration.

    Args:
      matrix: floating tensor [n, n] whose columns have the sum 1.

    Returns:
      Floating tensor [n].
    """

    def step(vector):
        product = tf.squeeze(tf.matmul(matrix, tf.expand_dims(vector, 1)), 1)
        return product / tf.norm(product)

    ones = tf.ones_like(matrix[:, 0])
    before = ones / tf.norm(ones)
    found = tf.while_loop(
        lambda count, after, before: tf.logical_and(
            count < _STEPS, tf.norm(after - before) > _ACCURACY
        ),
        lambda count, after, before: (count + 1, step(after), after),
        (tf.constant(1), step(before), before),
        name="power_method",
    )[1]
    sizes = tf.abs(found)
    return sizes / tf.reduce_sum(sizes)


class _SwapRegretOptimizer(TwoPlayerOptimizer):
    _name = "swap_regret_optimizer_state"

    def _matrix(self, state):
        """Returns the stochastic matrix [m + 1, m + 1] of the state."""
        raise NotImplementedError

    def _play(self, state, objective, constraints, proxies):
        weights = tf.stop_gradient(find_distribution(self._matrix(state)))
        zero = tf.zeros([1], constraints.dtype)
        scores = tf.concat([zero, constraints], 0)
        loss = tf.tensordot(weights, tf.concat([tf.expand_dims(objective, 0), proxies], 0), 1)
        gradient = tf.expand_dims(scores, 1) * tf.expand_dims(weights, 0)
        return loss, gradient


class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """The model minimizes a weighted sum; its weights maximize the constraints by additive steps.

    The weights of objective and constraints are the stationary distribution of a stochastic matrix,
    the variable `swap_regret_optimizer_state`. The source is Cotter, Jiang and Sridharan (2018),
    "Two-Player Games for Efficient Non-Convex Constrained Optimization", definition 2.

    Args:
      optimizer: tf.train.Optimizer of the model.
      constraint_optimizer: tf.train.Optimizer of the matrix; None for that of the model.
    """

    def _initial_state(self, num_constraints):
        size = num_constraints + 1
        return tf.concat([tf.ones([1, size]), tf.zeros([num_constraints, size])], 0)

    def _matrix(self, state):
        return state.read_value()

    def _projected(self, state):
        return project(state.read_value(), 1.0, 0, False)


class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """Like AdditiveSwapRegretOptimizer, with multiplicative steps: the state has logarithms.

    The source is Cotter, Jiang and Sridharan (2018), algorithm 2.

    Args:
      optimizer: tf.train.Optimizer of the model.
      constraint_optimizer: tf.train.Optimizer of the state; None for that of the model.
      minimum_multiplier_radius: number between 0 and 1; no element of the matrix is below it
        divided by the number of constraints and 1.
      initial_multiplier_radius: number; likewise the first value of the elements of constraints;
        None for the minimum.

    Raises:
      ValueError: the minimum is outside its range, or above the initial radius.
    """

    def __init__(
        self,
        optimizer,
        constraint_optimizer=None,
        minimum_multiplier_radius=1e-3,
        initial_multiplier_radius=None,
    ):
        super().__init__(optimizer, constraint_optimizer)
        if not 0.0 < minimum_multiplier_radius < 1.0:
            raise ValueError(
                f"minimum_multiplier_radius: {minimum_multiplier_radius} is not in (0, 1)"
            )
        if initial_multiplier_radius is None:
            initial_multiplier_radius = minimum_multiplier_radius
        if initial_multiplier_radius < minimum_multiplier_radius:
            raise ValueError(
                f"initial_multiplier_radius: {initial_multiplier_radius} is below "
                f"minimum_multiplier_radius, {minimum_multiplier_radius}"
            )
        self._minimum, self._initial = minimum_multiplier_radius, initial_multiplier_radius

    def _initial_state(self, num_constraints):
        size = num_constraints + 1
        below = self._initial / size
        above = 1.0 - below * num_constraints
        rows = tf.fill([num_constraints, size], math.log(below))
        return tf.concat([tf.fill([1, size], math.log(above)), rows], 0)

    def _matrix(self, state):
        return tf.exp(state.read_value())

    def _projected(self, state):
        value = state.read_value()
        lowest = math.log(self._minimum / value.shape.as_list()[0])
        value = value - tf.reduce_max(value, axis=0, keepdims=True)
        value = value - tf.log(tf.reduce_sum(tf.exp(value), axis=0, keepdims=True))
        return tf.maximum(value, tf.cast(lowest, value.dtype))
