"""A model_fn to read and to start from: a residual network with batch normalisation.

It shows all that a model_fn of Estimators owes: features through feature columns, one network for
training, evaluation and prediction, the moving averages' updates, a head that makes the spec.
Replace ResidualNetwork by a network of your own and the rest stays as it is.
"""

from collections.abc import Sequence
from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.models.optimizers import make_optimizer


class ResidualNetwork(tf.keras.Model):
    """Feature columns, residual blocks, logits.

    A block adds to its input what two layers make of it (batch normalisation, activation, dense;
    twice), after He et al., "Identity Mappings in Deep Residual Networks" (2016). Where the width
    changes, the input goes through a linear layer on its way around.

    Args:
        columns: dense feature columns.
        model: hidden_units (the width of each block), activation, dropout, momentum.
        num_logits: outputs.
    """

    def __init__(self, columns: Sequence[Any], model: config_lib.ModelConfig, num_logits: int):
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
        """Features, name → tensor [batch], to logits, float32 [batch, num_logits]."""
        net = self._stem(self._inputs_layer(features))
        for block in self._blocks:
            net = block(net, training=training)
        return self._logits_layer(self._activation(self._norm(net, training=training)))


class _Block(tf.keras.layers.Layer):
    def __init__(self, width: int, model: config_lib.ModelConfig, name: str):
        super().__init__(name=name)
        self._width = width
        self._activation = getattr(tf.nn, model.activation)
        self._norms = [_build_norm(model, f"norm_{index}") for index in range(2)]
        self._dense = [tf.keras.layers.Dense(width, name=f"dense_{index}") for index in range(2)]
        self._dropout = tf.keras.layers.Dropout(model.dropout)
        self._around = None

    def build(self, input_shape):
        """Adds the way around where the width changes."""
        if input_shape[-1] != self._width:
            self._around = tf.keras.layers.Dense(self._width, use_bias=False, name="around")
        super().build(input_shape)

    def call(self, inputs, training):
        """float32 [batch, any] to float32 [batch, width]."""
        net = inputs
        for index in range(2):
            net = self._activation(self._norms[index](net, training=training))
            if index:
                net = self._dropout(net, training=training)
            net = self._dense[index](net)
        return net + (inputs if self._around is None else self._around(inputs))


def _build_norm(model: config_lib.ModelConfig, name: str) -> Any:
    return tf.keras.layers.BatchNormalization(momentum=model.batch_norm_momentum, name=name)


def model_fn(features, labels, mode, params):
    """The model_fn: builds the graph of one mode.

    Args:
        features: name → tensor, as the input function or the serving receiver gives them.
        labels: as the head takes them; None when predicting.
        mode: an estimator.ModeKeys.
        params: head, columns, model (a ModelConfig), and make_optimizer, a function without
            arguments returning a Keras optimizer of the graph-mode ("legacy") kind.

    Returns:
        an EstimatorSpec.
    """
    training = mode == estimator.ModeKeys.TRAIN
    head = params["head"]
    network = ResidualNetwork(params["columns"], params["model"], head.logits_dimension)
    logits = network(features, training=training)
    optimizer = None
    if training:
        optimizer = params["make_optimizer"]()
        # The step that hooks, schedules and checkpoints count is the one the optimizer counts.
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    return head.create_estimator_spec(
        features=features,
        mode=mode,
        logits=logits,
        labels=labels,
        optimizer=optimizer,
        trainable_variables=network.trainable_variables,
        # Without them the moving averages stay what they were when created, and evaluation and
        # serving, which normalise by them, are wrong while the training loss looks well.
        update_ops=network.updates if training else None,
        regularization_losses=network.losses or None,
    )


def build_residual(
    config: config_lib.Config, head: Any, columns: Sequence[Any], run_config: Any, max_steps: int
):
    """Builds the Estimator of model.type residual.

    Args:
        config: model and optimizer.
        head: an estimator.Head.
        columns: dense feature columns.
        run_config: an estimator.RunConfig; its tf_random_seed decides initial values and dropout.
        max_steps: length of the run, for decaying rates.
    """
    return estimator.Estimator(
        model_fn,
        config=run_config,
        params={
            "head": head,
            "columns": columns,
            "model": config.model,
            "make_optimizer": make_optimizer(config.train, max_steps, linear=False),
        },
    )
