"""Cases of tf.contrib.learn, estimator and predictor that train a few steps or none."""

import functools
import os
import tempfile

import tensorflow as tf
import values

CASES = {}
learn, layers, predictor = tf.contrib.learn, tf.contrib.layers, tf.contrib.predictor
extra, np = tf.contrib.estimator, values.np
MODES = tf.estimator.ModeKeys
fc = tf.feature_column
ROWS = 8


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


def read():
    x = values.array(ROWS, 1, low=0.0)
    return {"x": tf.constant(x)}, tf.constant((x > 0.5).astype(np.int32))


def columns():
    return [fc.numeric_column("x")]


def weighted(features):
    weight = tf.get_variable("w", [1, 1], initializer=tf.ones_initializer())
    return tf.matmul(features["x"], weight)


def model_fn(features, labels, mode):
    found = {"y": weighted(features)}
    outputs = {"other": tf.estimator.export.PredictOutput({"z": found["y"] * 2.0})}
    outputs["serving_default"] = tf.estimator.export.PredictOutput(found)
    loss = step = None
    if mode == MODES.TRAIN:
        loss = tf.reduce_mean((found["y"] - tf.cast(labels, tf.float32)) ** 2)
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        step = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, found, loss, step, export_outputs=outputs)


def new(steps=1):
    model = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
    if steps:
        model.train(read, steps=steps)
    return model


# tf.contrib.predictor.
def receiver():
    x = tf.placeholder(tf.float32, [None, 1])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


X = values.array(3, 1, seed=5)


def answered(made, given):
    return {
        "found": made(given),
        "inputs": sorted(made.feed_tensors),
        "outputs": sorted(made.fetch_tensors),
        "same graph": made.graph is made.session.graph,
    }


@case("predictor.from_estimator")
@case("predictor.from_estimator, key", output_key="other")
@case("predictor.from_estimator, wrong key", output_key="none")
@case("predictor.from_estimator, wrong input", given={"q": X})
def of_estimator(given=None, **options):
    return answered(predictor.from_estimator(new(), receiver, **options), given or {"x": X})


@case("predictor.from_estimator, not trained")
def not_trained():
    return answered(predictor.from_estimator(new(0), receiver), {"x": X})


@case("predictor.from_estimator, own saver")
def with_saver():
    def averaged_fn(features, labels, mode):
        spec = model_fn(features, labels, mode)
        other = tf.get_variable("other", [1, 1], initializer=tf.zeros_initializer())
        weight = [one for one in tf.global_variables() if one.op.name == "w"][0]
        saver = tf.train.Saver({"w": other, "other": weight})
        step = tf.train.get_global_step()
        if mode == MODES.TRAIN:
            saver = tf.train.Saver({"w": weight, "other": other, "global_step": step})
        return spec._replace(scaffold=tf.train.Scaffold(saver=saver))

    model = tf.estimator.Estimator(averaged_fn, tempfile.mkdtemp())
    model.train(read, steps=1)
    return answered(predictor.from_estimator(model, receiver), {"x": X})


CASES["predictor.from_estimator, of learn"] = lambda: predictor.from_estimator(
    learn.Estimator(own_model, tempfile.mkdtemp()), receiver
)
CASES["predictor.from_contrib_estimator, of core"] = lambda: predictor.from_contrib_estimator(
    new(), as_given
)


def as_given():
    x = tf.placeholder(tf.float32, [None, 1], "x")
    return learn.InputFnOps({"x": x}, None, {"x": x})


def as_examples():
    return learn.build_parsing_serving_input_fn({"x": tf.FixedLenFeature([1], tf.float32)})()


def examples_of(numbers):
    return [
        tf.train.Example(
            features=tf.train.Features(
                feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[one]))}
            )
        ).SerializeToString()
        for one in numbers
    ]


def own_outputs(features, labels, mode):
    ops = own_model(features, labels, mode)
    y, kind = ops.predictions["y"], learn.ProblemType.UNSPECIFIED
    found = {"a": (kind, {"scores": y}), "b": (kind, {"z": y * 2.0})}
    return ops._replace(output_alternatives=found)


def one_output(features, labels, mode):
    ops = own_outputs(features, labels, mode)
    return ops._replace(output_alternatives={"a": ops.output_alternatives["a"]})


