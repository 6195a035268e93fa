"""Cases of the values, placeholders and targets of the columns of tf.contrib.layers."""

import functools

import tensorflow as tf
import values

from cases import columns

CASES = {}
layers = tf.contrib.layers
ROWS = columns.ROWS


def transformed(*names):
    """Returns the values of columns, in the order of the result."""
    chosen = [one for name, one in sorted(columns.made().items()) if not names or name in names]
    found = layers.transform_features(columns.features(), chosen)
    return {
        "order": str([column.name for column in found]),
        "values": list(found.values()),
        "static": str([str(one.shape) for one in found.values() if isinstance(one, tf.Tensor)]),
    }


for _name in (
    *("real", "two numbers", "buckets", "hash", "keys", "integers", "weighted", "cross"),
    *("cross of buckets", "cross of three", "one-hot", "embedded cross", "embedding, mean"),
):
    CASES[f"transform_features, {_name}"] = functools.partial(transformed, _name)
CASES["transform_features, all"] = transformed


def numbers(dtype, **options):
    """Returns the values of a real-valued feature of a dtype."""
    column = layers.real_valued_column("k", 2, dtype=dtype, **options)
    features = {"k": tf.cast([[1, 2], [3, 4]], dtype)}
    return list(layers.transform_features(features, [column]).values())


CASES["transform_features, missing"] = lambda: layers.transform_features(
    {"x": tf.ones([2, 1])}, [layers.real_valued_column("y")]
)
CASES["transform_features, twice"] = lambda: layers.transform_features(
    {"x": tf.ones([2, 1])}, [layers.real_valued_column("x")] * 2
)
CASES["transform_features, dense words"] = lambda: list(
    layers.transform_features(
        {"s": tf.constant([["a", ""], ["b", "c"]])},
        [layers.sparse_column_with_hash_bucket("s", 5)],
    ).values()
)


def checked(found):
    layers.check_feature_columns(found)
    return {"checked": "yes"}


def word(size=5):
    return layers.sparse_column_with_hash_bucket("s", size)


CASES["check_feature_columns"] = lambda: checked(list(columns.made().values()))
CASES["check_feature_columns, other sizes"] = lambda: checked([word(), word(6)])
CASES["check_feature_columns, twice"] = lambda: checked([word(), word()])
CASES["check_feature_columns, dict"] = lambda: checked({"s": word()})


def inferred(make):
    found = layers.infer_real_valued_columns(make())
    config = layers.create_feature_spec_for_parsing(found)
    return {name: f"{one.dtype} {list(one.shape)}" for name, one in config.items()}


for _name, _make in {
    "tensor": lambda: tf.ones([4, 3]),
    "vector": lambda: tf.ones([4]),
    "rank 3": lambda: tf.ones([4, 3, 2]),
    "dict": lambda: {"b": tf.ones([4, 3]), "a": tf.ones([4, 1], tf.float64)},
    "integers": lambda: {"b": tf.ones([4, 2], tf.int32)},
    "sparse": lambda: {"b": tf.SparseTensor([[0, 0]], [1.0], [1, 1])},
    "words": lambda: {"b": tf.constant([["a"]])},
    "bool": lambda: {"b": tf.constant([[True]])},
    "unknown": lambda: {"b": tf.placeholder(tf.float32)},
}.items():
    CASES[f"infer_real_valued_columns, {_name}"] = functools.partial(inferred, _make)


def placeholders():
    found = layers.make_place_holder_tensors_for_base_features(columns.made().values())
    return {
        name: f"{one.dtype} {'sparse' if isinstance(one, tf.SparseTensor) else one.shape}"
        for name, one in found.items()
    }


CASES["make_place_holder_tensors_for_base_features"] = placeholders


def sequence():
    """Returns a tf.SequenceExample of three steps."""
    made = tf.train.SequenceExample()
    made.context.feature["s"].bytes_list.value[:] = [b"x", b"y"]
    made.context.feature["x"].float_list.value[:] = [2.0]
    steps = made.feature_lists.feature_list
    for step in range(3):
        steps["s"].feature.add().bytes_list.value[:] = [b"p"] * (step + 1)
        steps["x"].feature.add().float_list.value[:] = [step + 0.5]
        steps["y"].feature.add().float_list.value[:] = [step + 0.5, 1.0]
    return made.SerializeToString()


def parsed(context, steps, serialized=None):
    every = {
        "s": word(),
        "x": layers.real_valued_column("x"),
        "y": layers.real_valued_column("y", 2, default_value=3.0),
        "e": layers.embedding_column(word(), 2),
        "absent": layers.real_valued_column("absent"),
    }
    lists = [None if names is None else [every[one] for one in names] for names in (context, steps)]
    found = layers.parse_feature_columns_from_sequence_examples(
        tf.constant(sequence() if serialized is None else serialized), *lists
    )
    return list(found)


