"""Cases of the heads of tf.contrib.learn: their losses, predictions, metrics and signatures."""

import functools

import tensorflow as tf
import values

CASES = {}
learn = tf.contrib.learn
MODES = learn.ModeKeys
ROWS = 4


def features():
    return {"x": values.real(ROWS, 2), "w": values.given([[1.0], [2.0], [0.0], [0.5]])}


def several_labels():
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 0, 2], tf.int64), [ROWS, 2])


def words():
    return tf.constant([["b"], ["a"], ["c"], ["b"]])


def weighted_loss(labels, logits, weights=1.0):
    return tf.losses.mean_squared_error(tf.to_float(labels), logits, tf.to_float(weights))


# Head -> (arguments, labels).
HEADS = {
    "regression_head": ({}, lambda: values.real(ROWS, 1, seed=2)),
    "poisson_regression_head": ({}, lambda: tf.to_float(values.whole(ROWS, 1, below=4, seed=2))),
    "multi_class_head": ({"n_classes": 3}, lambda: values.whole(ROWS, 1, below=3, seed=2)),
    "multi_label_head": ({"n_classes": 3}, lambda: values.whole(ROWS, 3, seed=2)),
    "binary_svm_head": ({}, lambda: values.whole(ROWS, 1, seed=2)),
    "binary": ({"n_classes": 2}, lambda: values.whole(ROWS, 1, seed=2)),
}
ALL = (MODES.TRAIN, MODES.EVAL, MODES.INFER)
EVERYTHING = "name, weights and centered bias"
EVERYWHERE = {
    "weight_column_name": "w",
    "enable_centered_bias": True,
    "head_name": "mine",
}
MORE = {
    "regression_head": {
        "label name": {"label_name": "y"},
        "two": {"label_dimension": 2},
        "link": {"link_fn": tf.exp},
    },
    "poisson_regression_head": {"two": {"label_dimension": 2}},
    "multi_class_head": {
        "thresholds": {"thresholds": [0.3, 0.6]},
        "metrics of classes": {"metric_class_ids": [0, 2]},
        "metrics of classes, name": {"metric_class_ids": [0, 2], "head_name": "mine"},
        "loss": {"loss_fn": weighted_loss},
        "words": {"label_keys": ["a", "b", "c"]},
    },
    "multi_label_head": {
        "thresholds": {"thresholds": [0.3, 0.6]},
        "metrics of classes": {"metric_class_ids": [0, 2]},
        "metrics of classes, name": {"metric_class_ids": [0, 2], "head_name": "mine"},
        "loss": {"loss_fn": weighted_loss},
        "loss, weights": {"loss_fn": weighted_loss, "weight_column_name": "w"},
        "sparse": {},
        "two": {"n_classes": 2},
    },
    "binary_svm_head": {"thresholds": {"thresholds": [0.3, 0.6]}},
    "binary": {
        "centered bias": {"enable_centered_bias": True},
        "thresholds": {"thresholds": [0.3, 0.6]},
        "thresholds, name": {"thresholds": [0.3], "head_name": "mine"},
        "loss": {"loss_fn": weighted_loss},
    },
}


def build(kind, **options):
    make = getattr(learn, "multi_class_head" if kind == "binary" else kind)
    return make(**dict(HEADS[kind][0], **options))


def make_labels(kind, text, options):
    size = options.get("label_dimension")
    if text == "words":
        labels = words()
    elif text == "sparse":
        labels = several_labels()
    elif size or text == "two":
        labels = values.whole(ROWS, 2, below=2, seed=2)
        labels = tf.to_float(labels) if size else labels
    else:
        labels = HEADS[kind][1]()
    return {"y": labels} if "label_name" in options else labels


def described(ops, mode):
    """Returns what a case computes from ModelFnOps, and the operations that it runs."""
    found = {}
    for key, tensor in ops.predictions.items() if ops.predictions else ():
        found[f"predictions {key}"] = tensor
    for key, (kind, tensors) in (ops.output_alternatives or {}).items():
        found[f"kind {key}"] = str(kind)
        for name, tensor in tensors.items():
            found[f"alternative {key} {name}"] = tensor
    if ops.loss is not None:
        found["loss"] = ops.loss
    if mode == MODES.TRAIN:
        return found, [ops.train_op]
    metrics = ops.eval_metric_ops or {}
    for key in metrics:
        found[f"metric {key}"] = metrics[key][0]
    updates = [metrics[key][1] for key in sorted(metrics)]
    return (found, updates) if updates else found


def train(loss):
    step = tf.train.get_or_create_global_step()
    return tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)


