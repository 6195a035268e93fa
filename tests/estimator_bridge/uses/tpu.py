"""`tf.compat.v1.estimator.tpu` without a TPU."""

import pytest

from estimator_bridge import tf, versions

from .api import data


def _estimator(api, model_dir, seen):
    tpu = api.estimator.tpu

    def model_fn(features, labels, mode, params):
        seen.add((mode, params["batch_size"]))
        y = tf.compat.v1.layers.dense(features["x"], 1)
        if mode == api.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"y": y})
        loss = tf.reduce_mean((y - labels) ** 2)
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())

        def metrics(labels, y):
            return {"mean": tf.compat.v1.metrics.mean(labels - y)}

        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metrics=(metrics, [labels, y])
        )

    config = tpu.RunConfig(
        model_dir=model_dir,
        tf_random_seed=1,
        tpu_config=tpu.TPUConfig(
            iterations_per_loop=2,
            per_host_input_for_training=tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    return tpu.TPUEstimator(
        model_fn,
        config=config,
        use_tpu=False,
        train_batch_size=8,
        eval_batch_size=6,
        predict_batch_size=4,
    )


def _input_fn(params):
    features, y = data("regression")
    rows = tf.data.Dataset.from_tensor_slices(({"x": features["x"]}, y)).repeat()
    return rows.batch(params["batch_size"], drop_remainder=True)


def estimator(api):
    seen = set()
    model = _estimator(api, api.folder, seen)
    model.train(_input_fn, steps=4)
    metrics = model.evaluate(_input_fn, steps=2)
    assert metrics["global_step"] == 4 and "mean" in metrics
    next(model.predict(_input_fn))
    assert seen == {("train", 8), ("eval", 6), ("infer", 4)}


def embedding_config_spec(api):
    """Covers the specification of embeddings: built on 2.15, later rejected with a reason."""
    parameters = tf.compat.v1.tpu.experimental.AdagradParameters
    if versions.parse(tf.__version__) >= versions.ESTIMATOR_REMOVED_IN:
        with pytest.raises(NotImplementedError, match="TPU"):
            parameters(0.1)
        return
    column = tf.feature_column.categorical_column_with_identity("i", 4)
    spec = api.estimator.tpu.experimental.EmbeddingConfigSpec(
        feature_columns=[tf.compat.v1.tpu.experimental.embedding_column(column, 2)],
        optimization_parameters=parameters(0.1),
    )
    assert len(spec.feature_columns) == 1


USES = {
    "tpu.InputPipelineConfig": estimator,
    "tpu.RunConfig": estimator,
    "tpu.TPUConfig": estimator,
    "tpu.TPUEstimator": estimator,
    "tpu.TPUEstimatorSpec": estimator,
    "tpu.experimental.EmbeddingConfigSpec": embedding_config_spec,
}
