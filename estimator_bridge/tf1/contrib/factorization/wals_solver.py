"""The variables and the least-squares equations of weighted alternating least squares.

The method is that of Hu, Koren and Volinsky (2008). A matrix A [rows, columns] is approximated by U
V^T. An observed entry has the weight `unobserved_weight + row_weight * column_weight`. All other
entries have the value 0 and the weight `unobserved_weight`. For fixed V each row of U solves a
small linear system, and vice versa.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.factorization.outer_products import sum_outer_products

__all__ = ["Side", "Solver", "create_state"]


class Side:
    """The variables of the rows or of the columns.

    Args:
      name: `row` or `col`.
      size: int, how many there are.
      num_shards: int, parts of the factors.
      init: as `row_init` of WALSMatrixFactorization.
      weights: as its `row_weights`.
      dimension: int, number of factors.

    Attributes:
      shards: the variables of the factors.
      weight_shards: the variables of the weights; None without weights.
      gramian: the variable of the product of the transposed factors and the factors.
      is_scoped: whether the variables of the factors and of the weights have scopes of their own.
    """

    is_scoped = False

    def __init__(self, name, size, num_shards, init, weights, dimension):
        self.name, self.size, self.dimension = name, size, dimension
        # If the size is not a multiple, the first shards have one row more.
        self._sizes = [len(part) for part in np.array_split(np.arange(size), num_shards)]
        self._ends = np.cumsum(self._sizes)
        self._starts = self._ends - self._sizes
        self._init, self._given_weights = init, weights
        self.weight_shards = self.shards = self.gramian = None

    def _scope(self, kind):
        return f"{self.name}_{kind}/" if self.is_scoped else ""

    def create_weights(self):
        if self._given_weights is None:
            return
        given = self._given_weights
        if isinstance(given, (list, tuple, np.ndarray)):
            given = np.concatenate([np.ravel(part) for part in given])
        else:
            given = np.full(self.size, given)
        parts = np.split(given.astype(np.float32), self._ends[:-1])
        self.weight_shards = [
            tf.Variable(part, name=f"{self._scope('weights')}{self.name}_weights_shard_{i}")
            for i, part in enumerate(parts)
        ]

    def create_factors(self):
        self.shards = [
            tf.Variable(value, name=f"{self._scope('factors')}{self.name}_factors_shard_{i}")
            for i, value in enumerate(self._initial_values())
        ]

    def _initial_values(self):
        init, shapes = self._init, [(size, self.dimension) for size in self._sizes]
        if isinstance(init, str):
            if init != "random":
                raise TypeError(f"{self.name}_init: 'random' or values, not {init!r}")
            return [tf.random_normal(shape) for shape in shapes]
        if callable(init):
            return [init(shape, dtype=tf.float32) for shape in shapes]
        if isinstance(init, (list, tuple)) and np.ndim(init[0]) == 2:
            return [tf.convert_to_tensor(part, tf.float32) for part in init]
        return tf.split(tf.convert_to_tensor(init, tf.float32), self._sizes)

    def create_gramian(self):
        self.gramian = create_state(f"{self.name}_gramian", [self.dimension] * 2, tf.float32, True)

    def computed_gramian(self):
        """Returns the product of the transposed factors and the factors."""
        factors = Side.factors(self)
        return tf.matmul(factors, factors, transpose_a=True)

    def factors(self):
        """Returns all factors, [size, dimension]."""
        return tf.concat([shard.read_value() for shard in self.shards], 0)

    def read_gramian(self):
        """Returns the gramian for the equations of the other side, [dimension, dimension]."""
        return self.gramian.read_value()

    def weights(self):
        """Returns all weights, [size], or None."""
        return None if self.weight_shards is None else tf.concat([*self.weight_shards], 0)

    def assign(self, numbers, factors):
        """Returns the operations that set some factors.

        Args:
          numbers: int [n], the places of the factors.
          factors: float32 [n, dimension].
        """
        updates = []
        for shard, start, end in zip(self.shards, self._starts, self._ends):
            here = tf.logical_and(numbers >= start, numbers < end)
            places = tf.boolean_mask(numbers, here) - start
            updates.append(tf.scatter_update(shard, places, tf.boolean_mask(factors, here)))
        return updates


class Solver:
    """The least-squares equations. Side 0 is the rows, side 1 the columns."""

    def __init__(self, sides, unobserved_weight, regularization):
        self.sides = sides
        self._unobserved, self._regularization = unobserved_weight, regularization
        # The order in which 1.15 creates the variables.
        for side in sides:
            side.create_weights()
        for side in sides:
            side.create_factors()
        for side in sides:
            side.create_gramian()

    def entries(self, side, matrix, own_weights=None):
        """Returns the rows with entries, and the values for their equations.

        Args:
          side: 0 for rows, 1 for columns.
          matrix: SparseTensor whose first index is the row (or column) in the whole matrix.
          own_weights: float32, scalar or [n], of the rows; None for those of the model.

        Returns:
          The numbers of the rows [n]; for each entry its row among them, the other side's factors
          [dimension], its value, and its weight beyond the unobserved weight.
        """
        numbers, other = tf.unstack(matrix.indices, axis=1)
        rows, places = tf.unique(numbers)
        factors = tf.gather(self.sides[1 - side].factors(), other)
        values = tf.cast(matrix.values, tf.float32)
        weights = self.sides[1 - side].weights()
        if weights is None:
            return rows, places, factors, values, tf.zeros_like(values)
        if own_weights is None:
            own = tf.gather(self.sides[side].weights(), numbers)
        else:
            own = tf.gather(tf.broadcast_to(own_weights, tf.shape(rows)), places)
        return rows, places, factors, values, own * tf.gather(weights, other)

    def project(self, side, entries):
        """Returns the best factors of some rows, float32 [n, dimension].

        Args:
          side: 0 for rows, 1 for columns.
          entries: what `entries` returned.
        """
        rows, places, factors, values, extra = entries
        count = tf.size(rows)
        common = self._unobserved * self.sides[1 - side].read_gramian()
        common += self._regularization * tf.eye(self.sides[side].dimension)
        left = common + sum_outer_products(factors, extra, places, count)
        targets = ((self._unobserved + extra) * values)[:, None] * factors
        right = tf.unsorted_segment_sum(targets, places, count)
        return tf.matrix_solve(left, right[:, :, None])[:, :, 0]

    def evaluate(self, side, matrix):
        """Returns the loss of the best factors of some rows, as `loss`.

        Args:
          side: 0 for rows, 1 for columns.
          matrix: as that of `entries`.
        """
        entries = self.entries(side, matrix)
        return self.loss(side, entries, self.project(side, entries))[0]

    def loss(self, side, entries, own):
        """Returns the loss and the weighted RMSE of the whole matrix, estimated from some rows.

        Args:
          side: 0 for rows, 1 for columns.
          entries: what `entries` returned.
          own: the factors of the rows, float32 [n, dimension].
        """
        error, penalty, weight = self.losses(side, entries, own)
        # If all entries are observed, the rest is 0, and rounding may make it negative.
        return error + penalty, tf.sqrt(tf.maximum(error, 0.0) / weight)

    def losses(self, side, entries, own):
        """Returns the terms of the loss of the whole matrix, estimated from some rows.

        Args:
          side: 0 for rows, 1 for columns.
          entries: what `entries` returned.
          own: the factors of the rows, [n, dimension].

        Returns:
          float32 scalars: the weighted sum of squared errors, the regularization, and the sum of
          the weights.
        """
        rows, places, factors, values, extra = entries
        gramian = self.sides[1 - side].read_gramian()
        guesses = tf.reduce_sum(tf.gather(own, places) * factors, 1)
        everywhere = tf.reduce_sum(tf.matmul(own, gramian) * own)
        observed = (self._unobserved + extra) * (values - guesses) ** 2
        rest = everywhere - tf.reduce_sum(guesses**2)
        error = self._unobserved * rest + tf.reduce_sum(observed)
        size = tf.to_float(tf.size(rows)) * self.sides[1 - side].size
        weight = self._unobserved * size + tf.reduce_sum(extra)
        share = self.sides[side].size / tf.to_float(tf.maximum(tf.size(rows), 1))
        penalty = share * tf.reduce_sum(own**2) + tf.linalg.trace(gramian)
        return share * error, self._regularization * penalty, share * weight


def create_state(name, shape, dtype, trainable=False, start=None):
    """Returns a variable of which a read does not see a later change, as a reference's would.

    Args:
      name: of the variable.
      shape: list of int.
      dtype: of the variable.
      trainable: whether it is in the collection of trainable variables.
      start: initializer; None for zeros.
    """
    start = tf.zeros_initializer() if start is None else start
    return tf.get_variable(name, shape, dtype, start, trainable=trainable, use_resource=True)
