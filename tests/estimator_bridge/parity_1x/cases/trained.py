"""Estimators that train on from a checkpoint of 1.15."""

import tensorflow as tf
import values

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