@functools.lru_cache(None)
def learned(function, steps=1):
    """Returns a model that the cases share, because its training takes seconds."""
    if isinstance(function, str):
        column = layers.real_valued_column("x")
        model = getattr(learn, function)([column], model_dir=tempfile.mkdtemp())
    else:
        model = learn.Estimator(function, tempfile.mkdtemp())
    return model.fit(input_fn=read, steps=steps) if steps else model


_contrib = "predictor.from_contrib_estimator"


@case(_contrib, "own_model")
@case(_contrib + ", not trained", "own_model", steps=0)
@case(_contrib + ", key of none", "own_model", output_alternative_key="a")
@case(_contrib + ", wrong input", "own_model", given={"q": X})
@case(_contrib + ", outputs", "own_outputs", output_alternative_key="b")
@case(_contrib + ", outputs, not trained", "own_outputs", output_alternative_key="a", steps=0)
@case(_contrib + ", outputs, no key", "own_outputs")
@case(_contrib + ", one output, key", "one_output", output_alternative_key="a")
@case(_contrib + ", one output, wrong key", "one_output", output_alternative_key="c")
@case(_contrib + ", LinearClassifier", "LinearClassifier")
@case(_contrib + ", LinearClassifier, not trained", "LinearClassifier", steps=0)
@case(_contrib + ", examples", "own_model", as_examples)
@case(_contrib + ", examples, LinearRegressor", "LinearRegressor", as_examples)
@case(
    _contrib + ", form of inputs",
    *("own_model", as_examples),
    input_alternative_key="default_input_alternative",
)
@case(_contrib + ", wrong inputs", "own_model", as_examples, input_alternative_key="features")
def of_learn(function, served=as_given, given=None, steps=1, **options):
    model = learned(globals().get(function, function), steps)
    made = predictor.from_contrib_estimator(model, served, **options)
    if served is as_examples:
        given = {"examples": examples_of([0.25, 0.75])}
    return answered(made, given or {"x": X})


@case("predictor.from_saved_model")
@case("predictor.from_saved_model, key", signature_def_key="other")
@case("predictor.from_saved_model, wrong key", signature_def_key="none")
@case("predictor.from_saved_model, wrong tags", tags="none")
@case(
    "predictor.from_saved_model, names",
    input_names={"given": "x:0"},
    output_names={"found": "MatMul:0"},
    given={"given": X},
)
def of_export(given=None, **options):
    folder = os.path.join(tempfile.mkdtemp(), "export")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 1], "x")
        y = weighted({"x": x})
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        sign = tf.saved_model.signature_def_utils.predict_signature_def
        signatures = {
            "serving_default": sign({"x": x}, {"y": y}),
            "other": sign({"x": x}, {"x": x}),
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return answered(predictor.from_saved_model(folder, **options), given or {"x": X})


# Parts of models.
@case("dnn_logit_fn_builder")
@case("dnn_logit_fn_builder, two", units=2, dropout=0.0, activation_fn=tf.nn.tanh)
def deep_logits(units=1, dropout=None, activation_fn=tf.nn.relu):
    function = extra.dnn_logit_fn_builder(
        units, [3], columns(), activation_fn, dropout, None, False
    )
    given = {"x": values.real(ROWS, 1)}
    return extra.call_logit_fn(function, given, MODES.EVAL, None, None)


@case("linear_logit_fn_builder")
@case("linear_logit_fn_builder, two", units=2)
def linear_logits(units=1):
    function = extra.linear_logit_fn_builder(units, columns())
    return extra.call_logit_fn(function, {"x": values.real(ROWS, 1)}, MODES.EVAL, None, None)


CASES["call_logit_fn"] = lambda: extra.call_logit_fn(
    lambda features, mode: features["x"] * 2.0, {"x": values.real(3)}, MODES.EVAL, None, None
)
CASES["call_logit_fn, wrong"] = lambda: extra.call_logit_fn(
    lambda features: 3, {"x": values.real(3)}, MODES.EVAL, None, None
)


@case("clip_gradients_by_norm")
def clipped():
    weight = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    optimizer = extra.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(0.5), 0.1)
    return {"w": weight}, [optimizer.minimize(tf.reduce_sum(weight * [1.0, 2.0, 3.0]))]


