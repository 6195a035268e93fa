"""The smaller Estimators of tf.contrib, from checkpoint files of 1.15 on."""

import jobs
import tensorflow as tf
import values
from tensorflow.contrib.learn.python.learn.estimators import debug

contrib, np = tf.contrib, values.np
learn, layers = contrib.learn, contrib.layers
CASES = {}
ROWS = 8


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


class FitJob(jobs.EstimatorJob):
    """A program around an Estimator of tf.contrib.learn; all its predictions are answers."""

    # A summary may read the step before it is counted or after it.
    at_steps = False

    def train(self, last_step):
        self.estimator.fit(input_fn=self.input_fn, max_steps=last_step)

    def answers(self):
        found = self.estimator.evaluate(input_fn=self.input_fn, steps=3)
        found = {f"eval {name}": one for name, one in found.items()}
        rows = [row for row, _ in zip(self.estimator.predict(input_fn=self.input_fn), range(8))]
        rows = [row if isinstance(row, dict) else {"value": row} for row in rows]
        found.update({f"predict {key}": np.stack([row[key] for row in rows]) for key in rows[0]})
        return found


def config(folder):
    return learn.RunConfig(
        model_dir=folder,
        tf_random_seed=1,
        save_summary_steps=25,
        session_config=values.one_thread(),
    )


def features():
    words = np.random.RandomState(3).randint(4, size=(ROWS, 1))
    return {
        "x": values.real(ROWS, 1, seed=1),
        "y": values.real(ROWS, 2, seed=2),
        "s": layers.dense_to_sparse(tf.constant(np.array(list("abcd"))[words]), ""),
        "w": values.real(ROWS, 1, seed=5, low=0.5, high=2.0),
    }


def read(labels):
    return lambda: (features(), labels())


def classes(below):
    return lambda: values.whole(ROWS, 1, below=below, seed=6)


def numbers():
    return values.real(ROWS, 1, seed=7)


def wide():
    s = layers.sparse_column_with_hash_bucket("s", 5)
    y = layers.real_valued_column("y", dimension=2)
    return [layers.real_valued_column("x"), y, s]


def deep():
    s = layers.sparse_column_with_hash_bucket("s", 5)
    table = layers.embedding_column(s, 2, initializer=tf.truncated_normal_initializer(seed=1))
    return [layers.real_valued_column("x"), table]


# With three classes, the order of the two steps, and so the result, is not fixed in 1.15.
@case
def debug_classifier_of_two(folder):
    # Without weights, the shares of the classes are equal, and rounding decides which is predicted.
    model = debug.DebugClassifier(folder, weight_column_name="w", config=config(folder))
    return FitJob(model, read(classes(2)))


@case
def debug_regressor(folder):
    model = debug.DebugRegressor(folder, 2, config=config(folder))
    return FitJob(model, read(lambda: values.real(ROWS, 2, seed=7)))


@case
def logistic_regressor(folder):
    def model_fn(features, labels, mode):
        logits = layers.fully_connected(features["y"], 1, None)
        loss = train_op = None
        if mode != learn.ModeKeys.INFER:
            loss = tf.losses.sigmoid_cross_entropy(labels, logits)
        if mode == learn.ModeKeys.TRAIN:
            train_op = layers.optimize_loss(loss, tf.train.get_global_step(), 0.1, "Adam")
        return tf.sigmoid(logits), loss, train_op

    model = learn.LogisticRegressor(model_fn, [0.3, 0.5], folder, config(folder))
    return FitJob(model, read(classes(2)))


@case
def linear_estimator(folder):
    head = learn.poisson_regression_head(weight_column_name="w")
    model = learn.LinearEstimator(wide(), head, folder, config=config(folder))
    return FitJob(model, read(lambda: tf.to_float(classes(4)())))


@case
def linear_estimator_of_labels(folder):
    head = learn.multi_label_head(3, head_name="mine")
    model = learn.LinearEstimator(
        *(wide(), head, folder, "w", tf.train.AdagradOptimizer(0.1), 0.5), config=config(folder)
    )
    return FitJob(model, read(lambda: values.whole(ROWS, 3, seed=6)))


@case
def dnn_estimator(folder):
    head = learn.multi_class_head(3, metric_class_ids=[0, 2], head_name="mine")
    model = learn.DNNEstimator(
        *(head, [4, 3], deep(), folder), activation_fn="tanh", config=config(folder)
    )
    return FitJob(model, read(classes(3)))


