"""Cases of tf.contrib.learn.models, ops and graph_actions, of its data sets and of utils.gc."""

import functools
import os
import tempfile

import tensorflow as tf
import values

CASES = {}
learn, np = tf.contrib.learn, values.np
models, ops, gc = learn.models, learn.ops, learn.utils.gc


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


def found(result):
    """Predictions and loss with their gradients, the variables, and the collections."""
    predictions, loss = result
    graph = tf.get_default_graph()
    variables = tf.trainable_variables()
    return {
        "predictions": predictions,
        "loss": loss,
        "gradients": tf.gradients(loss, variables),
        "variables": {one.op.name: one for one in variables},
        "summaries": [one.op.name for one in graph.get_collection(tf.GraphKeys.SUMMARIES)],
        "losses": len(tf.losses.get_losses()),
    }


ONE_HOT = np.eye(4, 3).astype(np.float32)
LIKE_ONES = {"init_mean": 0.3, "init_stddev": 0.0}


@case("models.linear_regression", "linear_regression", [4], **LIKE_ONES)
@case("models.linear_regression, two outputs", "linear_regression", [4, 2], **LIKE_ONES)
@case("models.linear_regression_zero_init", "linear_regression_zero_init", [4])
def linear(name, shape, **options):
    return found(getattr(models, name)(values.real(4, 5), values.real(*shape), **options))


@case("models.logistic_regression", "logistic_regression", **LIKE_ONES)
@case(
    "models.logistic_regression, weights",
    *("logistic_regression",),
    class_weight=[1.0, 3.0, 0.5],
    **LIKE_ONES,
)
@case("models.logistic_regression_zero_init", "logistic_regression_zero_init")
def logistic(name, **options):
    return found(getattr(models, name)(values.real(4, 5), tf.constant(ONE_HOT), **options))


@case("models.logistic_regression, weights by name")
def weights_by_name():
    tf.constant([1.0, 3.0, 0.5], name="class_weight")
    return logistic("logistic_regression", **LIKE_ONES)


@case("models.linear_regression, initial values", models.linear_regression)
@case("models.logistic_regression, initial values", models.logistic_regression)
def initial(model):
    model(tf.zeros([4, 5]), tf.zeros([4, 2]))
    kinds = {one.type for one in tf.get_default_graph().get_operations()}
    limits = [
        float(tf.contrib.util.constant_value(one.outputs[0]))
        for one in tf.get_default_graph().get_operations()
        if one.name.endswith(("random_uniform/min", "random_uniform/max"))
    ]
    return {"uniform": "RandomUniform" in kinds, "limits": limits}


@case("models.get_rnn_model", "gru")
@case("models.get_rnn_model, two layers", "lstm", 2)
@case("models.get_rnn_model, lengths", "rnn", lengths=[2, 3])
@case("models.get_rnn_model, attention", "gru", attention=2)
@case("models.get_rnn_model, unknown cell", "other")
def recurrent(kind, layers=1, lengths=None, attention=None):
    size = 2 if attention else None
    build = models.get_rnn_model(
        *(4, kind, layers, lambda x: tf.unstack(x, axis=1), False, models.linear_regression),
        *(lengths, None, attention, size, size),
    )
    with tf.variable_scope("", initializer=tf.constant_initializer(0.1)):
        return found(build(values.real(2, 3, 4), values.real(2)))


CASES["ops.mean_squared_error_regressor"] = lambda: found(
    ops.mean_squared_error_regressor(
        values.real(4, 5), values.real(4), values.real(5, 1), values.real(1)
    )
)
CASES["ops.mean_squared_error_regressor, several outputs of one label"] = lambda: (
    ops.mean_squared_error_regressor(
        values.real(4, 5), values.real(4), values.real(5, 2), values.real(2)
    )
)
CASES["ops.softmax_classifier, weights"] = lambda: found(
    ops.softmax_classifier(
        values.real(4, 5), ONE_HOT, values.real(5, 3), values.real(3), tf.constant([1.0, 2.0, 0.5])
    )
)
CASES["ops.embedding_lookup, rank 2"] = lambda: ops.embedding_lookup(
    values.real(5, 3), tf.constant([[1, 4], [0, 1]])
)


@case("ops.categorical_variable")
def categorical():
    with tf.variable_scope("", initializer=tf.ones_initializer()):
        rows = ops.categorical_variable(tf.constant([[1, 2], [3, 0]]), 5, 3, "kind")
    return {"rows": rows, "variables": [one.op.name for one in tf.global_variables()]}


CASES["ops.seq2seq_inputs"] = lambda: ops.seq2seq_inputs(
    values.real(2, 3, 4), values.real(2, 2, 4), 3, 2
)


@case("ops.rnn_decoder", False)
@case("ops.rnn_seq2seq", True)
def unrolled(whole):
    cell, steps = tf.nn.rnn_cell.GRUCell(4), [values.real(2, 4), values.real(2, 4) * 0.5]
    with tf.variable_scope("", initializer=tf.constant_initializer(0.1)):
        if whole:
            made = ops.rnn_seq2seq(steps[:1], steps, cell)
        else:
            made = ops.rnn_decoder(steps, values.real(2, 4), cell)
    return {"made": made, "variables": [one.op.name for one in tf.global_variables()]}


