"""tf.contrib.linear_optimizer: the solver's minimum, and Estimators that go on from 1.15's files.

The solver takes the examples in a random order, which no seed fixes: runs agree at the minimum. Its
table has the losses of an example at its last step. An adaptive solver gives more steps to examples
with a larger gap; with a hinge loss, one without a gap may have had its last step long ago.
"""

import jobs
import tensorflow as tf
import values

linear_optimizer, learn, layers = tf.contrib.linear_optimizer, tf.contrib.learn, tf.contrib.layers
np = values.np
CASES = {}
ROWS = 12


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


def features():
    random = np.random.RandomState(1)
    words = random.choice(["a", "b", "c", "z"], (ROWS, 2))
    pairs = [[row, place] for row in range(ROWS) for place in range(1 + row % 2)]
    shares = values.array(len(pairs), seed=5, low=0.5, high=2.0)
    shape = [ROWS, 2]
    return {
        "id": tf.constant([f"row {row}" for row in range(ROWS)]),
        "x": tf.constant(values.nudged(values.array(ROWS, 1, seed=2))),
        "y": tf.constant(values.nudged(values.array(ROWS, 2, seed=3))),
        "s": tf.SparseTensor(pairs, [str(words[row, at]) for row, at in pairs], shape),
        "share": tf.SparseTensor(pairs, values.nudged(shares), shape),
        "i": tf.SparseTensor(pairs, np.array([(3 * row + at) % 4 for row, at in pairs]), shape),
        "w": tf.constant(values.nudged(values.array(ROWS, 1, seed=4, low=0.5, high=2.0))),
    }


def classes():
    return features(), values.whole(ROWS, 1, below=2, seed=6)


def numbers():
    return features(), tf.constant(values.nudged(values.array(ROWS, 1, seed=7)))


X, Y = layers.real_valued_column("x"), layers.real_valued_column("y", dimension=2)
S = layers.sparse_column_with_keys("s", ["a", "b", "c"])
IDS = layers.sparse_column_with_integerized_feature("i", 4)
COLUMNS = [X, Y, S, IDS, layers.bucketized_column(Y, [-0.3, 0.4])]
COLUMNS.append(layers.crossed_column([S, IDS], 5))


class Job(jobs.EstimatorJob):
    """A program around an Estimator of tf.contrib.learn."""

    def train(self, last_step):
        self.estimator.fit(input_fn=self.input_fn, max_steps=last_step)

    def answers(self):
        found = self.estimator.evaluate(input_fn=self.input_fn, steps=1)
        found = {f"eval {name}": one for name, one in found.items()}
        outputs = ["scores"] if "Regressor" in type(self.estimator).__name__ else ["logits"]
        rows = self.estimator.predict(input_fn=self.input_fn, outputs=outputs)
        found["predict"] = np.stack([row[outputs[0]] for row, _ in zip(rows, range(ROWS))])
        return found


def config(folder):
    return learn.RunConfig(
        model_dir=folder,
        tf_random_seed=1,
        # Summaries read the step while it changes.
        save_summary_steps=100,
        session_config=values.one_thread(),
    )


def receive():
    columns = [column for column in COLUMNS if column is not COLUMNS[-1]]
    rows = tf.placeholder(tf.string, [None])
    spec = layers.create_feature_spec_for_parsing(columns)
    return learn.InputFnOps(tf.parse_example(rows, spec), None, {"examples": rows})


def examples():
    found = []
    for row in range(3):
        example = tf.train.Example()
        named = example.features.feature
        named["x"].float_list.value.append(0.5 * row)
        named["y"].float_list.value.extend([0.3, -0.2 * row])
        named["s"].bytes_list.value.append(b"abz"[row : row + 1])
        named["i"].int64_list.value.append(row)
        found.append(example.SerializeToString())
    return {"inputs": found}


@case
def sdca_logistic_classifier(folder):
    model = linear_optimizer_estimators().SDCALogisticClassifier(
        # An export with a crossed column needs an operation of tf.contrib to load.
        *("id", COLUMNS[:-1], "w", folder),
        config=config(folder),
    )
    return Job(model, classes, receive, examples())


@case
def sdca_linear_regressor(folder):
    model = linear_optimizer_estimators().SDCALinearRegressor(
        *("id", COLUMNS, None, folder, 0.05, 8.0),
        config=config(folder),
    )
    return Job(model, numbers)


@case
def learn_linear_classifier(folder):
    solver = linear_optimizer.SDCAOptimizer(
        "id", symmetric_l1_regularization=0.1, num_table_shards=2
    )
    model = learn.LinearClassifier(COLUMNS, folder, 2, "w", solver, config=config(folder))
    return Job(model, classes)


@case
def learn_linear_regressor_in_parts(folder):
    columns = [*COLUMNS, layers.weighted_sparse_column(S, "share")]
    solver = linear_optimizer.SDCAOptimizer(
        *("id", 1, None, 0.0, 8.0), partitioner=tf.fixed_size_partitioner(2)
    )
    model = learn.LinearRegressor(
        columns, folder, None, solver, enable_centered_bias=True, config=config(folder)
    )
    return Job(model, numbers)


