"""A recurrent network over sequences."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features.columns import FeatureColumns
from trainer.models.optimizers import make_optimizer


class RecurrentNetwork(tf.keras.Model):
    """Recurrent cells over the sequence columns, then a dense layer of logits.

    At each step, the input of the cells is the sequence columns concatenated with the deep columns
    of the row. TensorFlow's RNNEstimator is similar, but it fails on a batch in which no row has a
    step. An example is the prediction of one row with an empty sequence.

    Args:
        columns: dense columns of the sequence part and of the deep part. All sequences of a row
            have the same length.
        model: cell, hidden_units (units of each layer of cells), dropout (of a cell's inputs).
        num_logits: number of outputs.
    """

    def __init__(
        self, columns: FeatureColumns, model: config_lib.ModelConfig, num_logits: int
    ) -> None:
        super().__init__(name="rnn")
        self._steps_layer = tf.keras.experimental.SequenceFeatures(columns.sequence, name="steps")
        self._context_layer = None
        if columns.deep:
            self._context_layer = tf.keras.layers.DenseFeatures(columns.deep, name="context")
        kinds = {
            "lstm": tf.keras.layers.LSTMCell,
            "gru": tf.keras.layers.GRUCell,
            "simple": tf.keras.layers.SimpleRNNCell,
        }
        cells = [
            kinds[model.cell](units, dropout=model.dropout, name=f"cell_{index}")
            for index, units in enumerate(model.hidden_units)
        ]
        self._cells_layer = tf.keras.layers.RNN(cells, name="cells")
        self._logits_layer = tf.keras.layers.Dense(num_logits, name="logits")

    def call(self, features: dict[str, Any], training: bool) -> Any:
        """Computes the logits, float32 [batch, num_logits].

        Args:
            features: name → tensor [batch]; a sequence is a SparseTensor [batch, steps].
            training: whether dropout applies.

        Returns:
            The logits. For a row without steps, they are computed from the initial state.
        """
        steps, lengths = self._steps_layer(features)
        if self._context_layer is not None:
            context = self._context_layer(features)[:, None, :]
            steps = tf.concat([steps, tf.repeat(context, tf.shape(steps)[1], axis=1)], axis=2)
        # Keras' RNN requires at least one step, so one step of padding is added. The mask excludes
        # it.
        steps = tf.pad(steps, [[0, 0], [0, 1], [0, 0]])
        mask = tf.sequence_mask(lengths, tf.shape(steps)[1])
        return self._logits_layer(self._cells_layer(steps, mask=mask, training=training))


def model_fn(features: dict[str, Any], labels: Any, mode: str, params: dict[str, Any]) -> Any:
    """Builds the graph of one mode.

    Args:
        features: name → tensor [batch]; a sequence is a SparseTensor [batch, steps].
        labels: in the form that the head accepts; None for predictions.
        mode: an estimator.ModeKeys.
        params: head, columns (FeatureColumns), model (a ModelConfig) and make_optimizer, a function
            without arguments that returns a Keras optimizer of the graph-mode ("legacy") kind.

    Returns:
        An EstimatorSpec.
    """
    training = mode == estimator.ModeKeys.TRAIN
    head, optimizer = params["head"], None
    network = RecurrentNetwork(params["columns"], params["model"], head.logits_dimension)
    logits = network(features, training=training)
    if training:
        optimizer = params["make_optimizer"]()
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    return head.create_estimator_spec(
        features=features,
        mode=mode,
        logits=logits,
        labels=labels,
        optimizer=optimizer,
        trainable_variables=network.trainable_variables,
    )


def build_recurrent(
    model: config_lib.ModelConfig,
    train: config_lib.TrainConfig,
    head: Any,
    columns: FeatureColumns,
    run_config: Any,
    max_steps: int,
) -> Any:
    """Builds the Estimator of model.type rnn.

    Args:
        model: cell, hidden_units, dropout.
        train: optimizer and learning rate.
        head: an estimator.Head.
        columns: feature columns of the sequence part and of the deep part.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run, for learning-rate schedules.

    Returns:
        An Estimator.

    Raises:
        UserError: model.batch_norm is set.
    """
    if model.batch_norm:
        raise UserError("model.batch_norm: model.type rnn has none; leave it out")
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
