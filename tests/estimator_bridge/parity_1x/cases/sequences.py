"""Recurrent Estimators of tf.contrib.learn, and a tagger, from checkpoint files of 1.15 on."""

import jobs
import tensorflow as tf
import values
from tensorflow.contrib.learn.python.learn.estimators import (
    dynamic_rnn_estimator,
    rnn_common,
    state_saving_rnn_estimator,
)

from cases import ready_made

learn, layers, np = tf.contrib.learn, tf.contrib.layers, values.np
Kinds, Types = learn.ProblemType, dynamic_rnn_estimator.PredictionType
Keys = rnn_common.RNNKeys
CASES = {}
ROWS, STEPS = 4, 5


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


def features(*names):
    """Returns numbers and words at each step, a number and a weight of each row, and lengths."""
    random = np.random.RandomState(3)
    places = [[row, step] for row in range(ROWS) for step in range(STEPS - row)]
    words = [str(one) for one in random.choice(list("abcd"), len(places))]
    found = {
        "x": values.real(ROWS, STEPS, 2, seed=1),
        "s": tf.SparseTensor(places, words, [ROWS, STEPS]),
        "c": values.real(ROWS, 1, seed=2),
        Keys.SEQUENCE_LENGTH_KEY: tf.constant([5, 4, 3, 2]),
        Keys.STATE_PREFIX + "_0": values.real(ROWS, 3, seed=4),
    }
    return {name: found[name] for name in names}


def read(names, labels):
    return lambda: (features(*names), labels())


def x():
    return layers.real_valued_column("x", dimension=2)


def s():
    return layers.sparse_column_with_hash_bucket("s", 5)


def table():
    return layers.embedding_column(s(), 2, initializer=tf.truncated_normal_initializer(seed=1))


def recurrent(folder, kind, form, columns, **options):
    return learn.DynamicRnnEstimator(
        *(kind, form, columns), model_dir=folder, config=ready_made.config(folder), **options
    )


@case
def classes_of_steps(folder):
    model = recurrent(
        *(folder, Kinds.CLASSIFICATION, Types.MULTIPLE_VALUE, [x(), table()]),
        context_feature_columns=[layers.real_valued_column("c")],
        num_classes=3,
        num_units=[4],
        cell_type="lstm",
        predict_probabilities=True,
        optimizer="Adam",
        learning_rate=0.01,
    )
    labels = lambda: values.whole(ROWS, STEPS, below=3, seed=6)  # noqa: E731
    return ready_made.FitJob(model, read(["x", "s", "c", Keys.SEQUENCE_LENGTH_KEY], labels))


@case
def two_classes_of_sequences(folder):
    model = recurrent(
        *(folder, Kinds.CLASSIFICATION, Types.SINGLE_VALUE, [x()]),
        num_classes=2,
        num_units=[3, 2],
        cell_type="gru",
        gradient_clipping_norm=0.1,
    )
    labels = lambda: values.whole(ROWS, below=2, seed=6)  # noqa: E731
    return ready_made.FitJob(model, read(["x", Keys.SEQUENCE_LENGTH_KEY], labels))


@case
def numbers_of_sequences_with_a_state(folder):
    model = recurrent(
        *(folder, Kinds.LINEAR_REGRESSION, Types.SINGLE_VALUE, [x()]),
        num_units=3,
        optimizer=tf.train.AdagradOptimizer(0.1),
        gradient_clipping_norm=None,
    )
    labels = lambda: values.real(ROWS, seed=6)  # noqa: E731
    return ready_made.FitJob(model, read(["x", Keys.STATE_PREFIX + "_0"], labels))


@case
def numbers_of_steps_without_lengths(folder):
    model = recurrent(
        *(folder, Kinds.LINEAR_REGRESSION, Types.MULTIPLE_VALUE, [x()]),
        num_units=[3],
        cell_type=tf.nn.rnn_cell.GRUCell,
        optimizer="Momentum",
        momentum=0.5,
        learning_rate=0.05,
    )
    labels = lambda: values.real(ROWS, STEPS, seed=6)  # noqa: E731
    return ready_made.FitJob(model, read(["x"], labels))


@case
def own_model_of_sequence_columns(folder):
    def model_fn(features, labels, mode):
        columns = [x(), table(), layers.one_hot_column(s())]
        inputs = layers.sequence_input_from_feature_columns(features, columns)
        output = layers.fully_connected(tf.reduce_mean(inputs, 1), 1, activation_fn=None)
        loss = tf.losses.mean_squared_error(labels, output)
        step = layers.optimize_loss(loss, tf.train.get_global_step(), 0.1, "Adagrad", summaries=[])
        return output, loss, step

    labels = lambda: values.real(ROWS, 1, seed=6)  # noqa: E731
    model = learn.Estimator(model_fn, folder, ready_made.config(folder))

    class Job(ready_made.FitJob):
        def answers(self):
            # To predict without labels is not what is compared here.
            found = self.estimator.evaluate(input_fn=self.input_fn, steps=3)
            return {f"eval {name}": one for name, one in found.items()}

    return Job(model, read(["x", "s"], labels))