@case
def support_vector_machine(folder):
    model = learn.SVM("id", COLUMNS[:-1], "w", folder, 0.1, 8.0, config=config(folder))
    return Job(model, classes, receive, examples())


@case
def support_vector_machine_with_defaults(folder):
    # Without regularization, more columns have more than one minimum in the dual.
    return Job(learn.SVM("id", [X], model_dir=folder, config=config(folder)), classes)


def linear_optimizer_estimators():
    """Returns the module of the Estimators, which 1.15 has under its full name only."""
    from tensorflow.contrib.linear_optimizer.python import sdca_estimator

    return sdca_estimator


class Solver:
    """A program around an SdcaModel, without an Estimator.

    Args:
      folder: of its checkpoints.
      loss: type of the loss.
      options: of the model.
    """

    def __init__(self, folder, loss, **options):
        self.folder, self.loss, self.options = folder, loss, options
        self.found = {}

    def build(self):
        rows = tf.constant([0, 1, 1, 2, 3], tf.int64)
        column = linear_optimizer.SparseFeatureColumn
        examples = {
            "sparse_features": [
                column(
                    rows, tf.constant([0, 1, 2, 1, 3], tf.int64), values.given([1, 1, 0.5, 1, 2])
                ),
                column([0, 2, 3], [1, 0, 0], [1.0, 1.0, 0.5]),
            ],
            "dense_features": [values.real(4, 2, seed=3)],
            "example_labels": tf.constant([0.0, 1.0, 1.0, 0.0]),
            "example_weights": values.given([1, 2, 1, 1]),
            "example_ids": tf.constant(["a", "b", "c", "d"]),
        }
        zeros = tf.zeros_initializer()
        weights = {
            "sparse_features_weights": [
                tf.get_variable("first", [4], initializer=zeros),
                tf.get_variable("second", [2], initializer=zeros),
            ],
            "dense_features_weights": [tf.get_variable("dense", [2], initializer=zeros)],
        }
        options = {
            "symmetric_l1_regularization": 0.1,
            "symmetric_l2_regularization": 1.0,
            "loss_type": self.loss,
        }
        model = linear_optimizer.SdcaModel(examples, weights, dict(options, **self.options))
        step = model.minimize(tf.train.get_or_create_global_step())
        return model, examples, model.update_weights(step)

    def train(self, last_step):
        with tf.Graph().as_default():
            model, examples, step = self.build()
            outputs = {
                "predictions": model.predictions(examples),
                "regularized_loss": model.regularized_loss(examples),
                "unregularized_loss": model.unregularized_loss(examples),
                "gap": model.approximate_duality_gap(),
            }
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=self.folder,
                save_checkpoint_steps=10**6,
                save_summaries_steps=25,
                log_step_count_steps=0,
                hooks=[tf.train.StopAtStepHook(last_step=last_step)],
                config=values.one_thread(),
            ) as session:
                while not session.should_stop():
                    session.run(step)
                    if not session.should_stop():
                        self.found = session.run_step_fn(
                            lambda step_context: step_context.session.run(outputs)
                        )

    def answers(self):
        return self.found

    def export(self, folder):
        return None


def _add(name, *arguments, **options):
    CASES[name] = lambda folder: Solver(folder, *arguments, **options)


_add("logistic loss", "logistic_loss")
_add("logistic loss in shards", "logistic_loss", num_table_shards=3, adaptive=False)
_add("squared loss", "squared_loss", adaptive=False)
_add("squared loss with little l2", "squared_loss", symmetric_l2_regularization=0.2)
# With less l2, all four examples end at the kink of the loss, near which steps become ever smaller.
_HINGE = {"symmetric_l1_regularization": 0.0, "symmetric_l2_regularization": 4.0}
_add("hinge loss", "hinge_loss", num_loss_partitions=2, adaptive=False, **_HINGE)
_add("smooth hinge loss", "smooth_hinge_loss")
_add("poisson loss", "poisson_loss")
_add("unknown loss", "absolute_loss")
_add("negative l1", "squared_loss", symmetric_l1_regularization=-1.0)
_add("no l2", "squared_loss", symmetric_l2_regularization=None)


def _refused(name, message_of):
    """Adds a case that makes an Estimator which 1.15 refuses."""
    CASES[f"refused: {name}"] = message_of


def _learn(kind, **options):
    return lambda folder: kind(
        COLUMNS, folder, optimizer=linear_optimizer.SDCAOptimizer("id"), **options
    )


_refused("three classes", _learn(learn.LinearClassifier, n_classes=3))
_refused("joint weights", _learn(learn.LinearClassifier, _joint_weight=True))
_refused("centered bias", _learn(learn.LinearClassifier, enable_centered_bias=True))
_refused("two labels", _learn(learn.LinearRegressor, label_dimension=2))
_refused("joint weights of a regressor", _learn(learn.LinearRegressor, _joint_weights=True))
_refused("kernels", lambda folder: learn.SVM("id", COLUMNS, kernels=[1]))
_refused(
    "no columns", lambda folder: linear_optimizer_estimators().SDCALogisticClassifier("id", [])
)
