"""Named entities with a bidirectional LSTM and a CRF."""

import functools
import logging
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.contrib import predictor

DATADIR = sys.argv[1]
MODELDIR = sys.argv[2]
tf.logging.set_verbosity(logging.INFO)

NAMES = "Anna Bruno Clara David Eva Felix Greta Hugo".split()
CITIES = "Berlin Paris Rome Madrid Vienna Oslo Lisbon Athens".split()
OTHERS = "went came lives works to from in near with and yesterday today".split()


def write_data():
    rng = np.random.RandomState(4)
    if not os.path.isdir(DATADIR):
        os.makedirs(DATADIR)
    for name, count in (("train", 400), ("testa", 100)):
        with (
            open(os.path.join(DATADIR, name + ".words.txt"), "w") as words_file,
            open(os.path.join(DATADIR, name + ".tags.txt"), "w") as tags_file,
        ):
            for _ in range(count):
                words, tags = [], []
                for _ in range(rng.randint(1, 4)):
                    words += [rng.choice(NAMES)]
                    tags += ["B-PER"]
                    if rng.rand() < 0.5:
                        words += [rng.choice(NAMES)]
                        tags += ["I-PER"]
                    fill = [str(w) for w in rng.choice(OTHERS, rng.randint(1, 4))]
                    words += fill
                    tags += ["O"] * len(fill)
                    words += [rng.choice(CITIES)]
                    tags += ["B-LOC"]
                words_file.write(" ".join(words) + "\n")
                tags_file.write(" ".join(tags) + "\n")
    with open(os.path.join(DATADIR, "vocab.words.txt"), "w") as f:
        f.write("\n".join(NAMES + CITIES + OTHERS) + "\n")
    with open(os.path.join(DATADIR, "vocab.tags.txt"), "w") as f:
        f.write("\n".join(["O", "B-PER", "I-PER", "B-LOC"]) + "\n")


def parse_fn(line_words, line_tags):
    words = [w.encode() for w in line_words.strip().split()]
    tags = [t.encode() for t in line_tags.strip().split()]
    assert len(words) == len(tags), "Words and tags lengths don't match"
    return (words, len(words)), tags


def generator_fn(words, tags):
    with open(words) as f_words, open(tags) as f_tags:
        for line_words, line_tags in zip(f_words, f_tags):
            yield parse_fn(line_words, line_tags)


def input_fn(words, tags, params=None, shuffle_and_repeat=False):
    params = params if params is not None else {}
    shapes = (([None], ()), [None])
    types = ((tf.string, tf.int32), tf.string)
    defaults = (("<pad>", 0), "O")
    dataset = tf.data.Dataset.from_generator(
        functools.partial(generator_fn, words, tags), output_shapes=shapes, output_types=types
    )
    if shuffle_and_repeat:
        dataset = dataset.shuffle(params["buffer"]).repeat(params["epochs"])
    dataset = dataset.padded_batch(params.get("batch_size", 20), shapes, defaults).prefetch(1)
    return dataset


