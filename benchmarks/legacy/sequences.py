"""Taggers, a translation model and a transformer."""

import functools
import os

import jobs
import tensorflow as tf
from jobs import EstimatorJob, config, program, receiver

BATCH, SENTENCES, EVALUATED = 20, 6000, 1000
TRAIN, EVAL, PREDICT = (getattr(tf.estimator.ModeKeys, one) for one in ("TRAIN", "EVAL", "PREDICT"))


def parse_fn(line_words, line_tags, with_chars):
    words = [word.encode() for word in line_words.strip().split()]
    tags = [tag.encode() for tag in line_tags.strip().split()]
    if not with_chars:
        return (words, len(words)), tags
    chars = [[char.encode() for char in word] for word in line_words.strip().split()]
    lengths = [len(one) for one in chars]
    longest = max(lengths)
    chars = [one + [b"<pad>"] * (longest - len(one)) for one in chars]
    return ((words, len(words)), (chars, lengths)), tags


def generator_fn(data, with_chars, most):
    names = [os.path.join(data, name) for name in ("words.txt", "tags.txt")]
    with open(names[0]) as words, open(names[1]) as tags:
        for number, (line_words, line_tags) in enumerate(zip(words, tags)):
            if number == most:
                return
            yield parse_fn(line_words, line_tags, with_chars)


def sentences(data, with_chars, training):
    shapes, types = ([None], ()), (tf.string, tf.int32)
    defaults = ("<pad>", 0)
    if with_chars:
        shapes = (shapes, ([None, None], [None]))
        types = (types, (tf.string, tf.int32))
        defaults = (defaults, ("<pad>", 0))
    shapes, types, defaults = (shapes, [None]), (types, tf.string), (defaults, "O")
    generator = functools.partial(generator_fn, data, with_chars, None if training else EVALUATED)
    dataset = tf.data.Dataset.from_generator(generator, output_shapes=shapes, output_types=types)
    if training:
        dataset = dataset.shuffle(1000, seed=1).repeat()
    return dataset.padded_batch(BATCH, shapes, defaults).prefetch(1)


def lstm(inputs, lengths, size):
    steps = tf.transpose(inputs, [1, 0, 2])
    forward = tf.contrib.rnn.LSTMBlockFusedCell(size)
    backward = tf.contrib.rnn.TimeReversedFusedRNN(tf.contrib.rnn.LSTMBlockFusedCell(size))
    with tf.variable_scope("forward"):
        first, (_, one) = forward(steps, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("backward"):
        second, (_, other) = backward(steps, dtype=tf.float32, sequence_length=lengths)
    return tf.transpose(tf.concat([first, second], -1), [1, 0, 2]), tf.concat([one, other], -1)


def tag_fn(features, labels, mode, params):
    if isinstance(features, dict):
        features = (features["words"], features["nwords"])
    chars = None
    if params["chars"]:
        features, (chars, char_lengths) = features
    words, lengths = features
    training = mode == TRAIN
    vocabulary = tf.contrib.lookup.index_table_from_file(
        os.path.join(params["data"], "vocab.txt"), num_oov_buckets=1
    )
    table = tf.get_variable("table", [2001, 100])
    inputs = tf.nn.embedding_lookup(table, vocabulary.lookup(words))
    if chars is not None:
        known = tf.contrib.lookup.index_table_from_tensor(
            ["<pad>"] + list("w0123456789"), num_oov_buckets=1
        )
        letters = tf.nn.embedding_lookup(tf.get_variable("letters", [13, 25]), known.lookup(chars))
        shape = tf.shape(letters)
        flat = tf.reshape(letters, [-1, shape[2], 25])
        with tf.variable_scope("chars"):
            _, last = lstm(flat, tf.reshape(char_lengths, [-1]), 25)
        inputs = tf.concat([inputs, tf.reshape(last, [shape[0], shape[1], 50])], -1)
    inputs = tf.layers.dropout(inputs, 0.5, training=training, seed=1)
    with tf.variable_scope("words"):
        outputs, _ = lstm(inputs, lengths, 100)
    logits = tf.layers.dense(tf.layers.dropout(outputs, 0.5, training=training, seed=2), 2)
    crf = tf.get_variable("crf", [2, 2])
    found, _ = tf.contrib.crf.crf_decode(logits, crf, lengths)
    if mode == PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"tags": found})
    tags = tf.to_int32(tf.equal(labels, "B"))
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(logits, tags, lengths, crf)
    loss = tf.reduce_mean(-likelihood)
    metrics = {"acc": tf.metrics.accuracy(tags, found, tf.sequence_mask(lengths))}
    if mode == EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.AdamOptimizer().minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def tagger(data, folder, chars):
    params = {"data": data, "chars": chars}
    model = tf.estimator.Estimator(tag_fn, folder, config(folder), params)
    inputs = [functools.partial(sentences, data, chars, training) for training in (True, False)]
    request = None
    if not chars:
        request = receiver(words=(tf.string, [None, None]), nwords=(tf.int32, [None]))
    return EstimatorJob(model, inputs, BATCH, EVALUATED, request, 250 if chars else 350)


@program
def tagger_short_sentences(data, folder):
    return tagger(data, folder, False)


@program
def tagger_with_characters(data, folder):
    return tagger(data, folder, True)


