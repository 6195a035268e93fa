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


CASES["predictor.from_estimator, not trained"] = lambda: answered(
    predictor.from_estimator(new(0), receiver), {"x": X}
)


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
