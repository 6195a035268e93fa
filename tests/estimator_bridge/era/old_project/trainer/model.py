"""The model, as it was written for TensorFlow 2.4."""

import tensorflow as tf

PAYMENTS = ["card", "cash", "app"]


def model_fn(features, labels, mode, params):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    payment = tf.feature_column.categorical_column_with_vocabulary_list("payment", PAYMENTS)
    dense = tf.keras.layers.DenseFeatures(
        [
            tf.feature_column.numeric_column("miles"),
            tf.feature_column.numeric_column("minutes"),
            tf.feature_column.bucketized_column(
                tf.feature_column.numeric_column("hour"), [6, 10, 16, 19]
            ),
            tf.feature_column.embedding_column(payment, 2),
        ]
    )
    hidden = tf.keras.layers.Dense(params["hidden"], activation="relu", name="hidden")
    normalization = tf.keras.layers.BatchNormalization(name="normalization")
    output = tf.keras.layers.Dense(1, name="logits")
    activations = hidden(dense(features))
    logits = output(normalization(activations, training=is_training))
    probability = tf.sigmoid(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"probability": probability})
    labels = tf.cast(tf.reshape(labels, [-1, 1]), tf.float32)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    if mode == tf.estimator.ModeKeys.EVAL:
        auc = tf.keras.metrics.AUC()
        auc.update_state(labels, probability)
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"auc": auc})
    optimizer = tf.keras.optimizers.Adam(lr=params["rate"], decay=0.001, clipnorm=1.0)
    optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    layers = [dense, hidden, normalization, output]
    variables = [one for layer in layers for one in layer.trainable_variables]
    update = optimizer.get_updates(loss, variables)
    averages = normalization.get_updates_for(activations)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(*update, *averages))


def build(model_dir):
    return tf.estimator.Estimator(
        model_fn,
        config=tf.estimator.RunConfig(model_dir, tf_random_seed=1, save_checkpoints_steps=100),
        params={"hidden": 8, "rate": 0.01},
    )