def pairs(data, training):
    table = tf.contrib.lookup.index_table_from_file(
        os.path.join(data, "vocab.txt"), default_value=1
    )
    names = [os.path.join(data, name) for name in ("source.txt", "target.txt")]
    dataset = tf.data.Dataset.zip(tuple(tf.data.TextLineDataset(name) for name in names))
    dataset = dataset.map(lambda *texts: tuple(tf.string_split([text]).values for text in texts))
    dataset = dataset.map(
        lambda *words: tuple(tf.to_int32(table.lookup(one)) for one in words), num_parallel_calls=2
    )
    dataset = dataset.shuffle(1000, seed=1).repeat() if training else dataset.take(EVALUATED)
    dataset = dataset.map(
        lambda source, target: (
            {
                "source": source,
                "source_length": tf.size(source),
                "target": tf.concat([[1], target], 0),
                "target_length": tf.size(target) + 1,
            },
            tf.concat([target, [2]], 0),
        )
    )
    shapes = (
        {"source": [None], "source_length": [], "target": [None], "target_length": []},
        [None],
    )
    return dataset.apply(
        tf.data.experimental.group_by_window(
            lambda features, _: tf.to_int64(features["source_length"] // 4),
            lambda _, window: window.padded_batch(32, shapes),
            window_size=32,
        )
    ).prefetch(2)


def translate_fn(features, labels, mode, params):
    seq2seq, rnn = tf.contrib.seq2seq, tf.contrib.rnn
    table = tf.get_variable("table", [2001, 64])
    source = tf.nn.embedding_lookup(table, features["source"])
    (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
        *(rnn.GRUCell(64), rnn.GRUCell(64), source, features["source_length"]), dtype=tf.float32
    )
    memory = tf.concat([forward, backward], -1)
    attention = seq2seq.BahdanauAttention(64, memory, features["source_length"])
    cell = seq2seq.AttentionWrapper(rnn.LSTMCell(64), attention, 64)
    batch, output = tf.shape(memory)[0], tf.layers.Dense(2001, use_bias=False)
    start = cell.zero_state(batch, tf.float32)
    if mode == PREDICT:
        helper = seq2seq.GreedyEmbeddingHelper(table, tf.fill([batch], 1), 2)
    else:
        target = tf.nn.embedding_lookup(table, features["target"])
        helper = seq2seq.TrainingHelper(target, features["target_length"])
    decoder = seq2seq.BasicDecoder(cell, helper, start, output)
    decoded, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=16)
    if mode == PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"ids": decoded.sample_id})
    weights = tf.sequence_mask(features["target_length"], dtype=tf.float32)
    loss = seq2seq.sequence_loss(decoded.rnn_output, labels, weights)
    if mode == EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    step = tf.train.AdamOptimizer().apply_gradients(
        zip(gradients, variables), tf.train.get_or_create_global_step()
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


@program
def seq2seq_with_attention(data, folder):
    model = tf.estimator.Estimator(translate_fn, folder, config(folder))
    inputs = [functools.partial(pairs, data, training) for training in (True, False)]
    request = receiver(source=(tf.int32, [None, None]), source_length=(tf.int32, [None]))
    return EstimatorJob(model, inputs, 32, EVALUATED, request, 150)


def encode_fn(features, labels, mode, params):
    size, heads = 64, 4
    ids = features["ids"]
    net = tf.nn.embedding_lookup(tf.get_variable("table", [1000, size]), ids)
    net += tf.get_variable("places", [32, size])
    for number in range(2):
        with tf.variable_scope(f"layer_{number}"):
            query, key, value = (
                tf.transpose(
                    tf.reshape(tf.layers.dense(net, size), [-1, 32, heads, size // heads]),
                    [0, 2, 1, 3],
                )
                for _ in range(3)
            )
            scores = tf.matmul(query, key, transpose_b=True) / 4.0
            mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
            mixed = tf.layers.dense(tf.reshape(mixed, [-1, 32, size]), size)
            net = tf.contrib.layers.layer_norm(net + mixed, begin_norm_axis=-1)
            wide = tf.layers.dense(net, 4 * size, tf.nn.relu)
            net = tf.contrib.layers.layer_norm(
                net + tf.layers.dense(wide, size), begin_norm_axis=-1
            )
    logits = tf.layers.dense(net[:, 0], 2)
    if mode == PREDICT:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"class": tf.argmax(logits, -1)})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == EVAL:

        def metrics(labels, logits):
            return {"acc": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}

        return tf.contrib.tpu.TPUEstimatorSpec(
            mode, loss=loss, eval_metrics=(metrics, [labels, logits])
        )
    step = tf.train.AdamOptimizer(1e-3).minimize(loss, tf.train.get_or_create_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)


@program
def transformer(data, folder):
    def read(params, most=None):
        numbers = tf.data.Dataset.range(most or 10**6)
        dataset = numbers.map(
            lambda number: (
                {"ids": tf.to_int32((tf.range(32, dtype=tf.int64) * 31 + number * 17) % 1000)},
                tf.to_int32(number % 2),
            )
        )
        return dataset.batch(params["batch_size"], drop_remainder=True).prefetch(2)

    setting = tf.contrib.tpu.RunConfig(
        model_dir=folder,
        tf_random_seed=1,
        save_summary_steps=100,
        session_config=jobs.SESSION_CONFIG,
    )
    model = tf.contrib.tpu.TPUEstimator(
        encode_fn,
        folder,
        setting,
        use_tpu=False,
        train_batch_size=32,
        eval_batch_size=32,
        predict_batch_size=32,
    )
    inputs = (read, functools.partial(read, most=960))
    return EstimatorJob(model, inputs, 32, 960, receiver(ids=(tf.int32, [None, 32])), 100)
