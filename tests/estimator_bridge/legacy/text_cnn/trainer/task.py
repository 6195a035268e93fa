from __future__ import absolute_import, division, print_function

import os
import random

import tensorflow as tf
from tensorflow.contrib.learn.python.learn import learn_runner
from tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils

from trainer import model

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("output_dir", "/tmp/text_cnn", "Where to write")
flags.DEFINE_string("data_dir", "/tmp/text_cnn", "Where the titles are")
flags.DEFINE_string("log_dir", None, "Another place for logs")
flags.DEFINE_string("hparams", "", "Overrides")
flags.DEFINE_integer("train_steps", 200, "Steps")

WORDS = {
    "sport": "match goal team season coach league striker cup".split(),
    "market": "shares profit bank euro bond rate quarter stock".split(),
    "weather": "rain storm sun wind snow cloud cold degrees".split(),
}
FILLER = "the a on after before today new big late".split()


def make_titles(rows, seed):
    rng = random.Random(seed)
    titles, labels = [], []
    for _ in range(rows):
        label = rng.choice(sorted(WORDS))
        words = rng.sample(FILLER, 3) + rng.sample(WORDS[label], 3)
        rng.shuffle(words)
        titles.append(" ".join(words))
        labels.append(label)
    return titles, labels


def input_fn_of(titles, labels, batch_size, epochs):
    def input_fn():
        dataset = tf.contrib.data.Dataset.from_tensor_slices(({"title": titles}, labels))
        if epochs is None:
            dataset = dataset.apply(tf.contrib.data.shuffle_and_repeat(1000))
        dataset = dataset.batch(batch_size)
        return dataset.make_one_shot_iterator().get_next()

    return input_fn


def experiment_fn(run_config, hparams):
    estimator = tf.estimator.Estimator(model_fn=model.cnn_model, config=run_config, params=hparams)
    return tf.contrib.learn.Experiment(
        estimator,
        train_input_fn=input_fn_of(*make_titles(600, 1), batch_size=32, epochs=None),
        eval_input_fn=input_fn_of(*make_titles(200, 2), batch_size=50, epochs=1),
        train_steps=FLAGS.train_steps,
        eval_steps=None,
        min_eval_frequency=1,
        export_strategies=[
            saved_model_export_utils.make_export_strategy(model.serving_input_fn, exports_to_keep=1)
        ],
    )


def main(unused_argv):
    vocab_file = os.path.join(FLAGS.data_dir, "vocab.txt")
    tf.gfile.MakeDirs(FLAGS.data_dir)
    n_words = model.init_vocab(vocab_file, make_titles(600, 1)[0])
    hparams = tf.contrib.training.HParams(
        vocab_file=vocab_file,
        n_words=n_words,
        embedding_size=16,
        num_filters=8,
        filter_sizes=[2, 3],
        keep_prob=0.8,
        learning_rate=0.01,
        l2=1e-4,
    )
    hparams.parse(FLAGS.hparams)
    tf.logging.info("hparams: %s", hparams.to_json())
    learn_runner.run(
        experiment_fn=experiment_fn,
        run_config=tf.contrib.learn.RunConfig(
            model_dir=FLAGS.output_dir, save_checkpoints_steps=100, tf_random_seed=3
        ),
        hparams=hparams,
    )


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run()
