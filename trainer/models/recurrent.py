"""A recurrent network over sequences."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features.columns import FeatureColumns
from trainer.models.optimizers import make_optimizer


class RecurrentNetwork(tf.keras.Model):
    """Sequence columns step by step, what the deep part has beside each step, last state, logits.

    The Estimators' own RNNEstimator is much the same, but fails on a batch that has no step at all,
    such as one row to be predicted whose sequence is empty.

    Args:
        columns: dense columns of sequences, all of one length in a row; and of the deep part.
        model: cell, hidden_units (a layer of cells each), dropout (of what enters a cell).
        num_logits: outputs.
    """

    def __init__(self, columns: FeatureColumns, model: config_lib.ModelConfig, num_logits: int):
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
        """Features, sequences sparse [batch, most steps], to logits, float32 [batch, num_logits].

        A row without steps has the logits of the initial state.
        """
        steps, lengths = self._steps_layer(features)
        if self._context_layer is not None:
            context = self._context_layer(features)[:, None, :]
            steps = tf.concat([steps, tf.repeat(context, tf.shape(steps)[1], axis=1)], axis=2)
        # One step more, which no row has: there must be one, and the mask keeps it from counting.
        steps = tf.pad(steps, [[0, 0], [0, 1], [0, 0]])
        mask = tf.sequence_mask(lengths, tf.shape(steps)[1])
        return self._logits_layer(self._cells_layer(steps, mask=mask, training=training))


def model_fn(features, labels, mode, params):
    """The model_fn of an Estimator.

    Args:
        features, labels, mode: as Estimators have them.
        params: head, columns (FeatureColumns), model (a ModelConfig) and make_optimizer, a function
            without arguments returning a Keras optimizer of the graph-mode ("legacy") kind.

    Returns:
        an EstimatorSpec.
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
    config: config_lib.Config, head: Any, columns: FeatureColumns, run_config: Any, max_steps: int
):
    """Builds the Estimator of model.type rnn.

    Args:
        config: model (cell, hidden_units, dropout) and optimizer.
        head: an estimator.Head.
        columns: feature columns of the sequence part and of the deep part.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run, for decaying rates.

    Raises:
        UserError: batch normalisation, which the network has none of.
    """
    if config.model.batch_norm:
        raise UserError("model.batch_norm: model.type rnn has none; leave it out")
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