CASES["forward_features, unknown"] = lambda: extra.forward_features(new(0), ["q"]).train(
    read, steps=1
)


@case("TowerOptimizer")
def in_towers():
    weight = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    optimizer = extra.TowerOptimizer(tf.train.MomentumOptimizer(0.5, 0.9))
    return {"names": str(optimizer.get_slot_names()), "w": weight}


# tf.contrib.learn.
SPEC = {"x": tf.FixedLenFeature([1], tf.float32), "s": tf.VarLenFeature(tf.string)}


@case("build_parsing_serving_input_fn")
def served():
    found = learn.build_parsing_serving_input_fn(SPEC)()
    return {
        "type": type(found).__name__,
        "features": sorted(found.features),
        "inputs": sorted(found.default_inputs),
        "labels": str(found.labels),
        "name": next(iter(found.default_inputs.values())).name,
    }


CASES["keys"] = lambda: {
    "modes": [learn.ModeKeys.TRAIN, learn.ModeKeys.EVAL, learn.ModeKeys.INFER],
    "keys": [
        getattr(learn.PredictionKey, name)
        for name in ("CLASSES", "PROBABILITIES", "LOGITS", "LOGISTIC", "SCORES", "GENERIC")
    ],
    "problems": [
        getattr(learn.ProblemType, name)
        for name in ("UNSPECIFIED", "CLASSIFICATION", "LINEAR_REGRESSION")
    ],
    "tasks": [learn.TaskType.MASTER, learn.TaskType.PS, learn.TaskType.WORKER],
}


@case("infer_real_valued_columns_from_input")
def inferred():
    x = values.array(4, 3)
    return {
        "arrays": len(learn.infer_real_valued_columns_from_input(x)),
        "function": len(
            learn.infer_real_valued_columns_from_input_fn(lambda: (tf.constant(x), None))
        ),
    }


def examples(number=5):
    path = os.path.join(tempfile.mkdtemp(), "rows.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for place in range(number):
            example = tf.train.Example()
            example.features.feature["x"].float_list.value.append(place / 2)
            writer.write(example.SerializeToString())
    return path


@case("read_batch_examples", "read_batch_examples", tf.TFRecordReader)
@case(
    *("read_batch_features", "read_batch_features", tf.TFRecordReader),
    features={"x": tf.FixedLenFeature([], tf.float32)},
)
@case(
    *("read_batch_record_features", "read_batch_record_features"),
    features={"x": tf.FixedLenFeature([], tf.float32)},
)
@case("read_batch_examples, no file", "read_batch_examples", tf.TFRecordReader, path="/nowhere")
def batched(function, reader=None, features=None, path=None):
    options = {"features": features} if features else {}
    if reader:
        options["reader"] = reader
    found = getattr(learn, function)(
        path or examples(), 2, randomize_input=False, num_epochs=1, **options
    )
    rows = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                rows.append(session.run(found))
        except tf.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads)
    return {"rows": rows}


def own_model(features, labels, mode):
    weight = tf.get_variable("w", [1], initializer=tf.ones_initializer())
    found = tf.squeeze(features["x"] * weight if isinstance(features, dict) else features * weight)
    if labels is None:
        return learn.ModelFnOps(mode, {"y": found})
    loss = tf.reduce_mean((found - tf.to_float(tf.squeeze(labels))) ** 2)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
    return learn.ModelFnOps(mode, {"y": found}, loss, step)


@case("learn.Estimator")
def own_estimator():
    model = learn.Estimator(own_model, tempfile.mkdtemp())
    model.fit(input_fn=read, steps=3)
    found = model.evaluate(
        input_fn=read,
        steps=1,
        metrics={"mine": learn.MetricSpec(tf.metrics.mean, prediction_key="y")},
    )
    return {
        "is": isinstance(model, learn.BaseEstimator),
        "metrics": found,
        "names": sorted(model.get_variable_names()),
        "w": model.get_variable_value("w"),
    }


def written(model):
    """Returns "folder: step tag" of the summaries that a model has written."""
    found = []
    for parent, _, names in sorted(os.walk(model.model_dir)):
        for name in sorted(names):
            if "tfevents" in name:
                for event in tf.train.summary_iterator(os.path.join(parent, name)):
                    inside = os.path.relpath(parent, model.model_dir)
                    found += [f"{inside}: {event.step} {one.tag}" for one in event.summary.value]
    return np.array(found)