def wrong(**options):
    given = {
        "problem_type": Kinds.CLASSIFICATION,
        "prediction_type": Types.SINGLE_VALUE,
        "sequence_feature_columns": [x()],
        "num_classes": 3,
        "num_units": 3,
    }
    return lambda folder: learn.DynamicRnnEstimator(**dict(given, **options))


CASES.update(
    {
        "a third kind of problem": wrong(problem_type=Kinds.LOGISTIC_REGRESSION),
        "another kind of prediction": wrong(prediction_type=7),
        "no classes": wrong(num_classes=None),
        "one class": wrong(num_classes=1),
    }
)


def one_sequence(labels):
    """Returns an input_fn of one sequence of five steps, which two segments of three have."""

    def input_fn():
        places, words = [[0, 0], [1, 0], [1, 1], [3, 0]], list("abcd")
        found = {
            "x": values.real(5, 2, seed=1),
            "s": tf.SparseTensor(places, words, [5, 2]),
            "c": values.real(1, seed=2),
        }
        return found, labels()

    return input_fn


def in_segments(folder, kind, columns, **options):
    # As many sequences are kept as a batch has, so their order is fixed.
    given = {"num_unroll": 3, "batch_size": 2, "queue_capacity": 2, "num_threads": 1, "seed": 3}
    return state_saving_rnn_estimator.StateSavingRnnEstimator(
        problem_type=kind,
        sequence_feature_columns=columns,
        model_dir=folder,
        config=ready_made.config(folder),
        **dict(given, **options),
    )


@case
def numbers_in_segments(folder):
    model = in_segments(
        *(folder, Kinds.LINEAR_REGRESSION, [x(), layers.one_hot_column(s())]),
        num_units=[3],
        optimizer_type="Momentum",
        momentum=0.5,
        learning_rate=0.05,
    )
    return ready_made.FitJob(model, one_sequence(lambda: values.real(5, seed=6)))


@case
def classes_in_segments(folder):
    model = in_segments(
        *(folder, Kinds.CLASSIFICATION, [x(), table()]),
        context_feature_columns=[layers.real_valued_column("c")],
        num_classes=3,
        num_units=4,
        cell_type="lstm",
        predict_probabilities=True,
        optimizer_type="Adam",
        learning_rate=0.01,
    )
    labels = lambda: values.whole(5, below=3, seed=6)  # noqa: E731
    return ready_made.FitJob(model, one_sequence(labels))


@case
def two_classes_in_segments_of_layers(folder):
    model = in_segments(
        *(folder, Kinds.CLASSIFICATION, [x()]),
        num_classes=2,
        num_units=[3, 3],
        cell_type="gru",
        gradient_clipping_norm=0.1,
    )
    labels = lambda: values.whole(5, below=2, seed=6)  # noqa: E731
    return ready_made.FitJob(model, one_sequence(labels))


def wrong_segments(**options):
    given = {"kind": Kinds.CLASSIFICATION, "columns": [x()], "num_classes": 3, "num_units": 3}
    return lambda folder: in_segments(folder, **dict(given, **options))


def fails(name, **options):
    """Adds a program that fails when it trains."""

    def build(folder):
        labels = lambda: values.real(5, seed=6)  # noqa: E731
        model = in_segments(folder, Kinds.LINEAR_REGRESSION, **dict({"num_units": 3}, **options))
        return ready_made.FitJob(model, one_sequence(labels))

    CASES[name] = build


fails("segments of a missing feature", columns=[layers.real_valued_column("q")])
fails(
    "segments of a missing context",
    columns=[x()],
    context_feature_columns=[layers.real_valued_column("q")],
)
fails("segments with a context of two numbers", columns=[x()], context_feature_columns=[x()])
fails("segments of buckets", columns=[layers.bucketized_column(x(), [0.0])])
fails("segments with too small a queue", columns=[x()], queue_capacity=1)
CASES.update(
    {
        "segments of a third kind": wrong_segments(kind=Kinds.LOGISTIC_REGRESSION),
        "segments without classes": wrong_segments(num_classes=None),
        "segments of one class": wrong_segments(num_classes=1),
        "segments of no step": wrong_segments(num_unroll=0),
        "probabilities of numbers": wrong_segments(
            kind=Kinds.LINEAR_REGRESSION, predict_probabilities=True
        ),
    }
)


