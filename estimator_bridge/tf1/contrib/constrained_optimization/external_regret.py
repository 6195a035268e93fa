"""Lagrange multipliers that are trained with the model (Cotter et al., 2018, section 3)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.constrained_optimization.problems import (
    TwoPlayerOptimizer,
    project,
)

__all__ = ["AdditiveExternalRegretOptimizer"]


class AdditiveExternalRegretOptimizer(TwoPlayerOptimizer):
    """The model minimizes the Lagrangian; the multipliers maximize it by additive steps.

    The source is Cotter, Jiang and Sridharan (2018), "Two-Player Games for Efficient Non-Convex
    Constrained Optimization", definition 1. The multipliers are `external_regret_optimizer_state`.

    Args:
      optimizer: tf.train.Optimizer of the model.
      constraint_optimizer: tf.train.Optimizer of the multipliers; None for that of the model.
      maximum_multiplier_radius: number, the largest sum of the multipliers, or None.

    Raises:
      ValueError: the radius is not positive.
    """

    _name = "external_regret_optimizer_state"

    def __init__(self, optimizer, constraint_optimizer=None, maximum_multiplier_radius=None):
        super().__init__(optimizer, constraint_optimizer)
        if maximum_multiplier_radius and maximum_multiplier_radius <= 0.0:
            raise ValueError(
                f"maximum_multiplier_radius: {maximum_multiplier_radius} is not positive"
            )
        self._radius = maximum_multiplier_radius

    def _initial_state(self, num_constraints):
        return tf.zeros([num_constraints])

    def _play(self, state, objective, constraints, proxies):
        return objective + tf.tensordot(tf.stop_gradient(state), proxies, 1), constraints

    def _projected(self, state):
        value = state.read_value()
        if not self._radius:
            return tf.maximum(value, tf.zeros([], value.dtype))
        return project(value, self._radius, None, True)
