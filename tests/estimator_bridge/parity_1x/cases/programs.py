"""Whole programs in the style of their time, which go on from checkpoint files of 1.15."""

import os

import jobs
import tensorflow as tf
import values

slim, layers, np = tf.contrib.slim, tf.contrib.layers, values.np
seq2seq, rnn = tf.contrib.seq2seq, tf.contrib.rnn
CASES = {}
TRAIN, EVAL, PREDICT = (getattr(tf.estimator.ModeKeys, one) for one in ("TRAIN", "EVAL", "PREDICT"))
ROWS, BATCH = 24, 8


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


def config(folder, **options):
    return tf.estimator.RunConfig(
        folder, 1, save_summary_steps=25, session_config=values.one_thread(), **options
    )


def whole(*shape, **options):
    """Returns integers from 0 to `below` - 1."""
    return np.random.RandomState(options["seed"]).randint(options["below"], size=shape)


def batches(features, labels):
    """Returns an input_fn of batches without end."""

    def read():
        rows = tf.data.Dataset.from_tensor_slices((features(), labels()))
        return rows.repeat().batch(BATCH)

    return read


def receiver(**placeholders):
    """Returns a serving_input_receiver_fn of placeholders: name -> (dtype, shape)."""

    def receive():
        found = {name: tf.placeholder(*one, name=name) for name, one in placeholders.items()}
        return tf.estimator.export.ServingInputReceiver(found, found)

    return receive


def minimize(loss, optimizer, norm):
    """Returns an operation that trains with clipped gradients."""
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), norm)
    return optimizer.apply_gradients(
        zip(gradients, variables), global_step=tf.train.get_or_create_global_step()
    )


class SlimJob:
    """Trains with slim.learning from queues, evaluates moving averages with slim.evaluation."""

    request = {"images": values.array(3, 6, 6, 1, seed=9)}

    def __init__(self, folder):
        self.folder, self.seen = folder, []

    def read(self):
        images = values.nudged(values.array(ROWS, 6, 6, 1, seed=1))
        one = tf.train.slice_input_producer([images, whole(ROWS, below=3, seed=2)], shuffle=False)
        return tf.train.batch(one, BATCH)

    def network(self, images, training):
        normal = {"is_training": training, "decay": 0.9, "scale": True}
        with slim.arg_scope(
            [slim.conv2d, slim.fully_connected],
            weights_regularizer=slim.l2_regularizer(0.01),
            normalizer_fn=slim.batch_norm,
            normalizer_params=normal,
        ):
            net = slim.conv2d(images, 4, [3, 3], scope="conv1")
            net = slim.repeat(net, 2, slim.conv2d, 4, [3, 3], scope="conv2")
            net = slim.max_pool2d(net, [2, 2], scope="pool1")
            net = slim.fully_connected(slim.flatten(net), 5, scope="fc1")
            return slim.fully_connected(net, 3, None, normalizer_fn=None, scope="logits")

    def step(self, session, *arguments):
        loss, stop = slim.learning.train_step(session, *arguments)
        self.seen.append(loss)
        return loss, stop

    def train(self, last_step):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            images, labels = self.read()
            logits = self.network(images, True)
            slim.losses.softmax_cross_entropy(logits, slim.one_hot_encoding(labels, 3))
            step = slim.get_or_create_global_step()
            averages = tf.train.ExponentialMovingAverage(0.9, step)
            rate = tf.train.exponential_decay(0.05, step, 20, 0.8, staircase=True)
            operation = slim.learning.create_train_op(
                slim.losses.get_total_loss(),
                tf.train.MomentumOptimizer(rate, 0.9),
                clip_gradient_norm=1.0,
                gradient_multipliers={"logits/biases": 2.0},
            )
            # After the step: among the other updates, the order is not fixed.
            with tf.control_dependencies([operation]):
                update = averages.apply(slim.get_model_variables())
            with tf.control_dependencies([update]):
                operation = tf.identity(operation)
            slim.learning.train(
                operation,
                self.folder,
                train_step_fn=self.step,
                number_of_steps=last_step,
                save_summaries_secs=0,
                session_config=values.one_thread(),
            )

    def restored(self):
        step = slim.get_or_create_global_step()
        averages = tf.train.ExponentialMovingAverage(0.9, step)
        found = averages.variables_to_restore(slim.get_model_variables())
        return dict(found, global_step=step)

    def answers(self):
        with tf.Graph().as_default():
            images, labels = self.read()
            logits = self.network(images, False)
            names, updates = slim.metrics.aggregate_metric_map(
                {
                    "accuracy": slim.metrics.streaming_accuracy(tf.argmax(logits, 1), labels),
                    "mean": slim.metrics.streaming_mean(logits),
                }
            )
            found = slim.evaluation.evaluate_once(
                "",
                tf.train.latest_checkpoint(self.folder),
                os.path.join(self.folder, "eval"),
                num_evals=3,
                eval_op=list(updates.values()),
                final_op=names,
                variables_to_restore=self.restored(),
                session_config=values.one_thread(),
            )
        return dict(found, losses=self.seen[-20:])

    def export(self, folder):
        with tf.Graph().as_default(), tf.Session() as session:
            images = tf.placeholder(tf.float32, [None, 6, 6, 1])
            classes = slim.softmax(self.network(images, False))
            tf.train.Saver(self.restored()).restore(
                session, tf.train.latest_checkpoint(self.folder)
            )
            tf.saved_model.simple_save(session, folder, {"images": images}, {"classes": classes})
        return folder


