"""`tf.contrib.factorization.WALSMatrixFactorization`: weighted alternating least squares."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.factorization.wals_solver import Side, Solver, create_state
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

    Variables: `row_factors_shard_<i>` and `col_factors_shard_<i>` [part, embedding_dimension],
    their weights `row_weights_shard_<i>` and `col_weights_shard_<i>` [part], `row_gramian` and
    `col_gramian` [embedding_dimension, embedding_dimension], and the state of the sweep.

    As in 1.15, a gramian is computed when a sweep of the other side begins. Evaluation, which
    projects the rows first, and prediction use it, even if its factors have changed since.

    Args:
      num_rows: int, rows of the matrix.
      num_cols: int, columns of the matrix.
      embedding_dimension: int, columns of U and V.
      unobserved_weight: weight of unobserved entries.
      regularization_coeff: weight of the squares of all factors; None for 0.
      row_init: `random`, an array [num_rows, embedding_dimension], a list of one array per shard,
        or an initializer.
      col_init: the same for the columns.
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
                Side("row", num_rows, num_row_shards, row_init, row_weights, embedding_dimension),
                Side("col", num_cols, num_col_shards, col_init, col_weights, embedding_dimension),
            ]
            solver = Solver(sides, unobserved_weight, regularization_coeff or 0.0)
            if mode == tf.estimator.ModeKeys.TRAIN:
                return self._training(solver, features, max_sweeps)
            inputs = features.get(self.INPUT_ROWS), features.get(self.INPUT_COLS)
            on_rows = features.get(self.PROJECT_ROW, tf.constant(True))
            if mode == tf.estimator.ModeKeys.EVAL:
                loss = _for_side(on_rows, inputs, lambda side: solver.evaluate(side, inputs[side]))
                return tf.estimator.EstimatorSpec(mode, loss=loss)
            weights = features.get(self.PROJECTION_WEIGHTS, 1.0)
            projected = _for_side(
                features[self.PROJECT_ROW],
                inputs,
                lambda side: solver.project(side, solver.entries(side, inputs[side], weights)),
            )
            predictions = {self.PROJECTION_RESULT: projected}
            output = tf.estimator.export.PredictOutput(predictions)
            return tf.estimator.EstimatorSpec(
                mode, predictions, export_outputs={"serving_default": output}
            )

        self._shards = num_row_shards, num_col_shards
        super().__init__(model_fn, model_dir=model_dir, config=config)

    def _training(self, solver, features, max_sweeps):
        state = _Sweep(solver)
        # As in 1.15, the loss and the summaries of a step are those of the step before it.
        before = [one.read_value() for one in (state.loss, state.rwse, state.sweeps)]
        for name, value in zip(("loss", "root_weighted_squared_error", "completed_sweeps"), before):
            tf.summary.scalar(name, value)
        with tf.control_dependencies(before):
            steps = [
                state.step(number, features[name])
                for number, name in enumerate((self.INPUT_ROWS, self.INPUT_COLS))
            ]
        hooks = [_Sweeps(state, steps)]
        if max_sweeps is not None:
            hooks.append(_StopAfterSweeps(state.sweeps, max_sweeps))
        train_op = tf.assign_add(tf.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(
            tf.estimator.ModeKeys.TRAIN, loss=before[0], train_op=train_op, training_hooks=hooks
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


class _Sweep:
    """The state of training: which side is swept, and which of its rows have been seen.

    A sweep that is done is followed by the other side's at the start of the next step.
    """

    def __init__(self, solver):
        self._solver = solver
        self.on_rows = create_state("is_row_sweep", [], tf.bool, start=tf.ones_initializer())
        self.done = create_state("is_sweep_done", [], tf.bool)
        self.sweeps = create_state("completed_sweeps", [], tf.int32)
        self.loss, self.rwse = (create_state(n, [], tf.float32) for n in ("WALS_loss", "WALS_RWSE"))
        self._seen = [
            create_state(f"processed_{one.name}s", [one.size], tf.bool) for one in solver.sides
        ]

    def start(self, number):
        """Returns the operation that starts a sweep of a side."""
        return tf.group(
            self.on_rows.assign(number == 0, read_value=False),
            *(one.assign(tf.zeros_like(one), read_value=False) for one in self._seen),
        )

    def prepare(self):
        """Returns the operations that prepare a sweep of each side: the other one's gramian."""
        rows, columns = self._solver.sides
        return [
            one.gramian.assign(one.computed_gramian(), read_value=False) for one in (columns, rows)
        ]

    def step(self, number, matrix):
        """Returns the operation of a step of a side."""
        side, solver, seen = self._solver.sides[number], self._solver, self._seen[number]
        entries = solver.entries(number, matrix)
        numbers, factors = entries[0], solver.project(number, entries)
        loss, rwse = solver.loss(number, entries, factors)
        done = tf.reduce_all(tf.scatter_update(seen, numbers, tf.ones_like(numbers, tf.bool)))
        return tf.group(
            *side.assign(numbers, factors),
            *(self.loss.assign(loss), self.rwse.assign(rwse), self.done.assign(done)),
            self.sweeps.assign_add(tf.cast(done, tf.int32)),
        )


class _Sweeps(tf.train.SessionRunHook):
    """Runs a step of the side that is swept, so that only its input is read."""

    def __init__(self, state, steps):
        self._flags = state.on_rows.read_value(), state.done.read_value()
        self._on_rows = self._done = None
        self._steps = []
        for step in steps:
            with tf.control_dependencies([step]):
                self._steps.append(state.done.read_value())
        self._starts = [state.start(number) for number in (0, 1)]
        self._prepare = state.prepare()

    def after_create_session(self, session, coord):
        self._on_rows, self._done = session.run(self._flags)
        session.run(self._prepare[0 if self._on_rows else 1])

    def before_run(self, run_context):
        if self._done:
            self._on_rows = not self._on_rows
            number = 0 if self._on_rows else 1
            run_context.session.run(self._starts[number])
            run_context.session.run(self._prepare[number])
        return tf.train.SessionRunArgs(self._steps[0 if self._on_rows else 1])

    def after_run(self, run_context, run_values):
        self._done = run_values.results


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