def own_summary(features, labels, mode):
    ops = own_model(features, labels, mode)
    tf.summary.scalar("mine/loss", ops.loss)
    return ops


@case("learn.Estimator: summaries", own_model)
@case("learn.Estimator: summaries, own", own_summary)
@case("learn.LinearClassifier: summaries", "LinearClassifier")
def summaries(function):
    model = learned(function)
    with tf.gfile.GFile(os.path.join(model.model_dir, "graph.pbtxt")) as file:
        return {"tags": written(model), "summaries in graph": file.read().count('"ScalarSummary"')}


METRIC = learn.MetricSpec(tf.metrics.mean, prediction_key="y")


@case("learn.Estimator.evaluate, list", [METRIC])
@case("learn.Estimator.evaluate, empty list", [])
@case("learn.Estimator.evaluate, MetricSpec", METRIC)
@case("learn.Estimator.evaluate, without prediction", {"a": tf.metrics.mean_squared_error})
def with_metrics(metrics):
    return learned(own_model).evaluate(input_fn=read, steps=1, metrics=metrics)


def evaluated_alone(model):
    return model.evaluate(input_fn=read, steps=1)


@case("learn.Estimator, not trained: evaluate", evaluated_alone)
@case("learn.Estimator, not trained: predict", lambda model: model.predict(input_fn=read))
@case("learn.Estimator, not trained: arrays", lambda model: model.predict(x={"x": X}))
@case("learn.Estimator, not trained: names", lambda model: model.get_variable_names())
@case(
    "learn.Estimator, not trained: export",
    lambda model: model.export_savedmodel(tempfile.mkdtemp(), as_given),
)
@case("learn.SKCompat, not trained: score", lambda model: learn.SKCompat(model).score({"x": X}, X))
@case("learn.SKCompat, not trained: predict", lambda model: learn.SKCompat(model).predict({"x": X}))
@case("learn.LinearClassifier, not trained: evaluate", evaluated_alone, "LinearClassifier")
def without_checkpoint(call, function=own_model):
    return {"result": str(call(learned(function, 0)))}


CASES["learn.NotFittedError"] = lambda: {
    "bases": [one.__name__ for one in learn.NotFittedError.__mro__]
}


@case("learn.Estimator, subclass")
def of_subclass():
    class Mine(learn.Estimator):
        def evaluate(self, *given, **options):
            return sorted(super().evaluate(*given, **options))

    return {
        "keys": Mine(own_model, tempfile.mkdtemp())
        .fit(input_fn=read, steps=1)
        .evaluate(input_fn=read, steps=1)
    }


@case("learn.SKCompat")
def for_arrays():
    def fn(features, labels, mode):
        return own_model({"x": features}, labels, mode)

    model = learn.SKCompat(learn.Estimator(fn, tempfile.mkdtemp()))
    x = values.array(ROWS, 1)
    model.fit(x, x[:, 0], batch_size=ROWS, steps=2)
    return {
        "score": model.score(x, x[:, 0], batch_size=ROWS, metrics={"mine": METRIC}),
        "found": model.predict(x, batch_size=3),
        "chosen": model.predict(x, outputs=["y"]),
    }


@case("learn.export_savedmodel", own_model)
@case("learn.export_savedmodel, key", own_outputs, "b")
@case("learn.export_savedmodel, no key", own_outputs)
@case("learn.make_export_strategy, key", own_outputs, "b", through_strategy=True)
@case("learn.make_export_strategy, core", None, through_strategy=True)
@case("learn.make_export_strategy, core, key", None, "b", through_strategy=True)
def exported(function, key=None, through_strategy=False):
    model = learned(function) if function else new()
    if through_strategy:
        served = as_given if function else receiver
        strategy = learn.make_export_strategy(served, default_output_alternative_key=key)
        path = strategy.export(model, os.path.join(tempfile.mkdtemp(), "Servo"))
    else:
        path = model.export_savedmodel(
            tempfile.mkdtemp(), as_given, default_output_alternative_key=key
        )
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.saved_model.loader.load(session, ["serve"], tf.compat.as_str_any(path))
        return {key: sorted(signature.outputs) for key, signature in made.signature_def.items()}