CASES["parse_feature_columns_from_sequence_examples"] = lambda: parsed("sx", "sxy")
for _name, _arguments in {
    "no context": (None, "ey"),
    "no steps": ("xy", None),
    "none": (None, None),
    "no such step": (None, ["absent"]),
    "no such feature": (["absent"], None),
    "several": ("s", "s", [sequence()] * 2),
}.items():
    CASES[f"parse_feature_columns_from_sequence_examples, {_name}"] = functools.partial(
        parsed, *_arguments
    )


def scattered(values_of_s=("a", "b", "c"), others=(), **options):
    options.setdefault("hash_key", layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY)
    column = layers.scattered_embedding_column("q", 20, 3, **options)
    features = columns.features()
    features["q"] = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant(values_of_s), [ROWS, 2])
    every = columns.made()
    chosen = [column, *(every[name] for name in others)]
    return {
        "joined": layers.input_from_feature_columns(features, chosen),
        "name": column.name,
        "fields": str([column.column_name, column.size, column.dimension, column.combiner]),
    }


for _name, _options in {
    "": {},
    ", sum": {"combiner": "sum"},
    ", sqrtn": {"combiner": "sqrtn", "initializer": tf.ones_initializer()},
    ", another key": {"hash_key": 5},
    ", integers": {"values_of_s": (1, 2, 3)},
    ", with others": {"others": ("real", "embedding, mean", "one-hot", "buckets")},
    ", wrong combiner": {"combiner": "max"},
}.items():
    CASES["scattered_embedding_column" + _name] = functools.partial(scattered, **_options)
CASES["scattered_embedding_column, no size"] = lambda: layers.scattered_embedding_column(
    "q", 0, 3, hash_key=5
)
CASES["scattered_embedding_column, parsing"] = lambda: {
    key: f"{type(one).__name__} {one.dtype}"
    for key, one in layers.create_feature_spec_for_parsing(
        [layers.scattered_embedding_column("q", 20, 3, hash_key=5)]
    ).items()
}


def targeted(make, logits, labels, **options):
    """Returns what a target column computes."""
    column = make(**options)
    logits = values.real(4, *logits)
    features = {"w": values.real(4, 1, seed=3, low=0.5)}
    found = column.get_eval_ops(features, logits, labels)
    return {
        "predictions": column.logits_to_predictions(logits),
        "probabilities": column.logits_to_predictions(logits, proba=True),
        "loss": column.loss(logits, labels, features),
        "training loss": column.training_loss(logits, labels, features, name="mine"),
        "weights": column.get_weight_tensor(features),
        "updates": {name: pair[1] for name, pair in found.items()},
        "described": str(
            [
                *(column.num_label_columns, column.problem_type, column.label_name),
                column.weight_column_name,
            ]
        ),
    }


def classes(*shape, **options):
    return values.whole(*(shape or (4, 1)), seed=4, **options)


regression, multi_class = layers.regression_target, layers.multi_class_target
for _weight in (None, "w"):
    for _name, _make in {
        "regression_target": lambda **more: targeted(
            regression, [1], values.real(4, 1, seed=2), **more
        ),
        "regression_target, vector": lambda **more: targeted(
            regression, [1], values.real(4, seed=2), **more
        ),
        "regression_target, two numbers": lambda **more: targeted(
            regression, [2], values.real(4, 2, seed=2), label_dimension=2, **more
        ),
        "multi_class_target, two": lambda **more: targeted(
            multi_class, [1], classes(), n_classes=2, **more
        ),
        "multi_class_target, two, vector": lambda **more: targeted(
            multi_class, [1], classes(4), n_classes=2, **more
        ),
        "multi_class_target, three": lambda **more: targeted(
            multi_class, [3], classes(below=3), n_classes=3, **more
        ),
        "multi_class_target, three, vector": lambda **more: targeted(
            multi_class, [3], classes(4, below=3), n_classes=3, **more
        ),
    }.items():
        CASES[_name + (", weights" if _weight else "")] = functools.partial(
            _make, weight_column_name=_weight
        )
CASES["multi_class_target, one"] = lambda: multi_class(1)


def measured(metrics):
    column = multi_class(3)
    return column.get_eval_ops({}, values.real(4, 3), classes(4, below=3), metrics)


def mean(predictions, labels):
    return tf.reduce_mean(predictions)


CASES["multi_class_target, metrics"] = lambda: {
    "names": str(
        sorted(measured({("a", "classes"): mean, ("b", "probabilities"): mean, "c": mean}))
    )
}
CASES["multi_class_target, unknown kind"] = lambda: measured({("a", "logits"): mean})
