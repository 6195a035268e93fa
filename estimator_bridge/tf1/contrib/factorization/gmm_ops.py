"""Gaussian mixture models as graphs: `tf.contrib.factorization.gmm` and `GmmAlgorithm`."""

import math

import tensorflow.compat.v1 as tf

__all__ = ["GmmAlgorithm", "gmm"]

FULL, DIAGONAL = "full", "diag"
# What is added to variances, and to numbers that are divided by.
_SMALLEST_VARIANCE = 1e-3
_SMALLEST_WEIGHT = 2.220446049250313e-16


def _choose_means(shards, number, seed):
    """Returns `number` of the points, chosen at random with replacement."""
    rows = tf.add_n([tf.shape(shard)[0] for shard in shards])
    with tf.control_dependencies([tf.assert_less_equal(number, rows)]):
        rows = tf.cast(rows, tf.int64)
        chosen = tf.random_uniform([number], 0, rows, seed=seed, dtype=tf.int64)
    return tf.nn.embedding_lookup(list(shards), chosen % rows, partition_strategy="div")


def _covariance(points, kind):
    """Returns the covariance of points, or a row of variances."""
    rows = tf.to_float(tf.shape(points)[0])
    centered = points - tf.reduce_mean(points, 0, keepdims=True)
    if kind == DIAGONAL:
        return tf.reduce_sum(tf.square(centered), 0, keepdims=True) / (rows - 1)
    return tf.matmul(centered, centered, transpose_a=True) / (rows - 1)