def headed(head, labels, mode, **options):
    given = features()
    size = head.logits_dimension
    if "logits_input" not in options and "logits" not in options:
        weight = tf.get_variable("weight", [2, size], initializer=tf.ones_initializer())
        options["logits"] = tf.matmul(given["x"], weight)
    options.setdefault("train_op_fn", train)
    ops = head.create_model_fn_ops(
        features=given, mode=mode, labels=None if mode == MODES.INFER else labels(), **options
    )
    found = described(ops, mode)
    parts = found[0] if isinstance(found, tuple) else found
    parts["size"] = str(size)
    return found


def single(kind, text, mode, options):
    head, more = build(kind, **options), {}
    if options.get("enable_centered_bias"):
        # The step of the bias and another one would run at once, in any order.
        more["train_op_fn"] = learn.no_op_train_fn
    return headed(head, lambda: make_labels(kind, text, options), mode, **more)


CHOSEN = {("default", mode) for mode in ALL} | {(EVERYTHING, mode) for mode in ALL[:2]}
CHOSEN |= {("loss", ALL[0]), ("words", ALL[2]), ("link", ALL[2]), ("centered bias", ALL[0])}
for _kind in sorted(HEADS):
    _all = dict(MORE[_kind], default={}, weights={"weight_column_name": "w"})
    _all[EVERYTHING] = EVERYWHERE
    for _text, _options in sorted(_all.items()):
        for _mode in ALL:
            if (_text, _mode) in CHOSEN or (_mode == MODES.EVAL and _text != "centered bias"):
                CASES[f"{_kind}, {_text}, {_mode}"] = functools.partial(
                    single, _kind, _text, _mode, _options
                )


def one_head(**options):
    return build("regression_head", **options)


def from_hidden(kind, **options):
    """Returns what a head computes with logits of its own."""
    head = build(kind, **options)
    hidden = values.real(ROWS, 3, seed=5)
    return headed(head, HEADS[kind][1], MODES.TRAIN, logits_input=hidden)


for _kind in sorted(HEADS):
    CASES[f"{_kind}, own logits"] = functools.partial(from_hidden, _kind)
CASES["regression_head, own logits, name"] = functools.partial(
    from_hidden, "regression_head", head_name="mine"
)
CASES["regression_head, scope"] = lambda: headed(
    one_head(head_name="mine"), HEADS["regression_head"][1], MODES.TRAIN, scope="here"
)
CASES["regression_head, own logits, scope"] = lambda: headed(
    one_head(),
    *(HEADS["regression_head"][1], MODES.TRAIN),
    scope="here",
    logits_input=values.real(ROWS, 3, seed=5),
)
CASES["regression_head, flat labels"] = lambda: headed(
    one_head(), lambda: values.real(ROWS, seed=2), MODES.TRAIN
)
CASES["regression_head, flat weights"] = lambda: headed(
    one_head(weight_column_name="x"), HEADS["regression_head"][1], MODES.TRAIN
)
CASES["regression_head, no step"] = lambda: headed(
    one_head(), HEADS["regression_head"][1], MODES.TRAIN, train_op_fn=learn.no_op_train_fn
)


def loss_only(mode):
    terms = [tf.constant(2.0), tf.constant(0.5)]
    head = learn.head.loss_only_head(lambda: terms, "penalty")
    return described(
        head.create_model_fn_ops(features=features(), mode=mode, train_op_fn=train_nothing), mode
    )


def train_nothing(loss):
    return tf.assign_add(tf.train.get_or_create_global_step(), tf.to_int64(loss))


PAIRS = {
    "binary and regression": ["binary", "regression_head"],
    "classes and labels": ["multi_class_head", "multi_label_head"],
    "three": ["poisson_regression_head", "binary_svm_head", "multi_class_head"],
}


def several(kinds, mode, form="logits", penalty=False, **options):
    heads = [
        build(kind, head_name=f"head_{place}", label_name=f"y{place}")
        for place, kind in enumerate(kinds)
    ]
    sizes = [head.logits_dimension for head in heads]
    if penalty:
        heads.append(learn.head.loss_only_head(lambda: [tf.constant(2.0)], "penalty"))
    head = learn.multi_head(heads, **options)
    given = features()
    weight = tf.get_variable("weight", [2, sum(sizes)], initializer=tf.ones_initializer())
    logits = tf.matmul(given["x"], weight)
    chosen = {"logits": logits}
    if form == "by head":
        names = [f"head_{place}" for place in range(len(kinds))]
        chosen = {"logits": dict(zip(names, tf.split(logits, sizes, 1)))}
    if form == "own":
        chosen = {"logits_input": logits}
    labels = {f"y{place}": HEADS[kind][1]() for place, kind in enumerate(kinds)}
    return headed(head, lambda: labels, mode, **chosen)