@case
def dnn_estimator_of_two_heads(folder):
    heads = [
        learn.multi_class_head(2, label_name="a", head_name="first"),
        learn.regression_head("b", "w", head_name="second"),
        learn.head.loss_only_head(lambda: [tf.constant(0.5)], "third"),
    ]
    model = learn.DNNEstimator(
        *(learn.multi_head(heads, [1.0, 0.5, 2.0]), [4], deep(), folder),
        optimizer=tf.train.AdamOptimizer(0.01),
        config=config(folder),
    )
    return FitJob(model, read(lambda: {"a": classes(2)(), "b": numbers()}))


@case
def combined_estimator(folder):
    model = learn.DNNLinearCombinedEstimator(
        learn.binary_svm_head(),
        folder,
        linear_feature_columns=wide(),
        dnn_feature_columns=deep(),
        dnn_hidden_units=[4],
        gradient_clip_norm=1.0,
        fix_global_step_increment_bug=True,
        config=config(folder),
    )
    return FitJob(model, read(classes(2)))


@case
def combined_estimator_with_partitioner(folder):
    model = learn.DNNLinearCombinedEstimator(
        learn.regression_head(link_fn=tf.exp),
        folder,
        linear_feature_columns=wide(),
        dnn_feature_columns=deep(),
        dnn_hidden_units=[4],
        dnn_activation_fn=tf.nn.tanh,
        # The slots of a variable in parts cannot be read from a checkpoint one by one.
        dnn_optimizer=tf.train.GradientDescentOptimizer(0.1),
        fix_global_step_increment_bug=True,
        input_layer_partitioner=tf.fixed_size_partitioner(2),
        config=config(folder),
    )
    return FitJob(model, read(numbers))


@case
def kmeans_of_learn(folder):
    model = learn.KMeansClustering(
        3, folder, random_seed=7, use_mini_batch=False, config=config(folder)
    )
    return FitJob(model, lambda: ({"x": values.real(ROWS, 2, seed=1)}, None))


def mixture(folder, **options):
    model = contrib.factorization.GMM(3, folder, 7, config=config(folder), **options)
    return FitJob(model, lambda: (values.real(30, 2, seed=1), None))


@case
def gaussian_mixture(folder):
    return mixture(folder)


@case
def gaussian_mixture_of_diagonals(folder):
    return mixture(folder, covariance_type="diag", params="wm", initial_clusters=values.array(3, 2))


def mapped(folder, labels, *columns, **options):
    y = layers.real_valued_column("y", dimension=2)
    kernels = contrib.kernel_methods
    mappers = [kernels.RandomFourierFeatureMapper(2, 6, 0.7, seed, f"m{seed}") for seed in (3, 4)]
    model = kernels.KernelLinearClassifier(
        columns, folder, kernel_mappers={y: mappers}, config=config(folder), **options
    )
    return FitJob(model, read(labels))


@case
def kernel_linear_classifier(folder):
    return mapped(folder, classes(2), *wide())


@case
def kernel_linear_classifier_of_three(folder):
    optimizer = tf.train.AdagradOptimizer(0.2)
    return mapped(folder, classes(3), n_classes=3, weight_column_name="w", optimizer=optimizer)


def annotated(kind, folder, labels, **options):
    age = tf.feature_column.numeric_column("y", 2)
    model = getattr(contrib.estimator, kind)(
        *([4, 3], [age, tf.feature_column.numeric_column("x")], folder),
        config=tf.estimator.RunConfig(
            model_dir=folder,
            tf_random_seed=1,
            save_summary_steps=25,
            session_config=values.one_thread(),
        ),
        **options,
    )
    inputs = {"x": values.array(3, 1, seed=9), "y": values.array(3, 2, seed=8)}
    receive = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {name: tf.placeholder(tf.float32, [None, one.shape[1]]) for name, one in inputs.items()}
    )

    def given():
        found = features()
        return {name: found[name] for name in ("x", "y", "w")}, labels()

    job = jobs.EstimatorJob(model, given, receive, inputs)
    job.at_steps = FitJob.at_steps
    return job


@case
def dnn_classifier_with_layer_annotations(folder):
    kind = "DNNClassifierWithLayerAnnotations"
    return annotated(kind, folder, classes(3), n_classes=3, weight_column="w")


@case
def dnn_regressor_with_layer_annotations(folder):
    return annotated("DNNRegressorWithLayerAnnotations", folder, numbers)