class GmmAlgorithm:
    """The graph that fits a mixture of Gaussians by expectation and maximization.

    Args:
      data: list of float32 tensors [rows, dimensions].
      num_classes: int, number of Gaussians.
      initial_means: float32 matrix [num_classes, dimensions], or None for points at random.
      params: string with the letters of what is learned: w for weights, m for means, c for
        covariances; as in 1.x, means are learned with covariances only.
      covariance_type: "full" or "diag".
      random_seed: int, seed of the initialization.

    Raises:
      Exception: the covariance type is unknown.
    """

    CLUSTERS_WEIGHT = "alphas"
    CLUSTERS_VARIABLE = "clusters"
    CLUSTERS_COVS_VARIABLE = "clusters_covs"

    def __init__(
        self,
        data,
        num_classes,
        initial_means=None,
        params="wmc",
        covariance_type=FULL,
        random_seed=0,
    ):
        if covariance_type not in (FULL, DIAGONAL):
            # The type of 1.x.
            raise Exception(f"covariance_type: {covariance_type!r} is none of full, diag")
        self._params, self._number, self._kind = params, num_classes, covariance_type
        self._size = tf.shape(data[0])[1]
        self._smallest = tf.diag(tf.ones([self._size])) * _SMALLEST_VARIANCE
        self._create_variables()
        self._start = self._build_start(data, initial_means, random_seed)
        self._build(data)

    def _create_variables(self):
        # Their shapes are known once clusters have been chosen.
        nothing = tf.constant([], dtype=tf.float32)
        self._means = tf.Variable(nothing, name=self.CLUSTERS_VARIABLE, validate_shape=False)
        self._covs = tf.Variable(nothing, name=self.CLUSTERS_COVS_VARIABLE, validate_shape=False)
        shares = tf.tile([1.0 / self._number], [self._number])
        self._shares = tf.Variable(shares, name=self.CLUSTERS_WEIGHT, validate_shape=False)
        self._initialized = tf.Variable(False, dtype=tf.bool, name="initialized")

    def _build_start(self, shards, initial_means, seed):
        if initial_means is None:
            initial_means = _choose_means(shards, self._number, seed)
        means = tf.expand_dims(tf.convert_to_tensor(initial_means, tf.float32), 1)
        covariance = _covariance(shards[0], self._kind) + self._smallest
        if self._kind == DIAGONAL:
            covariance = tf.diag_part(covariance)
        times = [self._number] + [1] * covariance.shape.ndims
        covariances = tf.tile(tf.expand_dims(covariance, 0), times)
        given = [
            tf.assign(self._means, means, validate_shape=False),
            tf.assign(self._covs, covariances, validate_shape=False),
        ]
        with tf.control_dependencies(given):
            return tf.assign(self._initialized, True).op

    def _build(self, data):
        means = tf.convert_to_tensor(self._means)
        covariances = tf.convert_to_tensor(self._covs)
        shards = [tf.expand_dims(shard, 0) for shard in data]
        weighted = [
            self._log_probabilities(shard, means, covariances) + tf.log(self._shares)
            for shard in shards
        ]
        self._scores = [tf.reduce_logsumexp(one, axis=1, keepdims=True) for one in weighted]
        self._gammas = [
            tf.reshape(
                tf.exp(tf.expand_dims(one, 0) - score),
                tf.stack([tf.shape(shard)[1], self._number]),
            )
            for one, score, shard in zip(weighted, self._scores, shards)
        ]
        sums = [self._sums(shard, gamma) for shard, gamma in zip(shards, self._gammas)]
        self._steps = self._build_steps([tf.add_n(parts) for parts in zip(*sums)], means, len(data))
        self._likelihood = tf.reduce_logsumexp([tf.reduce_logsumexp(one) for one in self._scores])

    def _log_probabilities(self, shard, means, covariances):
        """Returns the log densities [rows, num_classes] of a shard [1, rows, dimensions]."""
        constant = tf.to_float(self._size) * math.log(2 * math.pi)
        if self._kind == DIAGONAL:
            determinants = tf.reduce_sum(
                tf.log(covariances + _SMALLEST_VARIANCE), axis=1, keepdims=True
            )
            inverse = tf.expand_dims(1.0 / (covariances + _SMALLEST_VARIANCE), 2)
            squares = tf.squeeze(tf.matmul(tf.squared_difference(shard, means), inverse), [2])
            return -0.5 * (constant + tf.transpose(determinants) + tf.transpose(squares))
        root = tf.cholesky(covariances + self._smallest)
        determinants = 2.0 * tf.reduce_sum(tf.log(tf.matrix_diag_part(root)), 1)
        away = tf.transpose(shard - means, [0, 2, 1])
        solved = tf.square(tf.linalg.triangular_solve(root, away))
        squares = tf.transpose(tf.reduce_sum(solved, 1), [1, 0])
        return -0.5 * (squares + constant + determinants)

    def _sums(self, shard, gamma):
        """Returns the sums of shares, of points and of their products, of one shard."""
        points = tf.squeeze(shard, [0])
        firsts = tf.expand_dims(tf.matmul(gamma, points, transpose_a=True), 1)
        repeated = tf.concat([shard] * self._number, 0)
        turned = tf.transpose(repeated, [0, 2, 1])
        scaled = tf.concat(
            [tf.expand_dims(turned[k] * gamma[:, k], 0) for k in range(self._number)], 0
        )
        return tf.reduce_sum(gamma, 0, keepdims=True), firsts, tf.matmul(scaled, repeated)

    def _build_steps(self, sums, means, num_shards):
        shares, firsts, seconds = sums
        steps = []
        with tf.control_dependencies(self._gammas):
            shares = tf.squeeze(shares)
            if "w" in self._params:
                parts = shares / float(num_shards)
                parts = parts / (tf.reduce_sum(parts) + _SMALLEST_WEIGHT)
                steps.append(tf.assign(self._shares, parts, validate_shape=False).op)
            divisor = tf.reshape(shares, [self._number, 1, 1]) + _SMALLEST_WEIGHT
            # As in 1.x, the step that learns the covariances is also what runs that of the means.
            before = []
            if "m" in self._params:
                found = tf.div(firsts, divisor)
                before.append(tf.assign(self._means, found, validate_shape=False))
            if "c" in self._params:
                with tf.control_dependencies(before):
                    found = self._new_covariances(seconds / divisor, means)
                    steps.append(tf.assign(self._covs, found, validate_shape=False).op)
        return steps

    def _new_covariances(self, seconds, means):
        found = []
        for k in range(self._number):
            square = tf.matmul(means[k], means[k], transpose_a=True)
            one = seconds[k] - square + self._smallest
            found.append(tf.expand_dims(tf.diag_part(one) if self._kind == DIAGONAL else one, 0))
        return tf.concat(found, 0)

    def init_ops(self):
        """Returns the operation that chooses the Gaussians."""
        return self._start

    def training_ops(self):
        """Returns the operations of a step."""
        return self._steps

    def is_initialized(self):
        """Returns the bool variable that tells whether the Gaussians have been chosen."""
        return self._initialized

    def alphas(self):
        """Returns the weights of the Gaussians, float32 [num_classes]."""
        return self._shares

    def clusters(self):
        """Returns the means, float32 [num_classes, 1, dimensions]."""
        return self._means

    def covariances(self):
        """Returns the covariances, float32 [num_classes, dimensions(, dimensions)]."""
        return self._covs

    def assignments(self):
        """Returns a list of one list with the Gaussians of each shard's points, int64 [rows]."""
        return [[tf.argmax(gamma, 1) for gamma in self._gammas]]

    def scores(self):
        """Returns the log likelihoods of the points, float32 [rows, 1]."""
        parts = [score + tf.log(gamma) for score, gamma in zip(self._scores, self._gammas)]
        return tf.squeeze(tf.reduce_logsumexp(parts, axis=2, keepdims=True), [0])

    def log_likelihood_op(self):
        """Returns the log likelihood of all points, a scalar."""
        return self._likelihood


def gmm(inp, initial_clusters, num_clusters, random_seed, covariance_type=FULL, params="wmc"):
    """Builds the graph that fits a mixture of Gaussians.

    Args:
      inp: float32 tensor [rows, dimensions], or a list of them.
      initial_clusters: matrix [num_clusters, dimensions], or "random" for points at random.
      num_clusters: int, number of Gaussians.
      random_seed: int, seed of the initialization.
      covariance_type: "full" or "diag".
      params: string with the letters of what is learned: w for weights, m for means, c for
        covariances; as in 1.x, means are learned with covariances only.

    Returns:
      Log likelihood, scores, assignments, operation of a step, operation that chooses the
      Gaussians, and the bool variable that tells whether it has run.
    """
    if isinstance(initial_clusters, str) and initial_clusters == "random":
        initial_clusters = None
    shards = inp if isinstance(inp, list) else [inp]
    found = GmmAlgorithm(
        *(shards, num_clusters, initial_clusters, params, covariance_type, random_seed)
    )
    return (
        found.log_likelihood_op(),
        found.scores(),
        found.assignments(),
        tf.group(*found.training_ops()),
        found.init_ops(),
        found.is_initialized(),
    )