@case
def slim_learning(folder):
    return SlimJob(folder)


def translate(features, labels, mode, params):
    """A translation model with attention: beam search predicts, the export is greedy."""
    table = tf.get_variable("table", [9, 4])
    source = tf.nn.embedding_lookup(table, features["source"])
    length = features["length"]
    memory, state = tf.nn.bidirectional_dynamic_rnn(
        *(rnn.BasicLSTMCell(3), rnn.BasicLSTMCell(3), source, length), dtype=tf.float32
    )
    memory = tf.concat(memory, -1)
    state = tuple(
        rnn.LSTMStateTuple(*(tf.concat(pair, -1) for pair in zip(*parts)))
        for parts in [state, state[::-1]]
    )
    width, batch = params["width"], tf.shape(length)[0]
    beams = mode == PREDICT and width > 1
    if beams:
        memory, state, length = (
            seq2seq.tile_batch(one, multiplier=width) for one in (memory, state, length)
        )
    attention = seq2seq.LuongAttention(6, memory, length, scale=True)
    cells = rnn.MultiRNNCell([rnn.LSTMCell(6), rnn.ResidualWrapper(rnn.LSTMCell(6))])
    with tf.variable_scope("decoder"):
        # The residual needs an input of the width of the cell.
        cell = seq2seq.AttentionWrapper(
            cells,
            attention,
            attention_layer_size=4,
            cell_input_fn=lambda inputs, attended: tf.concat([inputs, attended[:, :2]], -1),
        )
        start = cell.zero_state(batch * (width if beams else 1), tf.float32)
        start = start.clone(cell_state=state)
        output = tf.layers.Dense(9, use_bias=False, name="output")
        if beams:
            decoder = seq2seq.BeamSearchDecoder(
                *(cell, table, tf.fill([batch], 1), 2, start, width, output),
                length_penalty_weight=0.6,
            )
            found, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=5, scope="loop")
            return tf.estimator.EstimatorSpec(mode, {"words": found.predicted_ids})
        if mode == PREDICT:
            helper = seq2seq.GreedyEmbeddingHelper(table, tf.fill([batch], 1), 2)
            decoder = seq2seq.BasicDecoder(cell, helper, start, output)
            found, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=5, scope="loop")
            outputs = {"words": found.sample_id, "logits": found.rnn_output}
            return tf.estimator.EstimatorSpec(mode, outputs)
        begun = tf.concat([tf.fill([batch, 1], tf.constant(1, tf.int64)), labels[:, :-1]], 1)
        helper = seq2seq.TrainingHelper(
            tf.nn.embedding_lookup(table, begun), tf.fill([batch], tf.shape(labels)[1])
        )
        decoder = seq2seq.BasicDecoder(cell, helper, start, output)
        found, _, _ = seq2seq.dynamic_decode(decoder, scope="loop")
    weights = tf.cast(tf.not_equal(labels, 0), tf.float32)
    loss = seq2seq.sequence_loss(found.rnn_output, labels, weights)
    metrics = {"accuracy": tf.metrics.accuracy(labels, found.sample_id, weights)}
    return tf.estimator.EstimatorSpec(
        mode,
        loss=loss,
        train_op=minimize(loss, tf.train.AdamOptimizer(0.02), 1.0),
        eval_metric_ops=metrics,
    )


