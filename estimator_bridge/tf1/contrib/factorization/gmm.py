"""`tf.contrib.factorization.GMM`: a Gaussian mixture model as an Estimator of tf.contrib.learn."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.factorization import gmm_ops as _gmm_ops
from estimator_bridge.tf1.contrib.learn import clusters as _clusters
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.model_spec import ModelFnOps

__all__ = ["GMM"]


class GMM(Estimator):
    """A Gaussian mixture model.

    Args:
      num_clusters: int, number of Gaussians.
      model_dir: directory for checkpoints and summaries, or None.
      random_seed: int, seed of the initialization.
      params: string with the letters of what is learned: w for weights, m for means, c for
        covariances; as in 1.x, means are learned with covariances only.
      initial_clusters: matrix [num_clusters, dimensions], or "random" for points at random.
      covariance_type: "full" or "diag".
      config: RunConfig, or None.
    """

    SCORES = "scores"
    LOG_LIKELIHOOD = "loss"
    ASSIGNMENTS = "assignments"

    def __init__(
        self,
        num_clusters,
        model_dir=None,
        random_seed=0,
        params="wmc",
        initial_clusters="random",
        covariance_type="full",
        config=None,
    ):
        def model_fn(features, labels, mode, config):
            del labels
            likelihood, scores, assignments, step, start, ready = _gmm_ops.gmm(
                _clusters.joined(features),
                *(initial_clusters, num_clusters, random_seed, covariance_type, params),
            )
            counted = tf.assign_add(tf.train.get_global_step(), 1)
            return ModelFnOps(
                mode,
                {self.ASSIGNMENTS: assignments[0][0]},
                likelihood,
                tf.group(step, counted),
                {
                    self.SCORES: _clusters.last_value(scores),
                    self.LOG_LIKELIHOOD: _clusters.total(likelihood),
                },
                training_hooks=[_clusters.InitializeClusters(start, ready, config.is_chief)],
            )

        super().__init__(model_fn, model_dir, config)

    def predict_assignments(self, input_fn=None, batch_size=None, outputs=None):
        """Yields the index of the likeliest Gaussian of each point.

        Args:
          input_fn: input_fn of the points.
          batch_size: ignored with an input_fn.
          outputs: ignored.
        """
        del outputs
        for row in self.predict(input_fn=input_fn, batch_size=batch_size):
            yield row[self.ASSIGNMENTS]

    def score(self, input_fn=None, batch_size=None, steps=None):
        """Returns the log likelihood of points.

        Args:
          input_fn: input_fn of the points.
          batch_size: ignored with an input_fn.
          steps: number of batches; None for all.

        Returns:
          float.
        """
        found = self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)
        return np.sum(found[self.LOG_LIKELIHOOD])

    def weights(self):
        """Returns the weights of the Gaussians, array [num_clusters]."""
        return self.get_variable_value(_gmm_ops.GmmAlgorithm.CLUSTERS_WEIGHT)

    def clusters(self):
        """Returns the means, array [num_clusters, dimensions]."""
        found = self.get_variable_value(_gmm_ops.GmmAlgorithm.CLUSTERS_VARIABLE)
        return np.squeeze(found, 1)

    def covariances(self):
        """Returns the covariances, array [num_clusters, dimensions(, dimensions)]."""
        return self.get_variable_value(_gmm_ops.GmmAlgorithm.CLUSTERS_COVS_VARIABLE)
