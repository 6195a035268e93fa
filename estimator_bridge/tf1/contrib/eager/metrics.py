"""`tf.contrib.eager.metrics`: metrics that keep their state in variables."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import autotrackable as _autotrackable

__all__ = [
    "Accuracy",
    "BinaryAccuracy",
    "CategoricalAccuracy",
    "Mean",
    "Metric",
    "SparseAccuracy",
]


class Metric(_autotrackable.AutoTrackable):
    """A metric that is updated by each call.

    A subclass creates its variables in `build` with `add_variable`, updates them in `call`, and
    computes the value in `result`. In a graph, the update runs when what the call returns is run.

    Args:
      name: name of the metric, and of the scope of its variables; None for that of the class.
      use_global_variables: whether the variables are global ones, not local ones.
    """

    def __init__(self, name=None, use_global_variables=False):
        self._name = name or type(self).__name__
        self._use_global_variables = use_global_variables
        self._built = self._building = False
        self._metric_variables = []
        self._initial_values = {}

    @property
    def name(self):
        """The name of the metric."""
        return self._name

    @property
    def variables(self):
        """The list of variables, which is empty before the first call."""
        return list(self._metric_variables)

    def __call__(self, *args, **kwargs):
        """Updates the metric; returns what `call` returns."""
        if not self._built:
            self._building = True
            with tf.variable_scope(self._name.replace(" ", "_"), use_resource=True, reuse=False):
                self.build(*args, **kwargs)
            self._built, self._building = True, False
        if tf.executing_eagerly():
            return self.call(*args, **kwargs)
        return tf.function(self.call, autograph=False)(*args, **kwargs)

    def add_variable(self, name, shape=None, dtype=None, initializer=None):
        """Creates a variable of the metric; `build` calls it.

        Args:
          name: name of the variable.
          shape: its shape, or None for a scalar.
          dtype: its type, or None for float32.
          initializer: its initializer.

        Raises:
          RuntimeError: it is called outside of `build`.
        """
        if not self._building:
            raise RuntimeError("add_variable: call it in build()")
        keys = tf.GraphKeys
        kind = keys.GLOBAL_VARIABLES if self._use_global_variables else keys.LOCAL_VARIABLES
        variable = tf.get_variable(
            name,
            shape if shape is not None else [],
            dtype or tf.float32,
            initializer,
            trainable=False,
            collections=[kind, keys.METRIC_VARIABLES],
        )
        self._metric_variables.append(variable)
        if tf.executing_eagerly():
            self._initial_values[variable.ref()] = variable.numpy()
        return variable

    def init_variables(self):
        """Gives the variables their initial values; returns the operation in a graph."""
        if not tf.executing_eagerly():
            return tf.group([variable.initializer for variable in self._metric_variables])
        for variable in self._metric_variables:
            variable.assign(self._initial_values[variable.ref()])
        return None

    def build(self, *args, **kwargs):
        """Creates the variables, from the arguments of the first call."""
        raise NotImplementedError("a Metric must define build()")

    def call(self, *args, **kwargs):
        """Updates the variables."""
        raise NotImplementedError("a Metric must define call()")

    def result(self):
        """Returns the value of the metric."""
        raise NotImplementedError("a Metric must define result()")

    def value(self):
        """Returns a function without arguments that computes the result."""
        return tf.function(self.result, autograph=False)

    def aggregate(self, metrics):
        """Adds the variables of other metrics to those of this one.

        Args:
          metrics: list of metrics of this class.

        Raises:
          TypeError: a metric is of another class.
        """
        for metric in metrics:
            if type(metric) is not type(self):
                raise TypeError(f"all metrics must be {type(self).__name__}s, got {metric!r}")
        for own, *others in zip(self._metric_variables, *(one.variables for one in metrics)):
            own.assign_add(tf.add_n([other.read_value() for other in others]))


class Mean(Metric):
    """The mean of all values so far, with weights or without.

    Args:
      name: name of the metric; None for that of the class.
      dtype: type of the sums.
      use_global_variables: whether the variables are global ones, not local ones.
    """

    def __init__(self, name=None, dtype=tf.float64, use_global_variables=False):
        super().__init__(name, use_global_variables)
        self.dtype = dtype

    def build(self, *args, **kwargs):
        """Creates the sum of the values and that of the weights."""
        del args, kwargs
        self.numer, self.denom = (
            self.add_variable(name, [], self.dtype, tf.zeros_initializer())
            for name in ("numer", "denom")
        )

    def call(self, values, weights=None):
        """Adds values.

        Args:
          values: numbers of any shape.
          weights: numbers that the values are multiplied by, or None for 1.

        Returns:
          The sum of the values; with weights, the products and the weights.
        """
        if weights is None:
            self.denom.assign_add(tf.cast(tf.size(values), self.dtype))
            values = tf.reduce_sum(values)
            self.numer.assign_add(tf.cast(values, self.dtype))
            return values
        weights = tf.cast(weights, self.dtype)
        values = tf.cast(values, self.dtype) * weights
        self.denom.assign_add(tf.reduce_sum(weights))
        self.numer.assign_add(tf.reduce_sum(values))
        return values, weights

    def result(self, write_summary=True):
        """Returns the mean.

        Args:
          write_summary: whether to write it to the default writer of `tf.contrib.summary`.
        """
        mean = self.numer / self.denom
        if write_summary:
            from estimator_bridge.tf1.contrib import summary

            summary.scalar(self.name, mean)
        return mean


def _require_equal(labels, predictions):
    """Stops where two shapes differ."""
    text = "labels and predictions have different shapes"
    check = tf.debugging.assert_equal(tf.shape(labels), tf.shape(predictions), message=text)
    if check is None:
        return labels
    with tf.control_dependencies([check]):
        return tf.identity(labels)


class Accuracy(Mean):
    """The share of predictions that are equal to their labels.

    Args:
      name: name of the metric; None for that of the class.
      dtype: type of the sums.
    """

    def __init__(self, name=None, dtype=tf.float64):
        super().__init__(name, dtype)

    def call(self, labels, predictions, weights=None):
        """Adds predictions; returns the labels, the predictions and the weights if there are any.

        Args:
          labels: tensor.
          predictions: tensor of the same shape.
          weights: numbers that the rows are multiplied by, or None for 1.

        Raises:
          InvalidArgumentError: the shapes differ.
        """
        matches = tf.equal(_require_equal(labels, predictions), predictions)
        super().call(tf.cast(matches, self.dtype), weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


class SparseAccuracy(Accuracy):
    """The share of rows whose largest prediction is at the place of the label.

    Args:
      name: name of the metric; None for that of the class.
      dtype: type of the sums.
    """

    def call(self, labels, predictions, weights=None):
        """Adds rows; returns the labels, the predicted classes and the weights if there are any.

        Args:
          labels: integer tensor [...].
          predictions: floating tensor [..., classes].
          weights: numbers that the rows are multiplied by, or None for 1.

        Raises:
          InvalidArgumentError: the shapes differ.
        """
        predictions = tf.argmax(predictions, axis=-1)
        return super().call(tf.cast(labels, predictions.dtype), predictions, weights)


class CategoricalAccuracy(Accuracy):
    """The share of rows whose largest prediction is at the place of the largest label.

    Args:
      name: name of the metric; None for that of the class.
      dtype: type of the sums.
    """

    def call(self, labels, predictions, weights=None):
        """Adds rows; returns the classes of both, and the weights if there are any.

        Args:
          labels: tensor [..., classes].
          predictions: floating tensor [..., classes].
          weights: numbers that the rows are multiplied by, or None for 1.

        Raises:
          InvalidArgumentError: the shapes differ.
        """
        labels = _require_equal(tf.convert_to_tensor(labels), predictions)
        return super().call(tf.argmax(labels, axis=-1), tf.argmax(predictions, axis=-1), weights)


class BinaryAccuracy(Accuracy):
    """The share of predictions that are above a threshold where the label is true.

    Args:
      threshold: number.
      name: name of the metric; None for that of the class.
      dtype: type of the sums.
    """

    def __init__(self, threshold, name=None, dtype=tf.float64):
        super().__init__(name, dtype)
        self.threshold = threshold

    def call(self, labels, predictions, weights=None):
        """Adds predictions; returns both as booleans, and the weights if there are any.

        Args:
          labels: tensor.
          predictions: floating tensor of the same shape.
          weights: numbers that the predictions are multiplied by, or None for 1.

        Raises:
          InvalidArgumentError: the shapes differ.
        """
        predictions = tf.convert_to_tensor(predictions)
        above = predictions > tf.cast(self.threshold, predictions.dtype)
        return super().call(tf.cast(labels, tf.bool), above, weights)
