"""A model_fn as an example and template: a residual network with batch normalisation.

It has every part that a model_fn needs: features through feature columns, one network for training,
evaluation and prediction, the updates of the moving averages, and a head that makes the spec.
Replace ResidualNetwork by your own network; the other parts can remain unchanged.
"""

from collections.abc import Sequence
from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.models.optimizers import make_optimizer


class ResidualNetwork(tf.keras.Model):
    """Feature columns, residual blocks, logits.

    A block adds two layers (batch normalisation, activation, dense) to its input, after He et al.,
    "Identity Mappings in Deep Residual Networks" (2016). If the width changes, a linear layer
    projects the input first.

    Args:
        columns: dense feature columns.
        model: hidden_units (the width of each block), activation, dropout, batch_norm_momentum.
        num_logits: number of outputs.
    """

    def __init__(
        self, columns: Sequence[Any], model: config_lib.ModelConfig, num_logits: int
    ) -> None:
        super().__init__(name="residual")
        widths = model.hidden_units
        self._inputs_layer = tf.keras.layers.DenseFeatures(columns, name="inputs")
        self._stem = tf.keras.layers.Dense(widths[0], name="stem")
        self._blocks = [
            _Block(width, model, name=f"block_{index}") for index, width in enumerate(widths)
        ]
        self._norm = _build_norm(model, "norm")
        self._activation = getattr(tf.nn, model.activation)
        self._logits_layer = tf.keras.layers.Dense(num_logits, name="logits")

    def call(self, features: dict[str, Any], training: bool) -> Any:
        """Computes the logits, float32 [batch, num_logits].

        Args:
            features: name → tensor [batch].
            training: whether dropout applies and moving averages are updated.
        """
        net = self._stem(self._inputs_layer(features))
        for block in self._blocks:
            net = block(net, training=training)
        return self._logits_layer(self._activation(self._norm(net, training=training)))


class _Block(tf.keras.layers.Layer):
    """A residual block: float32 [batch, any] to float32 [batch, width]."""

    def __init__(self, width: int, model: config_lib.ModelConfig, name: str) -> None:
        super().__init__(name=name)
        self._width = width
        self._activation = getattr(tf.nn, model.activation)
        self._norms = [_build_norm(model, f"norm_{index}") for index in range(2)]
        self._dense = [tf.keras.layers.Dense(width, name=f"dense_{index}") for index in range(2)]
        self._dropout = tf.keras.layers.Dropout(model.dropout)
        self._around = None

    def build(self, input_shape: Any) -> None:
        """Adds the projection if the width changes.

        Args:
            input_shape: [batch, width of the input].
        """
        if input_shape[-1] != self._width:
            self._around = tf.keras.layers.Dense(self._width, use_bias=False, name="around")
        super().build(input_shape)

    def call(self, inputs: Any, training: bool) -> Any:
        """Computes the output of the block, float32 [batch, width].

        Args:
            inputs: float32 [batch, any].
            training: whether dropout applies and moving averages are updated.
        """
        net = inputs
        for index in range(2):
            net = self._activation(self._norms[index](net, training=training))
            if index:
                net = self._dropout(net, training=training)
            net = self._dense[index](net)
        return net + (inputs if self._around is None else self._around(inputs))


def _build_norm(model: config_lib.ModelConfig, name: str) -> Any:
    return tf.keras.layers.BatchNormalization(momentum=model.batch_norm_momentum, name=name)


def model_fn(features: dict[str, Any], labels: Any, mode: str, params: dict[str, Any]) -> Any:
    """Builds the graph of one mode.

    Args:
        features: name → tensor [batch], from the input function or the serving receiver.
        labels: in the form that the head accepts; None for predictions.
        mode: an estimator.ModeKeys.
        params: head, columns, model (a ModelConfig), and make_optimizer, a function without
            arguments that returns a Keras optimizer of the graph-mode ("legacy") kind.

    Returns:
        An EstimatorSpec.
    """
    training = mode == estimator.ModeKeys.TRAIN
    head = params["head"]
    network = ResidualNetwork(params["columns"], params["model"], head.logits_dimension)
    logits = network(features, training=training)
    optimizer = None
    if training:
        optimizer = params["make_optimizer"]()
        # The optimizer must count the global step: hooks, schedules and checkpoints read it.
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    return head.create_estimator_spec(
        features=features,
        mode=mode,
        logits=logits,
        labels=labels,
        optimizer=optimizer,
        trainable_variables=network.trainable_variables,
        # Without these updates, the moving averages keep their initial values. The training loss
        # looks right, but evaluation and serving are wrong, because they normalise by the averages.
        update_ops=network.updates if training else None,
        regularization_losses=network.losses or None,
    )


def build_residual(
    model: config_lib.ModelConfig,
    train: config_lib.TrainConfig,
    head: Any,
    columns: Sequence[Any],
    run_config: Any,
    max_steps: int,
) -> Any:
    """Builds the Estimator of model.type residual.

    Args:
        model: hidden_units, activation, dropout, batch_norm_momentum.
        train: optimizer and learning rate.
        head: an estimator.Head.
        columns: dense feature columns.
        run_config: an estimator.RunConfig; its tf_random_seed decides initial values and dropout.
        max_steps: length of the run, for learning-rate schedules.

    Returns:
        An Estimator.
    """
    return estimator.Estimator(
        model_fn,
        config=run_config,
        params={
            "head": head,
            "columns": columns,
            "model": model,
            "make_optimizer": make_optimizer(train, max_steps, linear=False),
        },
    )
