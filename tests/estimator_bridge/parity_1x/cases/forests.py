"""tf.contrib.tensor_forest: what the trees of a checkpoint predict.

1.15 grows trees by chance, so a case evaluates and predicts with the trees that it finds, and only
then trains on. The other package evaluates and predicts with what became of them.
"""

import functools
import os

import jobs
import tensorflow as tf
import values

np = values.np
CASES = {}
# The first images of scikit-learn's table of digits.
DIGITS = os.path.join(os.path.dirname(jobs.__file__), "digits.npz")
STEPS = 5


def forest():
    from tensorflow.contrib.tensor_forest.client import random_forest

    return random_forest


def hparams(**options):
    from tensorflow.contrib.tensor_forest.python import tensor_forest

    given = {"num_trees": 4, "max_nodes": 60, "split_after_samples": 12, "num_features": 5}
    return tensor_forest.ForestHParams(**dict(given, **options))


def digits():
    with np.load(DIGITS) as table:
        return table["data"].astype(np.float32), table["target"].astype(np.int64)


class Job(jobs.EstimatorJob):
    """A program around an Estimator, whose trees grow after they have answered."""

    def train(self, last_step):
        if tf.train.latest_checkpoint(self.estimator.model_dir) is None:
            self.grow()

    def grow(self):
        if hasattr(self.estimator, "fit"):
            self.estimator.fit(input_fn=self.input_fn, steps=STEPS)
        else:
            self.estimator.train(self.input_fn, steps=STEPS)

    def answers(self):
        found = self.estimator.evaluate(input_fn=self.input_fn, steps=1)
        found = {f"eval {name}": one for name, one in found.items()}
        rows = [row for row, _ in zip(self.estimator.predict(input_fn=self.input_fn), range(40))]
        for name in rows[0]:
            found["predict " + name] = np.stack([row[name] for row in rows])
        self.grow()
        return found


def table(labels):
    """Returns an input_fn of 60 rows of five numbers."""

    def read():
        data = values.array(60, 5, seed=31)
        rows = {
            "x": tf.constant(data[:, :3]),
            "y": tf.constant(data[:, 3:]),
            "w": tf.constant(values.array(60, seed=32, low=0.5, high=2.0)),
            "k": tf.constant([f"row {row}" for row in range(60)]),
        }
        return rows, tf.constant(labels(data))

    return read


def without(names, read):
    def given():
        features, labels = read()
        return {name: one for name, one in features.items() if name not in names}, labels

    return given


def two(data):
    return (data[:, 0] + data[:, 3] > 0).astype(np.int64)


def three(data):
    return (data[:, 0] > -0.3).astype(np.int64) + (data[:, 4] > 0.3)


def number(data):
    return data[:, 1] + 0.5 * data[:, 2]


def images():
    data, labels = digits()
    rows = tf.data.Dataset.from_tensor_slices(({"pixels": data}, labels))
    return rows.repeat().batch(200).make_one_shot_iterator().get_next()


def config(folder):
    return tf.estimator.RunConfig(model_dir=folder, save_summary_steps=100)


def learn_config(folder):
    return tf.contrib.learn.RunConfig(model_dir=folder, save_summary_steps=100)


def add(name, kind, read, hidden="wk", options=None, **params):
    """Adds a case; options are of the Estimator, params of the trees."""

    def build(folder):
        made = hparams(**params)
        settings = config if kind == "CoreTensorForestEstimator" else learn_config
        given = dict(options or {}, model_dir=folder, config=settings(folder))
        return Job(getattr(forest(), kind)(made, **given), without(hidden, read))

    CASES[name] = build


