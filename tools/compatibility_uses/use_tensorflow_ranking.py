"""Uses of tensorflow-ranking: Estimators on lists of documents, losses and metrics."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_ranking as tfr

LOSSES = [
    "approx_ndcg_loss",
    "list_mle_loss",
    "mean_squared_loss",
    "pairwise_hinge_loss",
    "pairwise_logistic_loss",
    "sigmoid_cross_entropy_loss",
    "softmax_loss",
]
CONTEXT = {"q": tf.feature_column.numeric_column("q", shape=(2,))}
EXAMPLE = {"d": tf.feature_column.numeric_column("d", shape=(3,))}


def input_fn():
    random = np.random.default_rng(0)
    features = {
        "q": random.normal(size=(32, 2)).astype(np.float32),
        "d": random.normal(size=(32, 6, 3)).astype(np.float32),
    }
    labels = (features["d"][:, :, 0] > 0).astype(np.float32)
    # A list is shorter than the others: its documents have the label -1.
    labels[0, 4:] = -1.0
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(2).batch(8)


def check(model, folder):
    model.train(input_fn)
    metrics = model.evaluate(input_fn)
    assert metrics["global_step"] == 8 and np.isfinite(metrics["loss"])
    scores = list(model.predict(lambda: input_fn().map(lambda features, labels: features)))
    assert len(scores) == 64
    receiver = tfr.data.build_ranking_serving_input_receiver_fn(
        tfr.data.ELWC,
        tf.feature_column.make_parse_example_spec(CONTEXT.values()),
        tf.feature_column.make_parse_example_spec(EXAMPLE.values()),
    )
    path = model.export_saved_model(str(folder / "export"), receiver)
    assert tf.saved_model.load(path.decode() if isinstance(path, bytes) else path).signatures


def test_canned_dnn(tmp_path):
    model = tfr.estimator.make_dnn_ranking_estimator(
        EXAMPLE,
        hidden_units=[8, 4],
        context_feature_columns=CONTEXT,
        optimizer=tf.compat.v1.train.AdagradOptimizer(0.1),
        model_dir=str(tmp_path),
        listwise_inference=True,
    )
    check(model, tmp_path)


def test_canned_gam(tmp_path):
    model = tfr.estimator.make_gam_ranking_estimator(
        EXAMPLE,
        example_hidden_units=[8],
        context_feature_columns=CONTEXT,
        context_hidden_units=[8],
        optimizer=tf.compat.v1.train.AdagradOptimizer(0.1),
        model_dir=str(tmp_path),
        listwise_inference=True,
    )
    check(model, tmp_path)


@pytest.mark.parametrize("loss", LOSSES)
def test_own_scoring_function(loss, tmp_path):
    def score(context, group, mode, params, config):
        context_input = [tf.compat.v1.layers.flatten(context["q"])]
        example_input = [tf.compat.v1.layers.flatten(group["d"])]
        net = tf.concat(context_input + example_input, 1)
        net = tf.compat.v1.layers.dense(net, 4, tf.nn.relu)
        return tf.compat.v1.layers.dense(net, 1)

    def transform(features, mode):
        return tfr.feature.encode_listwise_features(
            features, context_feature_columns=CONTEXT, example_feature_columns=EXAMPLE
        )

    optimizer = tf.compat.v1.train.AdagradOptimizer(0.1)
    head = tfr.head.create_ranking_head(
        loss_fn=tfr.losses.make_loss_fn(loss),
        eval_metric_fns={
            "ndcg": tfr.metrics.make_ranking_metric_fn(tfr.metrics.RankingMetricKey.NDCG)
        },
        train_op_fn=lambda loss: optimizer.minimize(
            loss, tf.compat.v1.train.get_or_create_global_step()
        ),
    )
    model = tf.estimator.Estimator(
        tfr.model.make_groupwise_ranking_fn(
            group_score_fn=score, transform_fn=transform, group_size=1, ranking_head=head
        ),
        model_dir=str(tmp_path),
    )
    check(model, tmp_path)


@pytest.mark.parametrize("name", ["ARP", "DCG", "MAP", "MRR", "NDCG", "PRECISION"])
def test_metric(name):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        key = getattr(tfr.metrics.RankingMetricKey, name)
        labels, scores = tf.constant([[1.0, 0.0, 2.0]]), tf.constant([[3.0, 1.0, 2.0]])
        value, update = tfr.metrics.make_ranking_metric_fn(key)(labels, scores, {})
        session.run(tf.compat.v1.local_variables_initializer())
        session.run(update)
        assert session.run(value) > 0
