"""`tf.contrib.learn.KMeansClustering`, the predecessor of that of tf.contrib.factorization."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import clustering_ops
from estimator_bridge.tf1.contrib.learn import clusters as _clusters
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.model_spec import ModelFnOps

__all__ = ["KMeansClustering"]


class KMeansClustering(Estimator):
    """k-means clustering.

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
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering_ops.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering_ops.COSINE_DISTANCE
    RANDOM_INIT = clustering_ops.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering_ops.KMEANS_PLUS_PLUS_INIT
    SCORES = "scores"
    CLUSTER_IDX = "cluster_idx"
    CLUSTERS = "clusters"
    ALL_SCORES = "all_scores"
    LOSS_OP_NAME = "kmeans_loss"

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
    ):
        def model_fn(features, labels, mode, config):
            del labels
            distances, nearest, losses, ready, start, step = clustering_ops.KMeans(
                _clusters.joined(features),
                num_clusters,
                initial_clusters=initial_clusters,
                distance_metric=distance_metric,
                use_mini_batch=use_mini_batch,
                mini_batch_steps_per_iteration=mini_batch_steps_per_iteration,
                random_seed=random_seed,
                kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
            ).training_graph()
            loss = tf.reduce_sum(losses, name=self.LOSS_OP_NAME)
            tf.summary.scalar("loss/raw", loss)
            counted = tf.assign_add(tf.train.get_global_step(), 1)
            hooks = [_clusters.InitializeClusters(start, ready, config.is_chief)]
            if relative_tolerance is not None:
                hooks.append(_clusters.StopAtRelativeChange(loss, relative_tolerance))
            return ModelFnOps(
                mode,
                {self.ALL_SCORES: distances[0], self.CLUSTER_IDX: nearest[0]},
                loss,
                tf.group(step, counted),
                {self.SCORES: _clusters.last_value(loss)},
                training_hooks=hooks,
            )

        super().__init__(model_fn, model_dir, config)

    def predict_cluster_idx(self, input_fn=None):
        """Yields the index of the nearest cluster of each point.

        Args:
          input_fn: input_fn of the points.
        """
        for row in self.predict(input_fn=input_fn, outputs=[self.CLUSTER_IDX]):
            yield row[self.CLUSTER_IDX]

    def score(self, input_fn=None, steps=None):
        """Returns the sum of the distances to the nearest clusters.

        Args:
          input_fn: input_fn of the points.
          steps: number of batches; None for all.

        Returns:
          float.
        """
        return np.sum(self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES])

    def transform(self, input_fn=None, as_iterable=False):
        """Returns the distances to all clusters.

        Args:
          input_fn: input_fn of the points.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator of arrays [num_clusters], or array [rows, num_clusters].
        """
        found = self.predict(input_fn=input_fn, outputs=[self.ALL_SCORES], as_iterable=as_iterable)
        if not as_iterable:
            return found[self.ALL_SCORES]
        return (row[self.ALL_SCORES] for row in found)

    def clusters(self):
        """Returns the centers of the clusters, array [num_clusters, dimensions]."""
        return self.get_variable_value(self.CLUSTERS)
