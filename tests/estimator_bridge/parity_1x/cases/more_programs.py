"""More whole programs: canned Estimators, hooks, warm start, Keras models, own sessions."""

import os
import shutil

import jobs
import tensorflow as tf
import values

from cases import programs

learn, layers, np = tf.contrib.learn, tf.contrib.layers, values.np
fc = tf.feature_column
CASES = {}
ROWS, BATCH = programs.ROWS, programs.BATCH
WORDS = ["red", "green", "blue", "mauve"]


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


def features():
    """Returns columns: numbers, words, and one to three words in each row."""
    random = np.random.RandomState(20)
    return {
        "age": values.array(ROWS, 1, seed=21, low=10.0, high=60.0),
        "color": np.array(random.choice(WORDS, (ROWS, 1)), object),
        "shade": np.array(random.choice(["dark", "pale", "odd"], (ROWS, 2)), object),
        "share": values.array(ROWS, 1, seed=22, low=0.5, high=2.0),
    }


def given():
    found = features()
    return dict(found, age=values.nudged(found["age"]))


read = programs.batches(given, lambda: programs.whole(ROWS, 1, below=2, seed=23))


def examples(number=3):
    """Returns the first rows as serialized tf.Examples."""
    rows = []
    for row in range(number):
        example = tf.train.Example()
        for name, column in sorted(features().items()):
            kind = example.features.feature[name]
            if column.dtype == object:
                kind.bytes_list.value.extend(one.encode() for one in column[row])
            else:
                kind.float_list.value.extend(column[row].tolist())
        rows.append(example.SerializeToString())
    return np.array(rows, object)


SPEC = {
    "age": tf.FixedLenFeature([1], tf.float32),
    "color": tf.FixedLenFeature([1], tf.string),
    "shade": tf.VarLenFeature(tf.string),
    "share": tf.FixedLenFeature([1], tf.float32, [1.0]),
}


@case
def wide_and_deep(folder):
    """Crosses, shared embeddings, batch normalisation, weights, metrics of its own."""
    age = fc.numeric_column("age", normalizer_fn=lambda x: (x - 35.0) / 25.0)
    buckets = fc.bucketized_column(fc.numeric_column("age"), [20.0, 30.0, 45.0])
    color = fc.categorical_column_with_vocabulary_list("color", WORDS[:3], num_oov_buckets=1)
    shade = fc.categorical_column_with_hash_bucket("shade", 5)
    other = fc.categorical_column_with_hash_bucket("color", 5)
    wide = [buckets, color, shade, fc.crossed_column([color, "shade"], 9, hash_key=3)]
    deep = [age, fc.indicator_column(color), *fc.shared_embedding_columns([shade, other], 2)]
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[5, 3],
        dnn_activation_fn=tf.nn.tanh,
        dnn_optimizer=tf.train.AdamOptimizer(0.01),
        linear_optimizer=lambda: tf.train.FtrlOptimizer(
            tf.train.exponential_decay(0.1, tf.train.get_global_step(), 10, 0.9),
            l1_regularization_strength=0.001,
        ),
        weight_column="share",
        batch_norm=True,
        config=programs.config(folder),
    )
    model = tf.contrib.estimator.add_metrics(
        model,
        lambda labels, predictions: {
            "rmse": tf.metrics.root_mean_squared_error(
                tf.cast(labels, tf.float32), predictions["logistic"]
            )
        },
    )
    parse = tf.estimator.export.build_parsing_serving_input_receiver_fn(SPEC)
    return jobs.EstimatorJob(model, read, parse, {"inputs": examples()})


@case
def contrib_learn_with_embeddings(folder):
    """DNNLinearCombinedClassifier of tf.contrib.learn, exported with its own columns."""
    color = layers.sparse_column_with_keys("color", WORDS)
    shade = layers.sparse_column_with_hash_bucket("shade", 5, combiner="sqrtn")
    age = layers.real_valued_column("age", normalizer=lambda x: x / 60.0)
    columns = [age, layers.embedding_column(shade, 3), layers.one_hot_column(color)]
    model = learn.DNNLinearCombinedClassifier(
        folder,
        # An export with a crossed column needs an operation of tf.contrib to load.
        linear_feature_columns=[color, shade],
        dnn_feature_columns=columns,
        dnn_hidden_units=[4],
        fix_global_step_increment_bug=True,
        config=learn.RunConfig(
            model_dir=folder,
            tf_random_seed=1,
            save_summary_steps=25,
            session_config=values.one_thread(),
        ),
    )

    def sparse():
        found, labels = read().make_one_shot_iterator().get_next()
        words = {name: one for name, one in found.items() if one.dtype == tf.string}
        found.update({name: layers.dense_to_sparse(one, "") for name, one in words.items()})
        return found, labels

    def receive():
        rows = tf.placeholder(tf.string, [None])
        spec = layers.create_feature_spec_for_parsing(columns)
        return learn.InputFnOps(tf.parse_example(rows, spec), None, {"examples": rows})

    return LearnJob(model, sparse, receive, {"inputs": examples()})


