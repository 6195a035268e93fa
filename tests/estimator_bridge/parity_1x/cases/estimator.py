"""Cases of tf.contrib.estimator: heads, alone and combined."""

import functools

import tensorflow as tf
import values

CASES = {}
estimator = tf.contrib.estimator
ROWS = 4
MODES = tf.estimator.ModeKeys


def features():
    return {"x": values.real(ROWS, 2), "w": values.given([[1.0], [2.0], [0.0], [0.5]])}


# Head -> (arguments, number of logits, labels).
HEADS = {
    "binary_classification_head": ({}, 1, lambda: values.whole(ROWS, 1, seed=2)),
    "multi_class_head": ({"n_classes": 3}, 3, lambda: values.whole(ROWS, 1, below=3, seed=2)),
    "multi_label_head": ({"n_classes": 3}, 3, lambda: values.whole(ROWS, 3, seed=2)),
    "regression_head": ({"label_dimension": 2}, 2, lambda: values.real(ROWS, 2, seed=2)),
    "poisson_regression_head": ({}, 1, lambda: tf.to_float(values.whole(ROWS, 1, below=4, seed=2))),
    "logistic_regression_head": ({}, 1, lambda: values.real(ROWS, 1, low=0.0, seed=2)),
}
OPTIONS = {
    "": {},
    "weights": {"weight_column": "w"},
    "sum": {"loss_reduction": tf.losses.Reduction.SUM},
    "name": {"name": "mine"},
}
MORE = {
    "binary_classification_head": {
        "thresholds": {"thresholds": [0.3, 0.6]},
        "loss_fn": {"loss_fn": lambda labels, logits: tf.abs(tf.to_float(labels) - logits)},
    },
    "multi_label_head": {
        "thresholds": {"thresholds": [0.5]},
        "classes": {"classes_for_class_based_metrics": [0, 2]},
        "named classes": {
            "label_vocabulary": ["a", "b", "c"],
            "classes_for_class_based_metrics": ["c"],
        },
        "loss_fn": {
            "loss_fn": lambda labels, logits: tf.reduce_sum(
                tf.abs(tf.to_float(labels) - logits), 1, keepdims=True
            )
        },
    },
    "regression_head": {"inverse_link_fn": {"inverse_link_fn": tf.exp}},
    "poisson_regression_head": {"not the full loss": {"compute_full_loss": False}},
}


def build(kind, **options):
    return getattr(estimator, kind)(**dict(HEADS[kind][0], **options))


def described(spec, mode):
    """Returns what a case computes from an EstimatorSpec, and the updates of its metrics."""
    found = {}
    for key, tensor in (spec.predictions or {}).items():
        name = key if isinstance(key, str) else "/".join(key)
        found["predictions " + name] = tensor
    for key in sorted(spec.export_outputs or {}):
        output = spec.export_outputs[key]
        parts = getattr(output, "outputs", {})
        parts = parts if isinstance(parts, dict) else {}
        found["export " + key] = " ".join([type(output).__name__, *sorted(parts)])
    if mode == MODES.PREDICT:
        return found
    found["loss"] = spec.loss
    if mode == MODES.TRAIN:
        return found, [spec.train_op]
    metrics = spec.eval_metric_ops
    found.update({"metric " + key: metrics[key][0] for key in metrics})
    return found, [metrics[key][1] for key in sorted(metrics)]


def train(loss):
    step = tf.train.get_or_create_global_step()
    return tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)


def headed(head, size, labels, mode):
    weight = tf.get_variable("weight", [2, size], initializer=tf.ones_initializer())
    given = features()
    logits = tf.matmul(given["x"], weight)
    arguments = {} if mode == MODES.PREDICT else {"labels": labels()}
    if mode == MODES.TRAIN:
        arguments["train_op_fn"] = train
    spec = head.create_estimator_spec(given, mode, logits, **arguments)
    return described(spec, mode)


def single(name, mode, options):
    _, size, labels = HEADS[name]
    return headed(build(name, **options), size, labels, mode)


for _name in sorted(HEADS):
    for _text, _options in sorted(dict(OPTIONS, **MORE.get(_name, {})).items()):
        for _mode in (MODES.EVAL,) if _text else (MODES.TRAIN, MODES.EVAL, MODES.PREDICT):
            CASES[f"{_name}, {_text or 'default'}, {_mode}"] = functools.partial(
                single, _name, _mode, _options
            )