@case
def translation_with_attention(folder):
    source, length = whole(ROWS, 5, below=9, seed=3), 1 + whole(ROWS, below=5, seed=4)
    read = batches(
        lambda: {"source": source, "length": length}, lambda: whole(ROWS, 5, below=9, seed=5)
    )
    beams, greedy = (
        tf.estimator.Estimator(translate, config=config(folder), params={"width": width})
        for width in (2, 1)
    )
    return jobs.EstimatorJob(
        beams,
        read,
        receiver(source=(tf.int64, [None, 5]), length=(tf.int64, [None])),
        {"source": source[:3], "length": length[:3]},
        exported=greedy,
    )


class DecayingAdam(tf.train.Optimizer):
    """Adam without correction of the bias, with decoupled decay, as trainers of encoders had it."""

    def __init__(self, rate):
        super().__init__(False, "DecayingAdam")
        self.rate = rate

    def apply_gradients(self, pairs, global_step=None, name=None):
        changes = []
        for gradient, variable in pairs:
            if gradient is None:
                continue
            key = variable.name.split(":")[0]
            first, second = (
                tf.get_variable(
                    key + end,
                    variable.shape.as_list(),
                    trainable=False,
                    initializer=tf.zeros_initializer(),
                )
                for end in ("/adam_m", "/adam_v")
            )
            mean = 0.9 * first + tf.multiply(0.1, gradient)
            square = 0.999 * second + tf.multiply(0.001, tf.square(gradient))
            update = mean / (tf.sqrt(square) + 1e-6)
            if "norm" not in key and "bias" not in key:
                update += 0.01 * variable
            changes += [
                *(variable.assign(variable - self.rate * update), first.assign(mean)),
                second.assign(square),
            ]
        return tf.group(*changes, name=name)


def encode(tokens, mask):
    """Returns [batch, 6]: a transformer's first output."""
    with tf.variable_scope("bert"):
        with tf.variable_scope("embeddings"):
            table = tf.get_variable("word_embeddings", [11, 6])
            net = tf.gather(table, tokens) + tf.get_variable("position_embeddings", [5, 6])
            net = layers.layer_norm(net, begin_norm_axis=-1, begin_params_axis=-1, scope="norm")
        for number in range(2):
            with tf.variable_scope(f"layer_{number}"):
                # The softmax takes a bias of the keys away.
                query, key, value = (
                    tf.layers.dense(net, 6, use_bias=name != "key", name=name)
                    for name in ("query", "key", "value")
                )
                scores = tf.matmul(query, key, transpose_b=True) / np.float32(6**0.5)
                scores += (1.0 - tf.cast(mask, tf.float32)[:, None, :]) * -10000.0
                net += tf.layers.dense(tf.matmul(tf.nn.softmax(scores), value), 6, name="mixed")
                inner = tf.layers.dense(net, 8, tf.nn.relu, name="inner")
                net = layers.layer_norm(
                    net + tf.layers.dense(inner, 6, name="outer"),
                    begin_norm_axis=-1,
                    begin_params_axis=-1,
                    scope="norm",
                )
        return tf.layers.dense(net[:, 0], 6, tf.tanh, name="pooler")


