"""`tf.contrib.kernel_methods`: linear models of random Fourier features."""

import abc
import math

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers as _layers
from estimator_bridge.tf1.contrib.learn import model_fns as _model_fns
from estimator_bridge.tf1.contrib.learn.fitting import Estimator as _Estimator
from estimator_bridge.tf1.contrib.learn.heads import multi_class_head as _multi_class_head
from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey as _PredictionKey
from estimator_bridge.tf1.contrib.learn.predicting import one_output as _one_output
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())


class InvalidShapeError(Exception):
    """The input of a mapper has another shape than the mapper expects."""


class DenseKernelMapper(abc.ABC):
    """A mapping of dense features into a space where a linear model approximates a kernel."""

    @abc.abstractmethod
    def map(self, input_tensor):
        """Returns mapped features, float32 [batch, output_dim].

        Args:
          input_tensor: float32 tensor [batch, input_dim].
        """

    @property
    @abc.abstractmethod
    def name(self):
        """string, the mapper's name."""

    @property
    @abc.abstractmethod
    def output_dim(self):
        """int, number of mapped features."""


class RandomFourierFeatureMapper(DenseKernelMapper):
    """Random cosines, whose products approximate the Gaussian kernel.

    Args:
      input_dim: int, number of features.
      output_dim: int, number of mapped features.
      stddev: standard deviation of the kernel.
      seed: int, from which the mapping is drawn, always alike.
      name: string; None for one of its own.
    """

    def __init__(self, input_dim, output_dim, stddev=1.0, seed=1, name=None):
        self._input_dim, self._output_dim = input_dim, output_dim
        self._stddev, self._seed, self._name = stddev, seed, name

    @property
    def name(self):
        """string, the mapper's name."""
        return self._name or str(id(self))

    @property
    def input_dim(self):
        """int, number of features."""
        return self._input_dim

    @property
    def output_dim(self):
        """int, number of mapped features."""
        return self._output_dim

    def map(self, input_tensor):
        """Returns mapped features, float32 [batch, output_dim].

        Args:
          input_tensor: float32 tensor [batch, input_dim].

        Raises:
          InvalidShapeError: the tensor has another shape.
        """
        shape = tf.convert_to_tensor(input_tensor).shape
        if shape.ndims != 2:
            raise InvalidShapeError(f"a matrix of features expected, got {shape.ndims} dimensions")
        if shape.as_list()[1] != self._input_dim:
            raise InvalidShapeError(
                f"{self._input_dim} features expected, got {shape.as_list()[1]}"
            )
        random = np.random.RandomState(self._seed)
        omega = random.normal(scale=1.0 / self._stddev, size=[self._input_dim, self._output_dim])
        phases = random.uniform(0.0, 2 * np.pi, [self._output_dim])
        angles = tf.matmul(input_tensor, tf.constant(omega, tf.float32))
        angles = tf.add(angles, tf.constant(phases, tf.float32))
        return math.sqrt(2.0 / self._output_dim) * tf.cos(angles)


class KernelLinearClassifier(_Estimator):
    """A linear classifier of features and of their mappings.

    Args:
      feature_columns: columns of tf.contrib.layers that are used as they are, or None.
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      optimizer: tf.train.Optimizer; None for Ftrl.
      kernel_mappers: {real-valued column: list of its mappers}, or None.
      config: RunConfig, or None.

    Raises:
      ValueError: there are neither columns nor mappers, or a mapper is none.
    """

    def __init__(
        self,
        feature_columns=None,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        optimizer=None,
        kernel_mappers=None,
        config=None,
    ):
        if not feature_columns and not kernel_mappers:
            raise ValueError("You should set at least one of feature_columns, kernel_mappers.")
        mappers = kernel_mappers or {}
        for several in mappers.values():
            if not all(isinstance(one, DenseKernelMapper) for one in several):
                raise ValueError("kernel_mappers: the values are lists of DenseKernelMapper")
        head = _multi_class_head(n_classes, None, weight_column_name)
        columns = list(feature_columns or ())

        def model_fn(features, labels, mode, config):
            mapped, mapped_columns = dict(features), list(columns)
            for column, several in mappers.items():
                column_name = column.name + "_MAPPED"
                # The column's own transformation comes before the mapping.
                dense = _layers.input_from_feature_columns(features, [column])
                mapped[column_name] = tf.concat([one.map(dense) for one in several], 1)
                mapped_columns.append(
                    _layers.real_valued_column(
                        column_name, dimension=sum(one.output_dim for one in several)
                    )
                )
            inner = _model_fns.linear_model_fn(head, mapped_columns, optimizer, None, False)
            return inner(mapped, labels, mode, config)

        super().__init__(model_fn, model_dir, config)

    def predict_classes(self, input_fn=None):
        """Returns an iterator of the predicted classes.

        Args:
          input_fn: input_fn.
        """
        return _one_output(self, _PredictionKey.CLASSES, None, input_fn, None, True)

    def predict_proba(self, input_fn=None):
        """Returns an iterator of the probabilities of the classes, arrays [classes].

        Args:
          input_fn: input_fn.
        """
        return _one_output(self, _PredictionKey.PROBABILITIES, None, input_fn, None, True)


def sparse_multiclass_hinge_loss(
    labels,
    logits,
    weights=1.0,
    scope=None,
    loss_collection=tf.GraphKeys.LOSSES,
    reduction=tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Returns the hinge loss of several classes, by Crammer and Singer.

    Args:
      labels: int tensor [batch] or [batch, 1], below the number of classes.
      logits: floating tensor [batch, classes].
      weights: number, or tensor [batch] or [batch, 1].
      scope: name of the name scope, or None.
      loss_collection: collection that the loss is added to, or None.
      reduction: one of tf.losses.Reduction.

    Returns:
      Scalar tensor; without a reduction, a tensor [batch].

    Raises:
      ValueError: the labels are no integers, or shapes do not agree.
    """
    with tf.name_scope(scope, "sparse_multiclass_hinge_loss", (logits, labels)) as scope:
        if labels.dtype not in (tf.int32, tf.int64):
            raise ValueError(f"labels: int32 or int64 expected, got {labels.dtype.name}")
        if logits.shape.ndims != 2:
            raise ValueError(f"logits: two dimensions expected, got {logits.shape.ndims}")
        rows = tf.shape(logits)[0]
        labels = tf.reshape(labels, [rows])
        logits.shape[:1].assert_is_compatible_with(labels.shape)
        if not isinstance(weights, float):
            weights = tf.reshape(weights, [rows])
        classes = tf.shape(logits, out_type=labels.dtype)[1]
        with tf.control_dependencies([tf.assert_less(labels, classes)]):
            is_label = tf.one_hot(labels, tf.shape(logits)[1], True, False, dtype=tf.bool)
        of_label = tf.boolean_mask(logits, is_label)
        lowest = logits.dtype.min
        best_other = tf.reduce_max(tf.where(is_label, tf.fill(tf.shape(logits), lowest), logits), 1)
        losses = tf.nn.relu(1.0 + best_other - of_label)
        return tf.losses.compute_weighted_loss(
            losses, weights, scope, loss_collection, reduction=reduction
        )