def of_sparse(classes, words):
    options = {"label_vocabulary": ["a", "b", "c"]} if words else {}
    labels = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], classes, [ROWS, 2])
    head = build("multi_label_head", **options)
    return headed(head, 3, lambda: labels, MODES.EVAL)


PAIRS = {
    "binary and regression": ["binary_classification_head", "regression_head"],
    "two classes and labels": ["multi_class_head", "multi_label_head"],
    "three": ["logistic_regression_head", "poisson_regression_head", "multi_class_head"],
}


def several(names, mode, as_dict=False, **options):
    heads = [build(name, name=f"head_{place}") for place, name in enumerate(names)]
    head = estimator.multi_head(heads, **options)
    given = features()
    sizes = [HEADS[name][1] for name in names]
    weight = tf.get_variable("weight", [2, sum(sizes)], initializer=tf.ones_initializer())
    logits = tf.matmul(given["x"], weight)
    if as_dict:
        logits = dict(zip([one.name for one in heads], tf.split(logits, sizes, 1)))
    arguments = {}
    if mode != MODES.PREDICT:
        arguments["labels"] = {one.name: HEADS[name][2]() for one, name in zip(heads, names)}
    if mode == MODES.TRAIN:
        arguments["train_op_fn"] = train
    found = described(head.create_estimator_spec(given, mode, logits, **arguments), mode)
    extra = {"name": str(head.name), "size": str(head.logits_dimension)}
    if isinstance(found, tuple):
        return dict(found[0], **extra), found[1]
    return dict(found, **extra)


for _name in sorted(PAIRS):
    for _mode in (MODES.TRAIN, MODES.EVAL, MODES.PREDICT):
        CASES[f"multi_head, {_name}, {_mode}"] = functools.partial(several, PAIRS[_name], _mode)
    CASES[f"multi_head, {_name}, weighted"] = functools.partial(
        several, PAIRS[_name], MODES.TRAIN, head_weights=[0.5, 2.0, 1.5][: len(PAIRS[_name])]
    )
    CASES[f"multi_head, {_name}, logits by head"] = functools.partial(
        several, PAIRS[_name], MODES.EVAL, as_dict=True
    )
CASES["multi_label_head, sum, train"] = functools.partial(
    *(single, "multi_label_head", MODES.TRAIN, OPTIONS["sum"])
)
CASES["multi_label_head, vocabulary, infer"] = functools.partial(
    *(single, "multi_label_head", MODES.PREDICT, {"label_vocabulary": ["a", "b", "c"]})
)
CASES["multi_label_head, sparse labels"] = lambda: of_sparse(["b", "a", "c"], True)
CASES["multi_label_head, sparse ids"] = lambda: of_sparse([1, 0, 2], False)
CASES["multi_label_head, ids out of range"] = lambda: of_sparse([1, 0, 3], False)
CASES["multi_label_head, sparse text without words"] = lambda: of_sparse(["b", "a", "c"], False)
CASES["multi_label_head, dense ids"] = lambda: headed(
    build("multi_label_head"), 3, lambda: values.whole(ROWS, 1), MODES.EVAL
)
CASES["multi_head, loss"] = lambda: loss_of_several()
CASES["multi_head, no heads"] = lambda: estimator.multi_head([])
CASES["multi_head, no names"] = lambda: estimator.multi_head([build("regression_head")])
CASES["multi_head, same names"] = lambda: {
    "name": estimator.multi_head(
        [build("regression_head", name="a"), build("multi_class_head", name="a")]
    ).name
}
CASES["multi_head, other weights"] = lambda: estimator.multi_head(
    [build("regression_head", name="a")], [1.0, 2.0]
)
CASES["multi_head, labels of one head"] = lambda: several_without_labels()


def heads_of_two():
    return [build("regression_head", name="a"), build("binary_classification_head", name="b")]


def loss_of_several():
    head = estimator.multi_head(heads_of_two(), [2.0, 0.5])
    labels = {"a": values.real(ROWS, 2, seed=2), "b": values.whole(ROWS, 1, seed=3)}
    found = head.create_loss(features(), MODES.EVAL, values.real(ROWS, 3, seed=4), labels)
    return {"loss": found.training_loss, "labels": found.processed_labels}


def several_without_labels():
    return estimator.multi_head(heads_of_two()).create_estimator_spec(
        features(), MODES.EVAL, values.real(ROWS, 3, seed=4), {"a": values.real(ROWS, 2, seed=2)}
    )