@case("ops.sequence_classifier", False)
@case("ops.sequence_classifier, sampled", True)
def sequences(sampled):
    logits = [values.real(4, 3), values.real(4, 3) * 2]
    other = [values.real(4, 3) + 1, values.real(4, 3) * 3] if sampled else None
    predictions, loss = ops.sequence_classifier(logits, [ONE_HOT, 1 - ONE_HOT], other)
    return {"predictions": predictions, "loss": loss, "gradients": tf.gradients(loss, logits)}


@case("learn.run_n", lambda values: learn.run_n(values, n=2))
@case("learn.run_n, none", lambda values: learn.run_n(values, n=0))
@case("learn.run_n, nothing", lambda values: learn.run_n({}))
@case("learn.infer", lambda values: learn.infer(None, values))
@case("learn.infer, no checkpoint", lambda values: learn.infer("/does/not/exist", values))
@case("learn.run_feeds, none", lambda values: learn.run_feeds(values, []))
def run(function):
    variable = tf.get_variable("v", initializer=2.0)
    return {"found": function({"v": variable, "twice": variable * 2})}


@case("learn.run_feeds, of a checkpoint")
def fed():
    given = tf.placeholder(tf.float32, [2], "given")
    variable = tf.get_variable("v", initializer=2.0)
    path = os.path.join(tempfile.mkdtemp(), "model.ckpt")
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(variable.assign(5.0))
        path = tf.train.Saver().save(session, path)
    feeds = [{given: [1.0, 2.0]}, {given: [3.0, 4.0]}]
    return {
        "found": learn.run_feeds({"product": given * variable}, feeds, path),
        "once": learn.infer(path, {"product": given * variable}, feeds[1]),
    }


@case("graph_actions, summary writers")
def writers():
    folder = tempfile.mkdtemp()
    first, second = (learn.graph_actions.get_summary_writer(folder) for _ in range(2))
    learn.graph_actions.clear_summary_writers()
    third = learn.graph_actions.get_summary_writer(folder)
    return {"same": [first is second, first is third], "files": len(os.listdir(folder))}


NUMBERS = [0, 3, 4, 5, 6, 7, 8, 9, 12]


@case("gc.largest_export_versions", gc.largest_export_versions(3))
@case("gc.mod_export_version", gc.mod_export_version(4))
@case("gc.negation", gc.negation(gc.mod_export_version(4)))
@case("gc.union", gc.union(gc.largest_export_versions(1), gc.mod_export_version(4)))
@case("gc.one_of_every_n_export_versions, 1", gc.one_of_every_n_export_versions(1))
@case("gc.one_of_every_n_export_versions, 2", gc.one_of_every_n_export_versions(2))
@case("gc.one_of_every_n_export_versions, 3", gc.one_of_every_n_export_versions(3))
@case("gc.one_of_every_n_export_versions, 5", gc.one_of_every_n_export_versions(5))
def kept(keep):
    paths = [gc.Path(f"/exports/{one}", one) for one in NUMBERS]
    return {"kept": [list(one) for one in keep(paths)]}


@case("gc.get_paths")
def paths_of_folder():
    folder = tempfile.mkdtemp()
    for name in ("3", "10", "1", "temp"):
        os.mkdir(os.path.join(folder, name))

    def parse(path):
        name = os.path.basename(path.path)
        return path._replace(export_version=int(name)) if name.isdigit() else None

    numbers = [one.export_version for one in gc.get_paths(folder, parse)]
    return {"numbers": numbers, "fields": list(gc.Path._fields)}


@case("datasets.load_iris")
def iris():
    data = learn.datasets.load_iris()
    same = learn.datasets.load_dataset("iris")
    return {"data": data.data, "target": data.target, "same": bool((data.data == same.data).all())}


CASES["datasets.mnist.dense_to_one_hot"] = lambda: {
    "found": learn.datasets.mnist.dense_to_one_hot(np.array([1, 0, 2]), 4)
}


@case("learn.Estimator, interfaces")
def interfaces():
    model = learn.Estimator(lambda features: None, tempfile.mkdtemp())
    found = [isinstance(model, one) for one in (learn.Trainable, learn.Evaluable)]
    abstract = [sorted(one.__abstractmethods__) for one in (learn.Trainable, learn.Evaluable)]
    return {"found": found, "abstract": abstract}


@case("learn, private paths")
def private():
    from tensorflow.contrib.learn.python.learn import graph_actions
    from tensorflow.contrib.learn.python.learn.models import linear_regression
    from tensorflow.contrib.learn.python.learn.ops.losses_ops import softmax_classifier
    from tensorflow.contrib.learn.python.learn.ops.seq2seq_ops import rnn_seq2seq
    from tensorflow.contrib.learn.python.learn.utils import gc as of_utils

    pairs = [
        (graph_actions.infer, learn.infer),
        (linear_regression, models.linear_regression),
        (softmax_classifier, ops.softmax_classifier),
        (rnn_seq2seq, ops.rnn_seq2seq),
        (of_utils.union, gc.union),
    ]
    return {"same": [one is other for one, other in pairs]}