for _name in sorted(PAIRS):
    for _mode in ALL:
        CASES[f"multi_head, {_name}, {_mode}"] = functools.partial(several, PAIRS[_name], _mode)
    CASES[f"multi_head, {_name}, weighted"] = functools.partial(
        several, PAIRS[_name], MODES.TRAIN, loss_weights=[0.5, 2.0, 1.5][: len(PAIRS[_name])]
    )
_TWO = PAIRS["binary and regression"]
CASES["multi_head, logits by head"] = lambda: several(_TWO, MODES.TRAIN, "by head")
CASES["multi_head, own logits"] = lambda: several(_TWO, MODES.TRAIN, "own")
for _mode in ALL:
    CASES[f"loss_only_head, {_mode}"] = functools.partial(loss_only, _mode)
    CASES[f"multi_head, with loss_only_head, {_mode}"] = functools.partial(
        several, _TWO, _mode, penalty=True
    )
CASES.update(
    {
        "multi_head, other weights": lambda: learn.multi_head([one_head(head_name="a")], [1.0, 2]),
        "multi_head, no names": lambda: learn.multi_head([one_head(), one_head()]),
        "multi_head, no head": lambda: learn.multi_head([one_head(head_name="a"), "b"]),
        "class of heads": lambda: {"is one": str(isinstance(build("binary"), learn.Head))},
        "one class": lambda: build("multi_class_head", n_classes=1),
        "no class": lambda: build("multi_class_head", n_classes=None),
        "one label": lambda: build("multi_label_head", n_classes=1),
        "words of two": lambda: build("binary", label_keys=["a", "b"]),
        "too few words": lambda: build("multi_class_head", label_keys=["a", "b"]),
        "metrics of two": lambda: build("binary", metric_class_ids=[0]),
        "metrics of a fourth class": lambda: build("multi_class_head", metric_class_ids=[3]),
        "metrics of a fourth label": lambda: build("multi_label_head", metric_class_ids=[3]),
        "another loss": lambda: build("multi_class_head", loss_fn=lambda labels: labels),
        "loss without weights": lambda: build(
            "multi_class_head", loss_fn=lambda labels, logits: labels
        ),
        "no logits": lambda: one_head().create_model_fn_ops(
            features=features(), mode=MODES.TRAIN, labels=values.real(ROWS, 1), train_op_fn=train
        ),
        "logits twice": lambda: headed(
            one_head(),
            *(HEADS["regression_head"][1], MODES.TRAIN),
            logits=values.real(ROWS, 1),
            logits_input=values.real(ROWS, 1),
        ),
        "another mode": lambda: headed(one_head(), HEADS["regression_head"][1], "other"),
        "no train_op_fn": lambda: headed(
            one_head(), HEADS["regression_head"][1], MODES.TRAIN, train_op_fn=None
        ),
        "no labels": lambda: headed(one_head(), lambda: None, MODES.TRAIN),
        "no labels to evaluate": lambda: headed(one_head(), lambda: None, MODES.EVAL),
        "labels in a dict": lambda: headed(
            one_head(), lambda: {"y": values.real(ROWS, 1)}, MODES.TRAIN
        ),
        "labels of another name": lambda: headed(
            one_head(label_name="z"), lambda: {"y": values.real(ROWS, 1)}, MODES.TRAIN
        ),
        "labels of another shape": lambda: headed(
            one_head(), lambda: values.real(ROWS, 2), MODES.TRAIN
        ),
        "labels of rank 3": lambda: headed(
            one_head(), lambda: values.real(ROWS, 1, 1), MODES.TRAIN
        ),
        "sparse labels": lambda: headed(one_head(), several_labels, MODES.TRAIN),
        "sparse class": lambda: headed(build("multi_class_head"), several_labels, MODES.TRAIN),
        "class out of range": lambda: headed(
            build("multi_class_head"), lambda: values.whole(ROWS, 1, below=9), MODES.TRAIN
        ),
        "class out of range to evaluate": lambda: headed(
            build("multi_class_head"), lambda: values.whole(ROWS, 1, below=9), MODES.EVAL
        ),
        "real classes": lambda: headed(
            build("multi_class_head"), lambda: values.real(ROWS, 1), MODES.TRAIN
        ),
        "unknown word": lambda: headed(
            build("multi_class_head", label_keys=["a", "b", "d"]), words, MODES.TRAIN
        ),
        "whole weights": lambda: headed(
            one_head(weight_column_name="n"), HEADS["regression_head"][1], MODES.TRAIN
        ),
    }
)