NAMES, PLACES = (
    ["anna", "bruno", "clara", "david", "eva", "felix"],
    ["rome", "oslo", "paris", "berlin"],
)
OTHERS = ["went", "to", "from", "in", "lives", "near", "and", "with"]
VOCABULARY = ["<pad>"] + NAMES + PLACES + OTHERS
TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
SENTENCES, BATCH, LAST_TAGGER_STEP = 60, 10, 120


def sentences():
    """Yields ((words, how many), tags) of sentences of 3 to 14 words."""
    random = np.random.RandomState(7)

    def some(words, most):
        # The same numbers in every NumPy.
        return [words[one] for one in random.randint(len(words), size=random.randint(1, most))]

    for _ in range(SENTENCES):
        words, tags = [], []
        for _ in range(random.randint(1, 3)):
            names, others = some(NAMES, 3), some(OTHERS, 4)
            words += names + others + some(PLACES, 2)
            tags += ["B-PER"] + ["I-PER"] * (len(names) - 1) + ["O"] * len(others) + ["B-LOC"]
        # One in some words is unknown.
        words = [one if random.randint(9) else "x" + one for one in words]
        yield (words, len(words)), tags


def read_sentences():
    shapes, types = (([None], ()), [None]), ((tf.string, tf.int32), tf.string)
    dataset = tf.data.Dataset.from_generator(sentences, output_shapes=shapes, output_types=types)
    return dataset.repeat().padded_batch(BATCH, shapes, (("<pad>", 0), "O")).prefetch(1)


def tag_fn(features, labels, mode):
    words, lengths = (
        (features["words"], features["lengths"]) if isinstance(features, dict) else features
    )
    known = tf.contrib.lookup.index_table_from_tensor(VOCABULARY, num_oov_buckets=1)
    table = tf.get_variable("embeddings", [len(VOCABULARY) + 1, 8])
    inputs = tf.nn.embedding_lookup(table, known.lookup(words))
    forward, backward = (tf.contrib.rnn.LSTMBlockCell(6) for _ in range(2))
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, inputs, lengths, dtype=tf.float32
    )
    logits = tf.layers.dense(tf.concat(outputs, -1), len(TAGS))
    scores = tf.get_variable("crf", [len(TAGS), len(TAGS)])
    found, best = tf.contrib.crf.crf_decode(logits, scores, lengths)
    if mode == tf.estimator.ModeKeys.PREDICT:
        names = tf.contrib.lookup.index_to_string_table_from_tensor(TAGS)
        predictions = {"tags": names.lookup(tf.to_int64(found)), "score": best}
        return tf.estimator.EstimatorSpec(mode, predictions)
    tags = tf.contrib.lookup.index_table_from_tensor(TAGS).lookup(labels)
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(logits, tags, lengths, scores)
    loss = tf.reduce_mean(-likelihood)
    tf.losses.add_loss(loss)
    metrics = {"acc": tf.metrics.accuracy(tags, found, tf.sequence_mask(lengths))}
    train_op = tf.train.AdamOptimizer(0.01).minimize(
        loss, global_step=tf.train.get_or_create_global_step()
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


class Losses(tf.train.SessionRunHook):
    """Keeps the loss of each step."""

    def __init__(self):
        self.found = []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[0])

    def after_run(self, run_context, run_values):
        self.found.append(run_values.results)


class Tagger(jobs.EstimatorJob):
    """Trains for as many steps as a tagger needs, and keeps the losses."""

    losses = None

    def train(self, last_step):
        self.losses = Losses()
        last_step = last_step if last_step == jobs.FIRST_STEPS else LAST_TAGGER_STEP
        self.estimator.train(read_sentences, max_steps=last_step, hooks=[self.losses])

    def answers(self):
        found = super().answers()
        return dict(found, losses=self.losses.found[::10], last=self.losses.found[-10:])


@case
def tagger_of_sentences(folder):
    """An LSTM-CRF tagger of named entities, with sentences from a generator."""
    config = tf.estimator.RunConfig(
        folder, 1, save_summary_steps=100, session_config=values.one_thread()
    )

    def receive():
        found = {
            "words": tf.placeholder(tf.string, [None, None], name="words"),
            "lengths": tf.placeholder(tf.int32, [None], name="lengths"),
        }
        return tf.estimator.export.ServingInputReceiver(found, found)

    request = {
        "words": np.array([["anna", "went", "to", "oslo"], ["near", "rome", "", ""]], object),
        "lengths": np.array([4, 2], np.int32),
    }
    return Tagger(tf.estimator.Estimator(tag_fn, folder, config), read_sentences, receive, request)
