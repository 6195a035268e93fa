"""The arguments and helpers of the uses: the view, data, models and shared checks."""

import math

import numpy as np

from estimator_bridge import tf

ROWS = 48
COLORS = ("red", "green", "blue")


class Api:
    """One view of the Estimator API, and an empty folder.

    Attributes:
      view: "v1" or "v2".
      estimator: `tf.compat.v1.estimator` or `tf.estimator`.
      folder: str, path of an empty folder.
    """

    def __init__(self, view, folder):
        self.view = view
        self.folder = str(folder)
        self.estimator = tf.compat.v1.estimator if view == "v1" else tf.estimator

    @property
    def config(self):
        # TensorFlow's graph optimizer takes a sixth of the time of these few steps.
        session = tf.compat.v1.ConfigProto(allow_soft_placement=True)
        session.graph_options.rewrite_options.disable_meta_optimizer = True
        return self.estimator.RunConfig(
            tf_random_seed=7, save_checkpoints_steps=4, session_config=session
        )

    def linear(self, folder="linear", **options):
        """Returns a small LinearClassifier of this view."""
        return self.estimator.LinearClassifier(
            columns(), model_dir=f"{self.folder}/{folder}", config=self.config, **options
        )

    def custom(self, folder="custom", hooks=(), hook_fn=None):
        """Returns an Estimator with a model_fn; `the_loss` is its loss and `doubled` twice that."""
        e = self.estimator

        def model_fn(features, labels, mode):
            step = tf.compat.v1.train.get_or_create_global_step()
            output = tf.compat.v1.layers.dense(features["x"], 1, name="dense")
            predictions = {"y": output}
            if mode == e.ModeKeys.PREDICT:
                return e.EstimatorSpec(mode, predictions=predictions)
            loss = tf.identity(tf.reduce_mean((output - labels) ** 2), name="the_loss")
            tf.identity(2 * loss, name="doubled")
            train_op = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
            own = list(hooks) + (list(hook_fn()) if hook_fn else [])
            return e.EstimatorSpec(
                mode, predictions=predictions, loss=loss, train_op=train_op, training_hooks=own
            )

        return e.Estimator(model_fn, model_dir=f"{self.folder}/{folder}", config=self.config)


def columns():
    fc = tf.feature_column
    return [
        fc.numeric_column("x", shape=(1,)),
        fc.indicator_column(fc.categorical_column_with_vocabulary_list("c", COLORS)),
    ]


def data(label):
    """Returns features and labels; `label`: binary, multiclass, regression or multilabel."""
    x = np.linspace(-1, 1, ROWS, dtype=np.float32).reshape(-1, 1)
    c = np.array([COLORS[i % 3] for i in range(ROWS)]).reshape(-1, 1)
    y = {
        "binary": (x > 0).astype(np.int64),
        "multiclass": (np.arange(ROWS) % 3).reshape(-1, 1),
        "regression": (2 * x + 1).astype(np.float32),
        "multilabel": np.concatenate([x > 0, x > 0.5], axis=1).astype(np.int64),
    }[label]
    return {"x": x, "c": c}, y


def input_fn(label="binary", repeat=True, tensors=False):
    """Returns an input_fn over `data(label)` that returns a Dataset, or tensors."""

    def fn():
        rows = tf.data.Dataset.from_tensor_slices(data(label))
        rows = (rows.repeat() if repeat else rows).batch(8)
        return tf.compat.v1.data.make_one_shot_iterator(rows).get_next() if tensors else rows

    return fn


def x_only(label="regression", repeat=True):
    """Returns an input_fn without the string feature, for models without columns."""

    def fn():
        features, y = data(label)
        rows = tf.data.Dataset.from_tensor_slices(({"x": features["x"]}, y))
        return (rows.repeat() if repeat else rows).batch(8)

    return fn


def parsing_receiver(api):
    spec = tf.feature_column.make_parse_example_spec(columns())
    return api.estimator.export.build_parsing_serving_input_receiver_fn(spec)


def serialized(x, c):
    features = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[x])),
        "c": tf.train.Feature(bytes_list=tf.train.BytesList(value=[c.encode()])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()


def serve(path, feeds, signature="serving_default"):
    """Loads an export into a new session and returns the outputs of one request."""
    path = path.decode() if isinstance(path, bytes) else path
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path)
        chosen = meta.signature_def[signature]
        fed = {chosen.inputs[name].name: value for name, value in feeds.items()}
        wanted = {name: tensor.name for name, tensor in chosen.outputs.items()}
        return session.run(wanted, fed)


def check_lifecycle(api, make, label, output, tensors=False):
    """Trains, evaluates, predicts, exports, serves and resumes a canned model.

    Args:
      make: function of model_dir and config that returns the Estimator.
      label: kind of the labels; see `data`.
      output: (key of a prediction, key of the same output of the export).
      tensors: whether the input_fns return tensors instead of a Dataset.
    """
    train = input_fn(label, tensors=tensors)
    once = input_fn(label, repeat=False, tensors=tensors)
    folder = f"{api.folder}/model"
    model = make(model_dir=folder, config=api.config)
    model.train(train, steps=4)
    metrics = model.evaluate(once)
    assert metrics["global_step"] == 4
    assert math.isfinite(metrics["loss"])

    predictions = list(model.predict(once))
    assert len(predictions) == ROWS
    key, answer = output
    assert key in predictions[0]

    features, _ = data(label)
    path = model.export_saved_model(f"{api.folder}/export", parsing_receiver(api))
    query = [serialized(float(features["x"][i, 0]), str(features["c"][i, 0])) for i in (0, 1)]
    served = serve(path, {"inputs": query})
    expected = [prediction[key] for prediction in predictions[:2]]
    np.testing.assert_allclose(served[answer], expected, rtol=1e-4, atol=1e-5)

    again = make(model_dir=folder, config=api.config)
    again.train(train, max_steps=6)
    assert again.evaluate(once)["global_step"] == 6


def regression_head(api):
    """Returns a regression head for the canned networks of this view."""
    if api.view == "v1":
        from tensorflow_estimator.python.estimator.canned import head

        return head._regression_head()
    return api.estimator.RegressionHead()