class LearnJob(jobs.EstimatorJob):
    """A program around an Estimator of tf.contrib.learn."""

    def train(self, last_step):
        self.estimator.fit(input_fn=self.input_fn, max_steps=last_step)

    def answers(self):
        found = self.estimator.evaluate(input_fn=self.input_fn, steps=3)
        found = {f"eval {name}": one for name, one in found.items()}
        rows = self.estimator.predict_proba(input_fn=self.input_fn)
        found["predict"] = np.stack([row for row, _ in zip(rows, range(8))])
        return found


class Recorder(tf.train.SessionRunHook):
    """Records what each part of the session calls, and the losses."""

    def __init__(self):
        self.calls, self.losses = [], []

    def begin(self):
        self.calls.append("begin")
        self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

    def after_create_session(self, session, coord):
        self.calls.append("created")

    def before_run(self, context):
        step = tf.train.get_global_step()
        return tf.train.SessionRunArgs({"loss": self.loss, "step": step})

    def after_run(self, context, found):
        self.losses.append(found.results["loss"])
        if len(self.losses) == 40:
            # The training ends with this step, before its last one.
            context.request_stop()

    def end(self, session):
        self.calls.append(f"end {session.run(tf.train.get_global_step())}")


class Listener(tf.train.CheckpointSaverListener):
    """Records when checkpoints are saved."""

    def __init__(self, calls):
        self.calls = calls

    def before_save(self, session, step):
        self.calls.append(f"before {step}")

    def after_save(self, session, step):
        self.calls.append(f"after {step}")

    def end(self, session, step):
        self.calls.append(f"saved {step}")


def embedded(features, labels, mode):
    """A text classifier with optimize_loss of tf.contrib.layers."""
    words = layers.embed_sequence(features["words"], 9, 4, scope="words")
    net = layers.conv2d(words[:, :, None, :], 3, [2, 1], scope="conv")
    net = tf.reduce_max(net, axis=[1, 2])
    logits = layers.fully_connected(net, 3, activation_fn=None, scope="logits")
    found = {"classes": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
    if mode == programs.PREDICT:
        outputs = {"serving_default": tf.estimator.export.PredictOutput(found)}
        return tf.estimator.EstimatorSpec(mode, found, export_outputs=outputs)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    operation = layers.optimize_loss(
        *(loss, tf.train.get_global_step(), 0.05, "Adagrad"),
        clip_gradients=0.5,
        learning_rate_decay_fn=lambda rate, step: tf.train.inverse_time_decay(rate, step, 10, 0.5),
        summaries=["learning_rate", "loss", "gradient_norm"],
    )
    metrics = {"accuracy": tf.metrics.accuracy(labels, found["classes"])}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=operation, eval_metric_ops=metrics)


class HookedJob(jobs.EstimatorJob):
    """Trains with hooks and listeners, and answers with what they have seen."""

    def train(self, last_step):
        self.recorder = Recorder()
        evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(
            self.estimator, self.input_fn, steps=2, every_n_iter=20
        )
        self.estimator.train(
            self.input_fn,
            max_steps=last_step,
            hooks=[self.recorder, evaluator],
            saving_listeners=[Listener(self.recorder.calls)],
        )

    def answers(self):
        found = super().answers()
        return dict(found, calls=self.recorder.calls, losses=self.recorder.losses)


@case
def text_classifier_with_hooks(folder):
    words = programs.whole(ROWS, 5, below=9, seed=24)
    model = tf.estimator.Estimator(
        embedded, config=programs.config(folder, save_checkpoints_steps=15)
    )
    labels = programs.whole(ROWS, below=3, seed=25)
    return HookedJob(
        model,
        programs.batches(lambda: {"words": words}, lambda: labels),
        programs.receiver(words=(tf.int64, [None, 5])),
        {"words": words[:3]},
    )


class WarmStartJob(jobs.EstimatorJob):
    """Trains a second Estimator, with more words, from the variables of the first."""

    def __init__(self, folder, build, input_fn):
        super().__init__(build(folder, WORDS[:2]), input_fn)
        self.folder, self.build = folder, build

    def train(self, last_step):
        super().train(last_step)
        # A checkpoint there would be continued.
        shutil.rmtree(self.folder + "_second", ignore_errors=True)
        tf.summary.FileWriterCache.clear()
        name = "dnn/input_from_feature_columns/input_layer/color_embedding/embedding_weights"
        before = write_words(self.folder, WORDS[:2])
        vocabulary = tf.estimator.VocabInfo(
            *(write_words(self.folder, WORDS), len(WORDS), 0, before, 2),
            backup_initializer=tf.zeros_initializer(),
        )
        start = tf.estimator.WarmStartSettings(
            self.folder, ".*(embedding|kernel).*", {name: vocabulary}
        )
        self.estimator = self.build(self.folder + "_second", WORDS, start)
        self.estimator.train(self.input_fn, steps=10)


def write_words(folder, words):
    """Writes a vocabulary beside a folder; returns its path."""
    path = os.path.join(os.path.dirname(folder), f"{len(words)}.txt")
    with open(path, "w") as file:
        file.write("\n".join(words) + "\n")
    return path


