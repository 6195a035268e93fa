"""Estimators that train on from a checkpoint of 1.15."""

import functools

import tensorflow as tf
import values

from cases import centers

layers, learn = tf.contrib.layers, tf.contrib.learn
CASES = {}
ROWS = 8


def strings(seed, letters="abcd"):
    random = values.np.random.RandomState(seed)
    return tf.constant([[letters[place]] for place in random.randint(len(letters), size=ROWS)])


def several(seed):
    """Returns a SparseTensor of one or two strings in each row."""
    pairs = [[row, place] for row in range(ROWS) for place in range(1 + (row + seed) % 2)]
    return tf.SparseTensor(
        pairs, ["abc"[(seed + 5 * row + place) % 3] for row, place in pairs], [ROWS, 2]
    )


def features():
    return {
        "x": values.real(ROWS, 1, seed=1),
        "y": values.real(ROWS, 2, seed=2),
        "s": strings(3),
        "t": several(4),
        "w": values.real(ROWS, 1, seed=5, low=0.5, high=2.0),
    }


def input_fn(labels):
    def read():
        return features(), labels()

    return read


def classes(below):
    return input_fn(lambda: values.whole(ROWS, 1, below=below, seed=6))


def numbers():
    return values.real(ROWS, 1, seed=7)


X, Y = layers.real_valued_column("x"), layers.real_valued_column("y", dimension=2)
S = layers.sparse_column_with_hash_bucket("s", 5)
T = layers.sparse_column_with_keys("t", ["a", "b", "c"], combiner="mean")
WIDE = [
    *(X, S, T, layers.bucketized_column(Y, [-0.5, 0.0, 0.5])),
    layers.crossed_column([S, T], 7),
    layers.crossed_column([layers.bucketized_column(X, [0.0]), S], 6),
]
TABLE = layers.embedding_column(S, 2, initializer=tf.truncated_normal_initializer(seed=1))
DEEP = [X, TABLE, layers.one_hot_column(T)]


def config(folder):
    return tf.estimator.RunConfig(model_dir=folder, tf_random_seed=1, save_summary_steps=20)


def case(function):
    """Adds a function from a folder to (estimator, input_fn) to the cases."""
    CASES[function.__name__] = function
    return function


def old(folder):
    return learn.RunConfig(model_dir=folder, tf_random_seed=1, save_summary_steps=20)


# The two steps of a centered bias run at once: the order, and so the result, is not fixed in 1.15.
@case
def learn_linear_classifier(folder):
    return learn.LinearClassifier(WIDE, folder, config=old(folder)), classes(2)


@case
def learn_linear_classifier_of_three_weighted_and_clipped(folder):
    model = learn.LinearClassifier(
        WIDE, folder, 3, "w", gradient_clip_norm=0.1, optimizer="Adagrad", config=old(folder)
    )
    return model, classes(3)


@case
def learn_linear_regressor_with_joint_weights(folder):
    model = learn.LinearRegressor(
        [S, layers.crossed_column([S, layers.sparse_column_with_keys("t", ["a", "b"])], 7)],
        *(folder, "w"),
        _joint_weights=True,
        config=old(folder),
    )
    return model, input_fn(numbers)


@case
def learn_dnn_classifier(folder):
    model = learn.DNNClassifier(
        [4, 3], DEEP, folder, 3, embedding_lr_multipliers={TABLE: 0.5}, config=old(folder)
    )
    return model, classes(3)


@case
def learn_dnn_regressor(folder):
    model = learn.DNNRegressor([4], DEEP, folder, gradient_clip_norm=1.0, config=old(folder))
    return model, input_fn(numbers)


@case
def learn_combined_classifier(folder):
    model = learn.DNNLinearCombinedClassifier(
        folder,
        linear_feature_columns=WIDE,
        dnn_feature_columns=DEEP,
        dnn_hidden_units=[4, 3],
        fix_global_step_increment_bug=True,
        config=old(folder),
    )
    return model, classes(2)


@case
def learn_combined_regressor(folder):
    model = learn.DNNLinearCombinedRegressor(
        folder,
        "w",
        linear_feature_columns=WIDE,
        dnn_feature_columns=DEEP,
        dnn_hidden_units=[4],
        dnn_optimizer=tf.train.AdamOptimizer(0.01),
        fix_global_step_increment_bug=True,
        config=old(folder),
    )
    return model, input_fn(numbers)