def classify(features, labels, mode, params):
    """A classifier on an encoder, for TPUEstimator."""
    del params
    pooled = encode(features["tokens"], features["mask"])
    logits = tf.layers.dense(pooled, 3, name="output")
    if mode == PREDICT:
        return tf.contrib.tpu.TPUEstimatorSpec(
            mode, predictions={"probabilities": tf.nn.softmax(logits)}
        )
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)

    def metrics(losses, logits, labels):
        return {
            "eval_accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, -1)),
            "eval_loss": tf.metrics.mean(losses),
        }

    operation = None
    if mode == TRAIN:
        step = tf.train.get_or_create_global_step()
        rate = tf.train.polynomial_decay(0.002, step, 80, end_learning_rate=0.0)
        warm = tf.cast(step, tf.float32) / 10.0
        rate = tf.where(step < 10, 0.002 * warm, rate)
        variables = tf.trainable_variables()
        gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
        # The rate reads the step before it moves on.
        with tf.control_dependencies(
            [DecayingAdam(rate).apply_gradients(zip(gradients, variables))]
        ):
            operation = step.assign(step + 1).op
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=operation, eval_metrics=(metrics, [losses, logits, labels])
    )


@case
def encoder_with_tpu_estimator(folder):
    tokens, mask = whole(ROWS, 5, below=11, seed=6), whole(ROWS, 5, below=2, seed=7)
    mask[:, 0] = 1

    def read(params):
        given = {"tokens": tokens, "mask": mask}
        rows = tf.data.Dataset.from_tensor_slices((given, whole(ROWS, below=3, seed=8)))
        return rows.repeat().apply(
            tf.contrib.data.map_and_batch(
                lambda one, label: (one, label), params["batch_size"], drop_remainder=True
            )
        )

    run_config = tf.contrib.tpu.RunConfig(
        model_dir=folder,
        tf_random_seed=1,
        save_summary_steps=25,
        session_config=values.one_thread(),
        tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=10),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        classify,
        config=run_config,
        use_tpu=False,
        **{name + "_batch_size": BATCH for name in ("train", "eval", "predict")},
    )
    return jobs.EstimatorJob(
        estimator,
        read,
        receiver(tokens=(tf.int64, [None, 5]), mask=(tf.int64, [None, 5])),
        {"tokens": tokens[:3], "mask": mask[:3]},
    )


def keras_net(features, labels, mode):
    """A model_fn of Keras layers, whose updates it runs itself."""
    keras = tf.keras.layers
    training = mode == TRAIN
    words = keras.Embedding(9, 4, mask_zero=True)
    net = keras.Bidirectional(keras.LSTM(3, return_sequences=True))(words(features["words"]))
    net = keras.GRU(4)(net)
    joined = keras.concatenate([net, keras.Dense(3, activation="relu")(features["x"])])
    normal = keras.BatchNormalization(momentum=0.9)
    joined = normal(joined, training=training)
    logits = keras.Dense(1, kernel_regularizer=tf.keras.regularizers.l2(0.01), name="logits")
    value = logits(joined)
    if mode == PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"value": value})
    loss = tf.losses.mean_squared_error(labels, value) + tf.add_n(logits.losses)
    with tf.control_dependencies(normal.updates if training else []):
        operation = tf.train.RMSPropOptimizer(0.01, momentum=0.5).minimize(
            loss, tf.train.get_global_step()
        )
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, value)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=operation, eval_metric_ops=metrics)


@case
def keras_layers_in_a_model_fn(folder):
    words, numbers = whole(ROWS, 5, below=9, seed=10), values.array(ROWS, 2, seed=11)
    read = batches(
        lambda: {"words": words, "x": values.nudged(numbers)},
        lambda: values.array(ROWS, 1, seed=12),
    )
    return jobs.EstimatorJob(
        tf.estimator.Estimator(keras_net, config=config(folder)),
        read,
        receiver(words=(tf.int64, [None, 5]), x=(tf.float32, [None, 2])),
        {"words": words[:3], "x": numbers[:3]},
    )