@case
def warm_start_with_a_larger_vocabulary(folder):
    def build(folder, words, start=None):
        path = write_words(folder, words)
        column = fc.categorical_column_with_vocabulary_file("color", path, len(words))
        table = fc.embedding_column(column, 3, initializer=tf.constant_initializer(0.25))
        return tf.estimator.DNNClassifier(
            *([4], [table, fc.numeric_column("age", normalizer_fn=lambda x: x / 60.0)]),
            optimizer=tf.train.MomentumOptimizer(0.05, 0.9),
            config=programs.config(folder),
            warm_start_from=start,
        )

    return WarmStartJob(folder, build, read)


@case
def keras_model_to_estimator(folder):
    """A recurrent model with batch normalisation and an optimizer of Keras's time in 1.x."""
    keras = tf.keras
    # Its names are counted from the first.
    keras.backend.clear_session()
    model = keras.models.Sequential(
        [
            keras.layers.LSTM(3, return_sequences=True, input_shape=(4, 2), name="first"),
            keras.layers.GRU(3),
            keras.layers.BatchNormalization(momentum=0.9),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(tf.train.AdamOptimizer(0.02), "binary_crossentropy", metrics=["accuracy"])
    numbers = values.array(ROWS, 4, 2, seed=26)
    inputs = programs.batches(
        lambda: {"first_input": values.nudged(numbers)},
        lambda: programs.whole(ROWS, 1, below=2, seed=27),
    )
    made = keras.estimator.model_to_estimator(model, config=programs.config(folder))
    return jobs.EstimatorJob(
        made,
        inputs,
        programs.receiver(first_input=(tf.float32, [None, 4, 2])),
        {"first_input": numbers[:3]},
    )


class SessionJob:
    """Trains in a MonitoredTrainingSession, with a table, an LSTM and two optimizers."""

    request = {"words": np.array([["b", "a", "x"], ["c", "c", "a"]], object)}

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(os.path.dirname(folder), "letters.txt")
        with open(self.path, "w") as file:
            file.write("a\nb\nc\n")

    def logits(self, words):
        table = tf.contrib.lookup.index_table_from_file(self.path, num_oov_buckets=1)
        embedded = tf.contrib.layers.embedding_lookup_unique(
            tf.get_variable("letters", [4, 3]), table.lookup(words)
        )
        cell = tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, num_proj=3)
        with tf.variable_scope("encoder"):
            outputs, _ = tf.nn.dynamic_rnn(cell, embedded, dtype=tf.float32)
        with tf.variable_scope("head"):
            return tf.layers.dense(outputs[:, -1], 2)

    def read(self):
        words = np.array(np.random.RandomState(28).choice(list("abcx"), (ROWS, 3)), object)
        rows = tf.data.Dataset.from_tensor_slices((words, programs.whole(ROWS, below=2, seed=29)))
        iterator = rows.repeat().batch(BATCH).make_initializable_iterator()
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        return iterator.get_next()

    def train(self, last_step):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            words, labels = self.read()
            loss = tf.losses.sparse_softmax_cross_entropy(labels, self.logits(words))
            tf.summary.scalar("cost", loss)
            step = tf.train.get_or_create_global_step()
            head, rest = (
                [one for one in tf.trainable_variables() if one.op.name.startswith("head") is kind]
                for kind in (True, False)
            )
            # The last backward step reads the LSTM's kernel, which can be updated before that.
            gradients = tf.tuple(tf.gradients(loss, head + rest))
            slow = tf.train.AdagradOptimizer(0.05).apply_gradients(
                zip(gradients[len(head) :], rest)
            )
            with tf.control_dependencies([slow]):
                operation = tf.train.AdadeltaOptimizer(1.0).apply_gradients(
                    zip(gradients[: len(head)], head), step
                )
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=self.folder,
                hooks=[tf.train.StopAtStepHook(last_step=last_step)],
                save_summaries_steps=25,
                config=values.one_thread(),
            ) as session:
                while not session.should_stop():
                    session.run(operation)

    def answers(self):
        with tf.Graph().as_default():
            words, labels = self.read()
            logits = self.logits(words)
            accuracy, update = tf.metrics.accuracy(labels, tf.argmax(logits, 1))
            return tf.contrib.training.evaluate_once(
                tf.train.latest_checkpoint(self.folder),
                eval_ops=update,
                final_ops={"accuracy": accuracy, "logits": logits},
                hooks=[tf.contrib.training.StopAfterNEvalsHook(3)],
                config=values.one_thread(),
            )

    def export(self, folder):
        with tf.Graph().as_default(), tf.Session() as session:
            words = tf.placeholder(tf.string, [None, 3])
            probabilities = tf.nn.softmax(self.logits(words))
            tf.train.Saver().restore(session, tf.train.latest_checkpoint(self.folder))
            session.run(tf.tables_initializer())
            tf.saved_model.simple_save(
                *(session, folder, {"words": words}, {"probabilities": probabilities}),
                legacy_init_op=tf.tables_initializer(),
            )
        return folder


@case
def monitored_session(folder):
    return SessionJob(folder)
