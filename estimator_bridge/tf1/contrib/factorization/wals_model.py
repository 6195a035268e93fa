"""`tf.contrib.factorization.WALSModel`: the operations of weighted alternating least squares."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.factorization.wals_solver import Side, Solver

__all__ = ["WALSModel"]


class WALSModel:
    """The variables and operations of a factorization A = U V^T of a sparse matrix.

    The order of operations: `initialize_op` once, `worker_init` once in each worker; for a sweep
    over the rows `row_update_prep_gramian_op` once, `initialize_row_update_op` in each worker, and
    the update of `update_row_factors` for each part of the matrix; then the same for the columns.
    A projection needs the two operations of its side, too.

    Args:
      input_rows: int, rows of the matrix.
      input_cols: int, columns of the matrix.
      n_components: int, columns of U and V.
      unobserved_weight: weight of unobserved entries.
      regularization: weight of the squares of all factors; None for 0.
      row_init: `random`, an array [input_rows, n_components], a list of one array per shard, or an
        initializer.
      col_init: the same for the columns.
      num_row_shards: int, number of parts of U.
      num_col_shards: int, number of parts of V.
      row_weights: number, numbers [input_rows], or one list of numbers per shard; None for
        `unobserved_weight` only.
      col_weights: the same for the columns.
      use_factors_weights_cache: whether each worker computes with copies of the other side's
        factors and of all weights.
      use_gramian_cache: the same for the gramian.
      use_scoped_vars: whether the variables have the scopes `row_factors`, `row_weights` and so on.

    Raises:
      ValueError: only one of row_weights and col_weights is None.
    """

    def __init__(
        self,
        input_rows,
        input_cols,
        n_components,
        unobserved_weight=0.1,
        regularization=None,
        row_init="random",
        col_init="random",
        num_row_shards=1,
        num_col_shards=1,
        row_weights=1,
        col_weights=1,
        use_factors_weights_cache=True,
        use_gramian_cache=True,
        use_scoped_vars=False,
    ):
        if (row_weights is None) != (col_weights is None):
            raise ValueError("row_weights and col_weights: both or neither must be None")
        self._sides = [
            _CachedSide("row", input_rows, num_row_shards, row_init, row_weights, n_components),
            _CachedSide("col", input_cols, num_col_shards, col_init, col_weights, n_components),
        ]
        for side in self._sides:
            side.is_scoped = use_scoped_vars
        self._solver = Solver(self._sides, unobserved_weight, regularization or 0.0)
        with tf.name_scope("transient_vars"):
            if use_factors_weights_cache:
                for side in self._sides:
                    side.cache_factors()
                for side in self._sides:
                    side.cache_weights()
            if use_gramian_cache:
                for side in self._sides:
                    side.cache_gramian()
        created = [
            variable
            for side in self._sides
            for variable in (*(side.weight_shards or ()), *side.shards, side.gramian)
        ]
        self._initialize = tf.group(*(one.initializer for one in created), name="initialize")
        self._worker_init = tf.group(*(side.fill_weights() for side in self._sides))
        # The operations of sweeps over the rows and over the columns.
        self._prepared = [
            other.gramian.assign(other.computed_gramian()).op for other in self._others
        ]
        self._swept = [
            tf.group(other.fill(), side.forget()) for side, other in zip(self._sides, self._others)
        ]

    @property
    def _others(self):
        return self._sides[::-1]

    @property
    def row_factors(self):
        """The variables of U, one for each shard."""
        return self._sides[0].shards

    @property
    def col_factors(self):
        """The variables of V, one for each shard."""
        return self._sides[1].shards

    @property
    def row_weights(self):
        """The variables of the weights of the rows, one for each shard; None without weights."""
        return self._sides[0].weight_shards

    @property
    def col_weights(self):
        """The variables of the weights of the columns; see `row_weights`."""
        return self._sides[1].weight_shards

    @property
    def initialize_op(self):
        """The operation that initializes the variables of the model."""
        return self._initialize

    @property
    def worker_init(self):
        """The operation that copies the weights into the caches of a worker."""
        return self._worker_init

    @property
    def row_update_prep_gramian_op(self):
        """The operation that computes the gramian of V for a sweep over the rows."""
        return self._prepared[0]

    @property
    def col_update_prep_gramian_op(self):
        """The operation that computes the gramian of U for a sweep over the columns."""
        return self._prepared[1]

    @property
    def initialize_row_update_op(self):
        """The operation that copies V and its gramian into the caches of a worker."""
        return self._swept[0]

    @property
    def initialize_col_update_op(self):
        """The operation that copies U and its gramian into the caches of a worker."""
        return self._swept[1]

    def update_row_factors(self, sp_input=None, transpose_input=False):
        """Computes new factors of some rows.

        Args:
          sp_input: SparseTensor float32 [any, input_cols]; its first index is the row in the whole
            matrix. All entries of a row must be there.
          transpose_input: whether it is the transposed matrix, [input_cols, any].

        Returns:
          The new factors [n, n_components] of the rows with entries, in the order of their first
          entries; the operation that writes them; and three float32 scalars for the whole matrix,
          estimated from these rows: the loss without regularization, the regularization, and the
          sum of the weights.
        """
        return self._update(0, sp_input, transpose_input)

    def update_col_factors(self, sp_input=None, transpose_input=False):
        """Computes new factors of some columns.

        Args:
          sp_input: SparseTensor float32 [input_rows, any]; see `update_row_factors`.
          transpose_input: whether it is the transposed matrix, [any, input_rows].

        Returns:
          What `update_row_factors` returns, for the columns.
        """
        return self._update(1, sp_input, transpose_input)

    def project_row_factors(self, sp_input=None, transpose_input=False, projection_weights=None):
        """Returns the best factors of rows, which need not belong to the matrix.

        Args:
          sp_input: as that of `update_row_factors`.
          transpose_input: whether it is transposed.
          projection_weights: number, or one for each row with entries; None for 1.

        Returns:
          float32 [n, n_components], in the order of the first entries of the rows.
        """
        return self._project(0, sp_input, transpose_input, projection_weights)

    def project_col_factors(self, sp_input=None, transpose_input=False, projection_weights=None):
        """Returns the best factors of columns, which need not belong to the matrix.

        Args:
          sp_input: as that of `update_col_factors`.
          transpose_input: whether it is transposed.
          projection_weights: number, or one for each column with entries; None for 1.

        Returns:
          float32 [n, n_components], in the order of the first entries of the columns.
        """
        return self._project(1, sp_input, transpose_input, projection_weights)

    @staticmethod
    def scatter_update(factor, indices, values, sharding_func, name=None):
        """Returns the operation that writes rows of a matrix that is divided into shards.

        Args:
          factor: list of variables [part, n_components].
          indices: int [n], the rows.
          values: float32 [n, n_components].
          sharding_func: function from `indices` to the shard of each row and its place there.
          name: of the operation.
        """
        if len(factor) == 1:
            return tf.scatter_update(factor[0], indices, values, name=name).op
        shards, places = sharding_func(indices)
        parts = zip(
            factor,
            tf.dynamic_partition(places, shards, len(factor)),
            tf.dynamic_partition(values, shards, len(factor)),
        )
        return tf.group(*(tf.scatter_update(*part) for part in parts), name=name)

    def _update(self, number, matrix, transposed):
        side = self._sides[number]
        with tf.name_scope(f"update_{side.name}_factors"):
            entries = self._solver.entries(number, _own_first(number, matrix, transposed))
            factors = self._solver.project(number, entries)
            losses = self._solver.losses(number, entries, factors)
        update = tf.group(*side.assign(entries[0], factors), name=f"{side.name}_update")
        return (factors, update, *losses)

    def _project(self, number, matrix, transposed, weights):
        with tf.name_scope(f"project_{self._sides[number].name}_factors"):
            entries = self._solver.entries(
                number,
                _own_first(number, matrix, transposed),
                tf.convert_to_tensor(1.0 if weights is None else weights, tf.float32),
            )
            return self._solver.project(number, entries)


def _own_first(number, matrix, transposed):
    """Returns the matrix with the indices of the side first."""
    if (number == 1) != bool(transposed):
        return tf.SparseTensor(
            tf.reverse(matrix.indices, [1]), matrix.values, tf.reverse(matrix.dense_shape, [0])
        )
    return matrix


class _CachedSide(Side):
    """A side whose factors, weights and gramian may have copies in a worker.

    As in 1.15, the copies of factors and of the gramian are empty until the other side is swept,
    and again when this side is: a projection without its preparation fails.
    """

    # Empty without copies; the gramian has at most one.
    _factor_caches = _weight_caches = _gramian_caches = ()

    def create_gramian(self):
        zeros = tf.zeros([self.dimension] * 2)
        self.gramian = tf.Variable(zeros, name=f"{self.name}_gramian")

    def cache_factors(self):
        self._factor_caches = self._create_caches("factors_cache", self.shards)

    def cache_weights(self):
        self._weight_caches = self._create_caches("wt_cache", self.weight_shards or ())

    def _create_caches(self, name, shards):
        return [_create_cache(f"{self.name}_{name}_shard_{i}") for i in range(len(shards))]

    def cache_gramian(self):
        self._gramian_caches = [_create_cache(f"{self.name}_gramian_cache")]

    def fill_weights(self):
        return _copy(self.weight_shards or (), self._weight_caches)

    def fill(self):
        """Returns the operation that copies the factors and the gramian."""
        return tf.group(
            _copy(self.shards, self._factor_caches), _copy([self.gramian], self._gramian_caches)
        )

    def forget(self):
        """Returns the operation that empties the copies of the factors and the gramian."""
        caches = [*self._factor_caches, *self._gramian_caches]
        return tf.group(*(tf.assign(one, 1.0, validate_shape=False) for one in caches))

    def factors(self):
        if not self._factor_caches:
            return super().factors()
        return tf.concat([one.read_value() for one in self._factor_caches], 0)

    def weights(self):
        if not self._weight_caches:
            return super().weights()
        return tf.concat([one.read_value() for one in self._weight_caches], 0)

    def read_gramian(self):
        if not self._gramian_caches:
            return super().read_gramian()
        return self._gramian_caches[0].read_value()


def _copy(variables, caches):
    return tf.group(
        *(
            tf.assign(cache, variable.read_value(), validate_shape=False)
            for variable, cache in zip(variables, caches)
        )
    )


def _create_cache(name):
    return tf.Variable(
        1.0,
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        validate_shape=False,
        name=name,
        use_resource=False,
    )