WALS = tf.contrib.factorization.WALSMatrixFactorization
SIDES = (7, 5)


def batches(matrix):
    """Returns batches of three rows of a matrix, without end."""
    entries = [tuple(map(int, place)) for place in zip(*values.np.nonzero(matrix))]
    found = []
    for start in range(0, len(matrix), 3):
        here = [place for place in entries if start <= place[0] < start + 3]
        given = [values.nudged(matrix[place]) for place in here]
        found.append(tf.data.Dataset.from_tensors(tf.SparseTensor(here, given, matrix.shape)))
    dataset = found[0]
    for one in found[1:]:
        dataset = dataset.concatenate(one)
    return dataset.repeat().make_one_shot_iterator().get_next()


def ratings():
    matrix = values.array(*SIDES, seed=8)
    matrix[values.np.abs(matrix) < 0.4] = 0
    rows, columns = batches(matrix), batches(matrix.T)
    return {
        WALS.INPUT_ROWS: rows,
        WALS.INPUT_COLS: columns,
        WALS.PROJECT_ROW: tf.constant(True),
    }, None


def wals(folder, **options):
    starts = {
        name + "_init": values.np.split(values.array(size, 2, seed=9), [(size + 1) // 2])
        for name, size in zip(("row", "col"), SIDES)
    }
    shards = {"num_row_shards": 2, "num_col_shards": 2}
    if options.pop("whole", False):
        starts = {name: values.np.concatenate(parts) for name, parts in starts.items()}
        shards = {}
    options.update(starts, **shards)
    return WALS(*SIDES, 2, model_dir=folder, config=old(folder), **options), ratings


@case
def wals_matrix_factorization(folder):
    return wals(folder, whole=True, regularization_coeff=0.1)


@case
def wals_matrix_factorization_in_two_shards(folder):
    weights = {"row_weights": [[1.0, 2, 1, 3], [1, 2, 2]], "col_weights": [[1, 0.5, 1], [2, 2]]}
    return wals(folder, unobserved_weight=0.3, regularization_coeff=0.5, **weights)


@case
def wals_matrix_factorization_without_weights(folder):
    return wals(folder, whole=True, row_weights=None, col_weights=None, regularization_coeff=0.2)


def kmeans(folder, **options):
    model = tf.contrib.factorization.KMeansClustering(
        3, folder, random_seed=7, use_mini_batch=False, config=config(folder), **options
    )
    return model, lambda: ({"x": values.real(ROWS, 2, seed=1)}, None)


@case
def kmeans_clustering(folder):
    return kmeans(folder)


@case
def kmeans_clustering_by_cosine(folder):
    return kmeans(folder, distance_metric="cosine", initial_clusters="kmeans_plus_plus")


class Started(tf.train.SessionRunHook):
    """Starts a worker from the center, as a program with ModelAverageOptimizer has to on 1.15."""

    def __init__(self, operation):
        self.operation = operation

    def after_create_session(self, session, coord):
        session.run(self.operation)


def centered(kind, folder):
    """Returns an Estimator whose checkpoints contain the center of a worker's variables."""

    def model_fn(features, labels, mode):
        is_training = mode == tf.estimator.ModeKeys.TRAIN
        getter = centers.getter_of(kind) if is_training else None
        scope = "" if is_training else "global_center_variable"
        with tf.variable_scope(scope, custom_getter=getter):
            bias = tf.get_variable("b", initializer=tf.constant([0.25]))
            weights = tf.get_variable("part/w", [2, 1], initializer=tf.ones_initializer())
        outputs = tf.matmul(features["y"], weights) + bias
        spec = {"mode": mode, "predictions": {"outputs": outputs}}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(**spec)
        spec["loss"] = tf.losses.mean_squared_error(labels, outputs)
        if is_training:
            optimizer = centers.optimizer_of(kind, getter, centers.INNER["momentum"]())
            gradients = optimizer.compute_gradients(spec["loss"])
            step = tf.train.get_or_create_global_step()
            spec["train_op"] = tf.group(optimizer.apply_gradients(gradients, step))
            started = Started(centers.init_of(kind, optimizer))
            spec["training_hooks"] = [centers.hook_of(kind, optimizer), started]
        return tf.estimator.EstimatorSpec(**spec)

    return tf.estimator.Estimator(model_fn, folder, config(folder)), input_fn(numbers)


for _kind in centers.KINDS:
    CASES[f"{_kind}Optimizer"] = functools.partial(centered, _kind)
