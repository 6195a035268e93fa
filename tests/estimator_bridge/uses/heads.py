"""Heads: each in a canned network, and with direct calls for loss and metrics."""

import math

import numpy as np

from estimator_bridge import tf

from .api import columns, input_fn, x_only


def _under_a_network(api, head, label):
    # The v1 canned networks need private heads; the public ones are for v2.
    model = tf.estimator.DNNEstimator(
        head, [4], columns(), model_dir=f"{api.folder}/net", config=api.config
    )
    model.train(input_fn(label), steps=3)
    metrics = model.evaluate(input_fn(label, repeat=False))
    assert math.isfinite(metrics["loss"]) and metrics["global_step"] == 3
    return metrics, next(model.predict(input_fn(label, repeat=False)))


def _own_model_fn(api, head, label, units):
    """Calls the same head from a custom model_fn."""

    def model_fn(features, labels, mode):
        logits = tf.compat.v1.layers.dense(features["x"], units)
        step = tf.compat.v1.train.get_or_create_global_step()
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            logits=logits,
            train_op_fn=lambda loss: tf.compat.v1.train.AdamOptimizer().minimize(loss, step),
        )

    model = api.estimator.Estimator(model_fn, model_dir=f"{api.folder}/own", config=api.config)
    model.train(x_only(label), steps=2)
    assert model.evaluate(x_only(label, repeat=False))["global_step"] == 2


def binary(api):
    metrics, prediction = _under_a_network(api, api.estimator.BinaryClassHead(), "binary")
    assert {"accuracy", "auc", "precision", "recall"} <= set(metrics)
    assert prediction["probabilities"].shape == (2,)
    _own_model_fn(api, api.estimator.BinaryClassHead(), "binary", 1)


def logistic_regression(api):
    metrics, prediction = _under_a_network(api, api.estimator.LogisticRegressionHead(), "binary")
    assert 0 <= prediction["predictions"][0] <= 1


def multi_class(api):
    metrics, prediction = _under_a_network(api, api.estimator.MultiClassHead(3), "multiclass")
    np.testing.assert_allclose(prediction["probabilities"].sum(), 1, rtol=1e-5)
    _own_model_fn(api, api.estimator.MultiClassHead(3), "multiclass", 3)


def multi_label(api):
    metrics, prediction = _under_a_network(api, api.estimator.MultiLabelHead(2), "multilabel")
    assert prediction["probabilities"].shape == (2,)


def regression(api):
    metrics, prediction = _under_a_network(api, api.estimator.RegressionHead(), "regression")
    assert {"average_loss", "label/mean", "prediction/mean"} <= set(metrics)


def poisson(api):
    head = api.estimator.PoissonRegressionHead()
    metrics, prediction = _under_a_network(api, head, "multiclass")
    assert prediction["predictions"][0] > 0


def several(api):
    e = api.estimator
    heads = [e.BinaryClassHead(name="sign"), e.RegressionHead(name="value")]
    head = e.MultiHead(heads, head_weights=[1.0, 0.5])

    def fn(repeat=True):
        def rows():
            x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(-1, 1)
            labels = {"sign": (x > 0).astype(np.int64), "value": 3 * x}
            found = tf.data.Dataset.from_tensor_slices(({"x": x}, labels))
            return (found.repeat() if repeat else found).batch(8)

        return rows

    column = [tf.feature_column.numeric_column("x")]
    model = tf.estimator.DNNEstimator(head, [4], column, model_dir=api.folder, config=api.config)
    model.train(fn(), steps=3)
    metrics = model.evaluate(fn(False))
    assert math.isfinite(metrics["loss"]) and "accuracy/sign" in metrics
    assert "average_loss/value" in metrics
    assert ("sign", "probabilities") in next(model.predict(fn(False)))


def base(api):
    """A custom head: the mean absolute error."""
    e = api.estimator

    class AbsoluteHead(e.Head):
        @property
        def name(self):
            return "absolute"

        @property
        def logits_dimension(self):
            return 1

        @property
        def loss_reduction(self):
            return tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE

        def loss(self, labels, logits, features=None, mode=None, regularization_losses=None):
            return tf.reduce_mean(tf.abs(labels - logits))

        def predictions(self, logits, keys=None):
            return {"value": logits}

        def metrics(self, regularization_losses=None):
            return {"seen": tf.keras.metrics.Mean()}

        def update_metrics(self, eval_metrics, features, logits, labels, **kwargs):
            eval_metrics["seen"].update_state(labels)
            return eval_metrics

        def _create_tpu_estimator_spec(
            self,
            features,
            mode,
            logits,
            labels=None,
            optimizer=None,
            trainable_variables=None,
            train_op_fn=None,
            update_ops=None,
            regularization_losses=None,
        ):
            raise NotImplementedError

        def create_estimator_spec(
            self, features, mode, logits, labels=None, train_op_fn=None, **kwargs
        ):
            predictions = self.predictions(logits)
            if mode == e.ModeKeys.PREDICT:
                return e.EstimatorSpec(mode, predictions=predictions)
            loss = self.loss(labels, logits)
            train_op = train_op_fn(loss) if mode == e.ModeKeys.TRAIN else None
            return e.EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    _own_model_fn(api, AbsoluteHead(), "regression", 1)


USES = {
    "BinaryClassHead": binary,
    "Head": base,
    "LogisticRegressionHead": logistic_regression,
    "MultiClassHead": multi_class,
    "MultiHead": several,
    "MultiLabelHead": multi_label,
    "PoissonRegressionHead": poisson,
    "RegressionHead": regression,
}