LEARN, CORE = "TensorForestEstimator", "CoreTensorForestEstimator"
add("digits", LEARN, images, num_features=64, num_classes=10, max_nodes=300, num_trees=10)
add("three classes", LEARN, table(three), num_classes=3)
add("three classes of core", CORE, table(three), num_classes=3, split_name="less")
add("two classes", LEARN, table(two), num_classes=2, checkpoint_stats=True)
add("two classes of core", CORE, table(two), num_classes=2, use_running_stats_method=True)
add("number", LEARN, table(number), num_classes=1, regression=True, checkpoint_stats=True)
add("number of core", CORE, table(number), num_classes=1, regression=True)
add("sparse leaves", LEARN, table(three), num_classes=3, model_name="all_sparse")
add(
    *("weights and keys", CORE, table(three), "", {"weight_column": "w", "keys_column": "k"}),
    num_classes=3,
    collate_examples=True,
)
add(
    # With feature_bagging_fraction, 1.15 reads beyond the columns of a tree.
    *("some rows", LEARN, table(three)),
    num_classes=3,
    bagging_fraction=0.7,
)
add(
    *("importances", CORE, table(three), "wk"),
    {"report_feature_importances": True, "include_all_in_serving": True},
    num_classes=3,
)

numeric = tf.feature_column.numeric_column
add(
    *("feature columns of core", CORE, table(three), "wk"),
    {"feature_columns": [numeric("y", shape=2), numeric("x", shape=3)]},
    num_classes=3,
)
real = tf.contrib.layers.real_valued_column
add(
    *("feature columns", LEARN, table(three), "wk"),
    {"feature_columns": [real("y", dimension=2), real("x", dimension=3)]},
    num_classes=3,
)


def several(folder):
    params = [hparams(num_classes=3), hparams(num_classes=2, num_trees=3)]

    def read():
        features, labels = without("wk", table(three))()
        return features, tf.stack([labels, tf.minimum(labels, 1)], 1)

    model = forest().MultiForestMultiHeadEstimator(
        params, model_dir=folder, config=learn_config(folder)
    )
    return Job(model, read)


CASES["several forests"] = several


class Graph:
    """A program around the operations of a forest, without an Estimator.

    Args:
      folder: of its checkpoints.
      params: of the trees.
    """

    def __init__(self, folder, **params):
        self.folder, self.params = folder, params
        self.data = values.array(60, 5, seed=31)
        self.number = params.get("regression", False)
        self.labels = (number if self.number else three)(self.data)

    def build(self):
        from tensorflow.contrib.tensor_forest.python import tensor_forest

        graphs = tensor_forest.RandomForestGraphs(hparams(**self.params).fill())
        data = tf.placeholder(tf.float32, [None, 5])
        labels = tf.placeholder(tf.float32 if self.number else tf.int64, [None])
        mean, _, variance = graphs.inference_graph(data)
        outputs = {
            "mean": mean,
            "variance": variance,
            "importances": graphs.feature_importances(),
            "size": graphs.average_size(),
            "loss": graphs.training_loss(data, labels),
            "validation loss": graphs.validation_loss(data, labels),
        }
        step = graphs.training_graph(data, labels)
        tf.train.get_or_create_global_step()
        return step, outputs, {data: self.data, labels: self.labels}

    def train(self, last_step):
        if tf.train.latest_checkpoint(self.folder) is None:
            self.run(STEPS)

    def answers(self):
        return self.run(STEPS)

    def run(self, steps):
        with tf.Graph().as_default(), tf.Session() as session:
            step, outputs, feed = self.build()
            saver = tf.train.Saver()
            session.run([tf.global_variables_initializer()])
            session.run([one.create for one in tf.get_collection("resources")])
            newest = tf.train.latest_checkpoint(self.folder)
            if newest:
                saver.restore(session, newest)
            found = session.run(outputs, feed)
            for _ in range(steps):
                session.run(step, feed)
            saver.save(session, os.path.join(self.folder, "model.ckpt"), global_step=steps)
            return found

    def export(self, folder):
        return None


for _name, _params in {
    "graph of three classes": {"num_classes": 3},
    "graph of numbers": {"num_classes": 1, "regression": True},
}.items():
    CASES[_name] = functools.partial(Graph, **_params)
