"""`tf.contrib.learn.SVM`: a linear support vector machine, solved in the dual."""

from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.heads import binary_svm_head
from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey
from estimator_bridge.tf1.contrib.learn.predicting import one_output
from estimator_bridge.tf1.contrib.learn.sdca import sdca_model_fn

__all__ = ["SVM"]


class SVM(Estimator):
    """A binary classifier. Labels are 0 and 1; predictions are `logits` and `classes`.

    Args:
      example_id_column: name of the string feature with a unique id per example.
      feature_columns: real-valued, bucketized and sparse columns.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      l1_regularization: strength of the L1 regularization of the weights.
      l2_regularization: strength of the L2 regularization; the solver uses at least 1.
      num_loss_partitions: int, number of workers that train at once.
      kernels: not supported, as in 1.x; must be None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.

    Raises:
      ValueError: kernels are given.
    """

    def __init__(
        self,
        example_id_column,
        feature_columns,
        weight_column_name=None,
        model_dir=None,
        l1_regularization=0.0,
        l2_regularization=0.0,
        num_loss_partitions=1,
        kernels=None,
        config=None,
        feature_engineering_fn=None,
    ):
        if kernels is not None:
            raise ValueError(
                "tf.contrib.learn.SVM: kernels are not supported, nor were they in 1.x; transform "
                "the features in the input_fn"
            )
        # That package imports this one.
        from estimator_bridge.tf1.contrib.linear_optimizer.optimizer import SDCAOptimizer

        solver = SDCAOptimizer(
            example_id_column,
            num_loss_partitions=num_loss_partitions,
            symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
        )
        model_fn = sdca_model_fn(
            binary_svm_head(None, weight_column_name),
            list(feature_columns),
            solver,
            weight_column_name,
            "hinge_loss",
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """Returns the predicted classes.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator or array of ints.
        """
        return one_output(self, PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True):
        """Raises a ValueError, as in 1.x: a support vector machine has no probabilities.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          outputs: ignored.
          as_iterable: whether to return an iterator; else an array.

        Raises:
          ValueError: always.
        """
        del outputs
        return one_output(self, PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)