def model_fn(features, labels, mode, params):
    if isinstance(features, dict):
        features = features["words"], features["nwords"]
    words, nwords = features
    training = mode == tf.estimator.ModeKeys.TRAIN
    vocab_words = tf.contrib.lookup.index_table_from_file(
        params["words"], num_oov_buckets=params["num_oov_buckets"]
    )
    with open(params["tags"]) as f:
        num_tags = len([line for line in f if line.strip()])
    with open(params["words"]) as f:
        num_words = len(f.readlines()) + params["num_oov_buckets"]

    word_ids = vocab_words.lookup(words)
    variable = tf.get_variable("embeddings", [num_words, params["dim"]], tf.float32)
    embeddings = tf.nn.embedding_lookup(variable, word_ids)
    embeddings = tf.layers.dropout(embeddings, rate=params["dropout"], training=training)

    t = tf.transpose(embeddings, perm=[1, 0, 2])
    lstm_cell_fw = tf.contrib.rnn.LSTMBlockFusedCell(params["lstm_size"])
    lstm_cell_bw = tf.contrib.rnn.LSTMBlockFusedCell(params["lstm_size"])
    lstm_cell_bw = tf.contrib.rnn.TimeReversedFusedRNN(lstm_cell_bw)
    output_fw, _ = lstm_cell_fw(t, dtype=tf.float32, sequence_length=nwords)
    output_bw, _ = lstm_cell_bw(t, dtype=tf.float32, sequence_length=nwords)
    output = tf.concat([output_fw, output_bw], axis=-1)
    output = tf.transpose(output, perm=[1, 0, 2])
    output = tf.layers.dropout(output, rate=params["dropout"], training=training)

    logits = tf.layers.dense(output, num_tags)
    crf_params = tf.get_variable("crf", [num_tags, num_tags], dtype=tf.float32)
    pred_ids, _ = tf.contrib.crf.crf_decode(logits, crf_params, nwords)

    if mode == tf.estimator.ModeKeys.PREDICT:
        reverse_vocab_tags = tf.contrib.lookup.index_to_string_table_from_file(params["tags"])
        pred_strings = reverse_vocab_tags.lookup(tf.to_int64(pred_ids))
        predictions = {"pred_ids": pred_ids, "tags": pred_strings}
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)

    vocab_tags = tf.contrib.lookup.index_table_from_file(params["tags"])
    tags = vocab_tags.lookup(labels)
    log_likelihood, _ = tf.contrib.crf.crf_log_likelihood(logits, tags, nwords, crf_params)
    loss = tf.reduce_mean(-log_likelihood)
    weights = tf.sequence_mask(nwords)
    metrics = {
        "acc": tf.metrics.accuracy(tags, pred_ids, weights),
        "confusion": tf.metrics.mean_per_class_accuracy(tags, pred_ids, num_tags, weights),
    }
    for metric_name, op in metrics.items():
        tf.summary.scalar(metric_name, op[1][0] if metric_name == "confusion" else op[1])

    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    train_op = tf.train.AdamOptimizer().minimize(
        loss, global_step=tf.train.get_or_create_global_step()
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def serving_input_receiver_fn():
    words = tf.placeholder(dtype=tf.string, shape=[None, None], name="words")
    nwords = tf.placeholder(dtype=tf.int32, shape=[None], name="nwords")
    receiver_tensors = {"words": words, "nwords": nwords}
    features = {"words": words, "nwords": nwords}
    return tf.estimator.export.ServingInputReceiver(features, receiver_tensors)


if __name__ == "__main__":
    write_data()
    params = {
        "dim": 24,
        "dropout": 0.2,
        "num_oov_buckets": 1,
        "epochs": 12,
        "batch_size": 20,
        "buffer": 1000,
        "lstm_size": 24,
        "words": os.path.join(DATADIR, "vocab.words.txt"),
        "tags": os.path.join(DATADIR, "vocab.tags.txt"),
    }

    def fwords(name):
        return os.path.join(DATADIR, "{}.words.txt".format(name))

    def ftags(name):
        return os.path.join(DATADIR, "{}.tags.txt".format(name))

    train_inpf = functools.partial(
        input_fn, fwords("train"), ftags("train"), params, shuffle_and_repeat=True
    )
    eval_inpf = functools.partial(input_fn, fwords("testa"), ftags("testa"))

    cfg = tf.estimator.RunConfig(save_checkpoints_steps=120, tf_random_seed=1)
    estimator = tf.estimator.Estimator(model_fn, MODELDIR, cfg, params)
    if not os.path.isdir(estimator.eval_dir()):
        os.makedirs(estimator.eval_dir())
    hook = tf.contrib.estimator.stop_if_no_increase_hook(
        estimator, "acc", 500, min_steps=8000, run_every_secs=120
    )
    train_spec = tf.estimator.TrainSpec(input_fn=train_inpf, hooks=[hook])
    eval_spec = tf.estimator.EvalSpec(input_fn=eval_inpf, throttle_secs=1)
    tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)

    golds = generator_fn(fwords("testa"), ftags("testa"))
    preds = estimator.predict(eval_inpf)
    right = total = 0
    for golds, preds in zip(golds, preds):
        ((words, _), tags) = golds
        for tag, tag_pred in zip(tags, preds["tags"]):
            right += tag == tag_pred
            total += 1
    print("test accuracy {:.4f}".format(right / total))

    export_dir = estimator.export_saved_model(
        os.path.join(MODELDIR, "saved_model"), serving_input_receiver_fn
    )
    predict_fn = predictor.from_saved_model(export_dir.decode())
    words = "Anna Hugo lives in Oslo".split()
    print("answer", b" ".join(predict_fn({"words": [words], "nwords": [5]})["tags"][0]).decode())
