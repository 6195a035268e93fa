"""The Estimators of `tf.contrib.linear_optimizer`."""

from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.heads import multi_class_head, regression_head
from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey
from estimator_bridge.tf1.contrib.learn.run_config import RunConfig
from estimator_bridge.tf1.contrib.learn.sdca import sdca_model_fn
from estimator_bridge.tf1.contrib.linear_optimizer.optimizer import SDCAOptimizer

__all__ = ["SDCALinearRegressor", "SDCALogisticClassifier"]


class _SDCAEstimator(Estimator):
    """A linear model of one output.

    Args:
      head: head of tf.contrib.learn.
      loss_type: as in SdcaModel.
      columns: feature columns of tf.contrib.layers.
      weight_column_name: name of the feature with the examples' weights, or None.
      given: what the caller gave: example_id_column, model_dir, l1_regularization,
        l2_regularization, num_loss_partitions, config, feature_engineering_fn, partitioner.
    """

    def __init__(self, head, loss_type, columns, weight_column_name, given):
        assert columns
        workers = given["num_loss_partitions"]
        if workers is None:
            workers = max(1, (given["config"] or RunConfig()).num_worker_replicas)
        solver = SDCAOptimizer(
            given["example_id_column"],
            num_loss_partitions=workers,
            symmetric_l1_regularization=given["l1_regularization"],
            symmetric_l2_regularization=given["l2_regularization"],
            partitioner=given["partitioner"],
        )
        model_fn = sdca_model_fn(head, list(columns), solver, weight_column_name, loss_type)
        super().__init__(
            model_fn, given["model_dir"], given["config"], None, given["feature_engineering_fn"]
        )

    def _one(self, key, input_fn):
        return (row[key] for row in self.predict(input_fn=input_fn))


class SDCALogisticClassifier(_SDCAEstimator):
    """A linear classifier for labels 0 and 1.

    Args:
      example_id_column: name of the string feature with a unique id per example.
      feature_columns: columns of tf.contrib.layers.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      l1_regularization: strength of the L1 regularization.
      l2_regularization: strength of the L2 regularization; the solver takes at least 1.
      num_loss_partitions: int, number of workers that train at once; None for those of config.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      partitioner: partitioner of the variables, or None.

    Raises:
      AssertionError: there are no columns.
    """

    def __init__(
        self,
        example_id_column,
        feature_columns,
        weight_column_name=None,
        model_dir=None,
        l1_regularization=0.0,
        l2_regularization=1.0,
        num_loss_partitions=None,
        config=None,
        feature_engineering_fn=None,
        partitioner=None,
    ):
        given = dict(locals())
        head = multi_class_head(2, None, weight_column_name)
        super().__init__(head, "logistic_loss", feature_columns, weight_column_name, given)

    def predict_classes(self, input_fn=None):
        """Returns an iterator of the predicted classes.

        Args:
          input_fn: the input.
        """
        return self._one(PredictionKey.CLASSES, input_fn)

    def predict_proba(self, input_fn=None):
        """Returns an iterator of the probabilities of both classes, float32 [2].

        Args:
          input_fn: the input.
        """
        return self._one(PredictionKey.PROBABILITIES, input_fn)


class SDCALinearRegressor(_SDCAEstimator):
    """A linear regressor.

    Args:
      example_id_column: name of the string feature with a unique id per example.
      feature_columns: columns of tf.contrib.layers.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      l1_regularization: strength of the L1 regularization.
      l2_regularization: strength of the L2 regularization; the solver takes at least 1.
      num_loss_partitions: int, number of workers that train at once; None for those of config.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      partitioner: partitioner of the variables, or None.

    Raises:
      AssertionError: there are no columns.
    """

    def __init__(
        self,
        example_id_column,
        feature_columns,
        weight_column_name=None,
        model_dir=None,
        l1_regularization=0.0,
        l2_regularization=1.0,
        num_loss_partitions=None,
        config=None,
        feature_engineering_fn=None,
        partitioner=None,
    ):
        given = dict(locals())
        head = regression_head(None, weight_column_name)
        super().__init__(head, "squared_loss", feature_columns, weight_column_name, given)

    def predict_scores(self, input_fn):
        """Returns an iterator of the predicted numbers.

        Args:
          input_fn: the input.
        """
        return self._one(PredictionKey.SCORES, input_fn)
