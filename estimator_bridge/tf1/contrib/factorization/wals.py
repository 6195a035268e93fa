"""`tf.contrib.factorization.WALSMatrixFactorization`: weighted alternating least squares.

The method is that of Hu, Koren and Volinsky (2008). A matrix A [rows, columns] is approximated by U
V^T. An observed entry has the weight `unobserved_weight + row_weight * column_weight`. All other
entries have the value 0 and the weight `unobserved_weight`. For fixed V each row of U solves a
small linear system, and vice versa.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.fitting import FitMixin

__all__ = ["WALSMatrixFactorization"]


class WALSMatrixFactorization(FitMixin, tf.estimator.Estimator):
    """An Estimator that factorizes a sparse matrix.

    The features are INPUT_ROWS, a SparseTensor [any, columns] whose first index is the row in the
    whole matrix, and INPUT_COLS, the same for the transposed matrix. Prediction also uses
    PROJECT_ROW, a scalar bool tensor that selects one of the two, and PROJECTION_WEIGHTS, a scalar
    or tensor [projected]. There are no labels. Training alternates between sweeps over all rows and
    over all columns. The predictions are PROJECTION_RESULT [projected, embedding_dimension], one
    row for each row with entries, in the order of their first entries.

    Variables: `row_factors_shard_<i>` and `col_factors_shard_<i>` [part, embedding_dimension].

    Args:
      num_rows: int, rows of the matrix.
      num_cols: int, columns of the matrix.
      embedding_dimension: int, columns of U and V.
      unobserved_weight: weight of unobserved entries.
      regularization_coeff: weight of the squares of all factors; None for 0.
      row_init: `random`, or an array or tensor [num_rows, embedding_dimension].
      col_init: `random`, or an array or tensor [num_cols, embedding_dimension].
      num_row_shards: int, number of parts of U.
      num_col_shards: int, number of parts of V.
      row_weights: number, or one list of numbers per shard; None for `unobserved_weight` only.
      col_weights: number, or one list of numbers per shard; None for `unobserved_weight` only.
      use_factors_weights_cache_for_training: ignored.
      use_gramian_cache_for_training: ignored.
      max_sweeps: number of sweeps after which training ends; None for no limit.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.

    Raises:
      ValueError: only one of row_weights and col_weights is None.
    """

    INPUT_ROWS = "input_rows"
    INPUT_COLS = "input_cols"
    PROJECT_ROW = "project_row"
    PROJECTION_WEIGHTS = "projection_weights"
    PROJECTION_RESULT = "projection"
    LOSS = "WALS_loss"
    RWSE = "WALS_RWSE"

    def __init__(
        self,
        num_rows,
        num_cols,
        embedding_dimension,
        unobserved_weight=0.1,
        regularization_coeff=None,
        row_init="random",
        col_init="random",
        num_row_shards=1,
        num_col_shards=1,
        row_weights=1,
        col_weights=1,
        use_factors_weights_cache_for_training=True,
        use_gramian_cache_for_training=True,
        max_sweeps=None,
        model_dir=None,
        config=None,
    ):
        if (row_weights is None) != (col_weights is None):
            raise ValueError("row_weights and col_weights: both or neither must be None")

        def model_fn(features, labels, mode):
            del labels
            sides = [
                _Side("row", num_rows, num_row_shards, row_init, row_weights, embedding_dimension),
                _Side("col", num_cols, num_col_shards, col_init, col_weights, embedding_dimension),
            ]
            solver = _Solver(sides, unobserved_weight, regularization_coeff or 0.0)
            inputs = features.get(self.INPUT_ROWS), features.get(self.INPUT_COLS)
            if mode == tf.estimator.ModeKeys.TRAIN:
                return self._training(solver, inputs, max_sweeps)
            if mode == tf.estimator.ModeKeys.EVAL:
                loss, rwse = solver.loss(0, inputs[0])
                metrics = {self.RWSE: tf.metrics.mean(rwse)}
                return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
            weights = features.get(self.PROJECTION_WEIGHTS)
            projected = _for_side(
                features[self.PROJECT_ROW],
                inputs,
                lambda side: solver.project(side, inputs[side], weights)[1],
            )
            predictions = {self.PROJECTION_RESULT: projected}
            output = tf.estimator.export.PredictOutput(predictions)
            return tf.estimator.EstimatorSpec(
                mode, predictions, export_outputs={"serving_default": output}
            )

        self._shards = num_row_shards, num_col_shards
        super().__init__(model_fn, model_dir=model_dir, config=config)

    def _training(self, solver, inputs, max_sweeps):
        def state(name, shape, dtype, start):
            # Resource variables: a branch changes `on_rows` while other branches still read it,
            # and reads of 1.x's reference variables would see the change.
            return tf.get_variable(name, shape, dtype, start, trainable=False, use_resource=True)

        on_rows = state("on_rows", [], tf.bool, tf.ones_initializer())
        sweeps = state("completed_sweeps", [], tf.int32, tf.zeros_initializer())
        seen = [
            state(f"processed_{side.name}s", [side.size], tf.bool, tf.zeros_initializer())
            for side in solver.sides
        ]

        def step(number):
            numbers, factors = solver.project(number, inputs[number])
            with tf.control_dependencies(solver.sides[number].assign(numbers, factors)):
                loss, rwse = solver.loss(number, inputs[number])
                marked = tf.scatter_update(seen[number], numbers, tf.ones_like(numbers, tf.bool))
            done = tf.reduce_all(marked)

            def turn():
                nobody = tf.zeros_like(seen[number])
                with tf.control_dependencies([loss, rwse, done]):
                    return tf.group(
                        seen[number].assign(nobody),
                        on_rows.assign(number == 1),
                        sweeps.assign_add(1),
                    )

            with tf.control_dependencies([tf.cond(done, turn, tf.no_op)]):
                return tf.identity(loss), tf.identity(rwse)

        loss, rwse = _for_side(on_rows.read_value(), inputs, step)
        tf.summary.scalar(self.LOSS, loss)
        tf.summary.scalar(self.RWSE, rwse)
        with tf.control_dependencies([loss]):
            train_op = tf.assign_add(tf.train.get_global_step(), 1)
        hooks = [] if max_sweeps is None else [_StopAfterSweeps(sweeps, max_sweeps)]
        return tf.estimator.EstimatorSpec(
            tf.estimator.ModeKeys.TRAIN, loss=loss, train_op=train_op, training_hooks=hooks
        )

    def get_row_factors(self):
        """Returns U of the latest checkpoint.

        Returns:
          List of arrays, one per shard.
        """
        return self._factors("row", self._shards[0])

    def get_col_factors(self):
        """Returns V of the latest checkpoint.

        Returns:
          List of arrays, one per shard.
        """
        return self._factors("col", self._shards[1])

    def _factors(self, name, shards):
        return [self.get_variable_value(f"{name}_factors_shard_{i}") for i in range(shards)]

    def get_projections(self, input_fn):
        """Projects the rows (or columns) of an input.

        Args:
          input_fn: input_fn that returns the features of prediction.

        Yields:
          Arrays [embedding_dimension].
        """
        return (found[self.PROJECTION_RESULT] for found in self.predict(input_fn=input_fn))


class _Side:
    """The factors of the rows or of the columns."""

    def __init__(self, name, size, num_shards, init, weights, dimension):
        self.name, self.size, self.dimension = name, size, dimension
        # If the size is not a multiple, the first shards have one row more.
        sizes = [len(part) for part in np.array_split(np.arange(size), num_shards)]
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        if isinstance(init, str):
            values = [tf.random_normal([length, dimension]) for length in sizes]
        else:
            values = tf.split(tf.convert_to_tensor(init, tf.float32), sizes)
        self._shards = [
            tf.Variable(value, name=f"{name}_factors_shard_{i}", trainable=False)
            for i, value in enumerate(values)
        ]
        self._weights = weights

    def factors(self):
        """Returns all factors, [size, dimension]."""
        return tf.concat([shard.read_value() for shard in self._shards], 0)

    def weights(self):
        """Returns all weights, [size], or None."""
        if self._weights is None:
            return None
        if np.ndim(self._weights) == 0 and not isinstance(self._weights, (list, tuple)):
            return tf.fill([self.size], float(self._weights))
        return tf.constant(np.concatenate([np.ravel(part) for part in self._weights]), tf.float32)

    def assign(self, numbers, factors):
        """Returns the operations that set the factors of `numbers` [n]."""
        updates = []
        for shard, start, end in zip(self._shards, self._starts, self._ends):
            here = tf.logical_and(numbers >= start, numbers < end)
            places = tf.boolean_mask(numbers, here) - start
            updates.append(tf.scatter_update(shard, places, tf.boolean_mask(factors, here)))
        return updates


class _Solver:
    """The least-squares equations. Side 0 is the rows, side 1 the columns."""

    def __init__(self, sides, unobserved_weight, regularization):
        self.sides = sides
        self._unobserved, self._regularization = unobserved_weight, regularization

    def _entries(self, side, matrix, own_weights=None):
        """Returns the rows with entries, and the values for their equations.

        The results are: the numbers of the rows [n]; for each entry its row among them, the other
        side's factors [dimension], its value, and its weight beyond the unobserved weight.
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

    def project(self, side, matrix, own_weights=None):
        """Returns the rows with entries [n] and their best factors [n, dimension]."""
        rows, places, factors, values, extra = self._entries(side, matrix, own_weights)
        other, count = self.sides[1 - side].factors(), tf.size(rows)
        common = self._unobserved * tf.matmul(other, other, transpose_a=True)
        common += self._regularization * tf.eye(self.sides[side].dimension)
        squares = extra[:, None, None] * factors[:, :, None] * factors[:, None, :]
        left = common + tf.unsorted_segment_sum(squares, places, count)
        targets = ((self._unobserved + extra) * values)[:, None] * factors
        right = tf.unsorted_segment_sum(targets, places, count)
        return rows, tf.matrix_solve(left, right[:, :, None])[:, :, 0]

    def loss(self, side, matrix):
        """Returns the loss and the weighted RMSE of the whole matrix, estimated from some rows."""
        rows, places, factors, values, extra = self._entries(side, matrix)
        own = tf.gather(self.sides[side].factors(), rows)
        other = self.sides[1 - side].factors()
        guesses = tf.reduce_sum(tf.gather(own, places) * factors, 1)
        everywhere = tf.reduce_sum(tf.matmul(own, other, transpose_b=True) ** 2)
        observed = (self._unobserved + extra) * (values - guesses) ** 2
        # If all entries are observed, the rest is 0, and rounding may make it negative.
        rest = tf.maximum(everywhere - tf.reduce_sum(guesses**2), 0.0)
        error = self._unobserved * rest + tf.reduce_sum(observed)
        size = tf.to_float(tf.size(rows)) * self.sides[1 - side].size
        weight = self._unobserved * size + tf.reduce_sum(extra)
        share = self.sides[side].size / tf.to_float(tf.maximum(tf.size(rows), 1))
        penalty = share * tf.reduce_sum(own**2) + tf.reduce_sum(other**2)
        return share * error + self._regularization * penalty, tf.sqrt(error / weight)


def _for_side(on_rows, inputs, function):
    """Returns function(0) if `on_rows`, else function(1); the only one if one input is None."""
    for number in (0, 1):
        if inputs[1 - number] is None:
            return function(number)
    return tf.cond(on_rows, lambda: function(0), lambda: function(1))


class _StopAfterSweeps(tf.train.SessionRunHook):
    def __init__(self, sweeps, max_sweeps):
        self._sweeps, self._max_sweeps = sweeps, max_sweeps

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._sweeps)

    def after_run(self, run_context, run_values):
        if run_context.session.run(self._sweeps) >= self._max_sweeps:
            run_context.request_stop()
