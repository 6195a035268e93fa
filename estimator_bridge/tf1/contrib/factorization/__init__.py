"""`tf.contrib.factorization`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import clustering_ops as _clustering_ops
from estimator_bridge.tf1.contrib.factorization import gmm as _gmm
from estimator_bridge.tf1.contrib.factorization import gmm_ops as _gmm_ops
from estimator_bridge.tf1.contrib.factorization import wals as _wals
from estimator_bridge.tf1.contrib.factorization import wals_model as _wals_model

KMeans = _clustering_ops.KMeans
GMM = _gmm.GMM
GmmAlgorithm = _gmm_ops.GmmAlgorithm
gmm = _gmm_ops.gmm
WALSMatrixFactorization = _wals.WALSMatrixFactorization
WALSModel = _wals_model.WALSModel

_KMeans = tf.estimator.experimental.KMeans
SQUARED_EUCLIDEAN_DISTANCE = _KMeans.SQUARED_EUCLIDEAN_DISTANCE
COSINE_DISTANCE = _KMeans.COSINE_DISTANCE
RANDOM_INIT = _KMeans.RANDOM_INIT
KMEANS_PLUS_PLUS_INIT = _KMeans.KMEANS_PLUS_PLUS_INIT


class KMeansClustering(tf.estimator.experimental.KMeans):
    """k-means clustering as an Estimator.

    Args:
      num_clusters: int, number of clusters.
      model_dir: directory for checkpoints and summaries, or None.
      initial_clusters: RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, a tensor or a function.
      distance_metric: SQUARED_EUCLIDEAN_DISTANCE or COSINE_DISTANCE.
      random_seed: int, seed of the initialization.
      use_mini_batch: whether to update from batches; else from the whole input.
      mini_batch_steps_per_iteration: int, steps between synchronizations of the clusters.
      kmeans_plus_plus_num_retries: int, points tried per cluster by KMEANS_PLUS_PLUS_INIT.
      relative_tolerance: relative change of the loss below which training stops, or None.
      config: RunConfig, or None.
      feature_columns: columns to cluster by; None for all features.
    """

    def __init__(
        self,
        num_clusters,
        model_dir=None,
        initial_clusters=RANDOM_INIT,
        distance_metric=SQUARED_EUCLIDEAN_DISTANCE,
        random_seed=0,
        use_mini_batch=True,
        mini_batch_steps_per_iteration=1,
        kmeans_plus_plus_num_retries=2,
        relative_tolerance=None,
        config=None,
        feature_columns=None,
    ):
        super().__init__(
            num_clusters,
            model_dir=model_dir,
            initial_clusters=initial_clusters,
            distance_metric=distance_metric,
            seed=random_seed,
            use_mini_batch=use_mini_batch,
            mini_batch_steps_per_iteration=mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
            relative_tolerance=relative_tolerance,
            config=config,
            feature_columns=feature_columns,
        )
