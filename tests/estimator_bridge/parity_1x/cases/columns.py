"""Cases of the feature columns: tf.contrib.layers, tf.contrib.feature_column, tf.feature_column."""

import functools

import tensorflow as tf
import values

CASES = {}
layers = tf.contrib.layers
fc = tf.feature_column
ROWS = 4


def ones():
    return tf.ones_initializer()


def sparse(pairs, words, width):
    return tf.SparseTensor(pairs, words, [ROWS, width])


def features():
    return {
        "x": values.real(ROWS, 1, seed=1),
        "y": values.real(ROWS, 2, seed=2),
        "s": sparse([[0, 0], [1, 0], [3, 0]], ["a", "b", "zebra"], 1),
        "t": sparse([[0, 0], [0, 1], [1, 0], [3, 0]], ["x", "y", "x", "q"], 2),
        # 7 and -1 are no ids of 6: they are taken modulo 6.
        "n": sparse([[0, 0], [1, 0], [1, 1], [3, 0]], tf.constant([1, 3, 7, -1], tf.int64), 2),
        "w": sparse([[0, 0], [0, 1], [1, 0], [3, 0]], values.real(4, seed=3, low=0.5), 2),
    }


def made():
    """Returns a column of every kind by name; weighted ones belong to `t`."""
    s = layers.sparse_column_with_hash_bucket("s", 5)
    t = layers.sparse_column_with_keys("t", ["x", "y"])
    n = layers.sparse_column_with_integerized_feature("n", 6, combiner="sqrtn")
    x, y = layers.real_valued_column("x"), layers.real_valued_column("y", 2)
    weighted = layers.weighted_sparse_column(t, "w")
    buckets = layers.bucketized_column(y, [-0.5, 0.0, 0.5])
    found = {
        "real": x,
        "two numbers": layers.real_valued_column("y", 2, normalizer=lambda one: one * 2.0),
        "buckets": buckets,
        "hash": s,
        "keys": t,
        "integers": n,
        "weighted": weighted,
        "cross": layers.crossed_column([s, t], 7),
        "cross of buckets": layers.crossed_column([buckets, s], 9),
        "cross of three": layers.crossed_column([s, t, n], 11, hash_key=3),
        "one-hot": layers.one_hot_column(t),
        "one-hot weighted": layers.one_hot_column(weighted),
        "embedded cross": layers.embedding_column(
            layers.crossed_column([s, t], 7), 2, initializer=ones()
        ),
        "embedded weights": layers.embedding_column(weighted, 2, initializer=ones()),
    }
    for combiner in ("sum", "mean", "sqrtn"):
        found[f"embedding, {combiner}"] = layers.embedding_column(
            n, 2, combiner=combiner, initializer=ones()
        )
    found["embedding, max_norm"] = layers.embedding_column(s, 2, max_norm=0.5, initializer=ones())
    return found


DEEP = (
    "real, two numbers, buckets, one-hot, one-hot weighted, embedded cross, embedded weights, "
    "embedding; sum, embedding; mean, embedding; sqrtn, embedding; max_norm"
)
DEEP = [one.replace(";", ",") for one in DEEP.split(", ")]
WIDE = [
    *("real", "two numbers", "buckets", "hash", "keys", "integers", "weighted"),
    *("cross", "cross of buckets", "cross of three"),
]


def chosen(names):
    every = made()
    return [every[name] for name in names]


def joined(names, **options):
    return layers.input_from_feature_columns(features(), chosen(names), **options)


def summed(names, outputs=1, joint=False, **options):
    function = (
        layers.joint_weighted_sum_from_feature_columns
        if joint
        else layers.weighted_sum_from_feature_columns
    )
    logits, variables, bias = function(features(), chosen(names), outputs, **options)
    return {
        "logits": logits,
        "bias": tf.convert_to_tensor(bias),
        "names": str(
            [one.name for one in variables]
            if joint
            else sorted(
                (column.name, [one.name for one in found]) for column, found in variables.items()
            )
        ),
    }


for _name in DEEP:
    CASES[f"input_from_feature_columns, {_name}"] = functools.partial(joined, [_name])
for _name in WIDE:
    CASES[f"weighted_sum, {_name}"] = functools.partial(summed, [_name], 2)
CASES["input_from_feature_columns, all"] = lambda: joined(DEEP)
CASES["input_from_feature_columns, scope"] = lambda: joined(
    ["real", "embedding, mean"], scope="mine", weight_collections=["w"], trainable=False
)
CASES["input_from_feature_columns, sparse"] = lambda: joined(["hash"])
CASES["input_from_feature_columns, none"] = lambda: joined([])
CASES["weighted_sum, all"] = lambda: summed(WIDE, 3)
CASES["weighted_sum, scope"] = lambda: summed(
    ["real", "hash"], scope="mine", weight_collections=["w"], trainable=False
)
CASES["weighted_sum, embedding"] = lambda: summed(["embedding, sum"])
CASES["joint_weighted_sum"] = lambda: summed(["hash", "keys", "cross"], 2, joint=True)
CASES["joint_weighted_sum, another combiner"] = lambda: summed(["integers"], joint=True)
CASES["joint_weighted_sum, real"] = lambda: summed(["real"], joint=True)


def shared(**options):
    columns = [
        layers.sparse_column_with_hash_bucket("s", 5),
        layers.sparse_column_with_hash_bucket("t", 5),
    ]
    found = layers.shared_embedding_columns(columns, 2, initializer=ones(), **options)
    return layers.input_from_feature_columns(features(), found)


CASES["shared_embedding_columns"] = shared
CASES["shared_embedding_columns, name"] = lambda: shared(shared_embedding_name="mine")
CASES["shared_embedding_columns, sum"] = lambda: shared(combiner="sum", max_norm=0.5)
CASES["create_feature_spec_for_parsing"] = lambda: {
    key: f"{type(one).__name__} {one.dtype} {list(getattr(one, 'shape', []))}"
    for key, one in layers.create_feature_spec_for_parsing(made().values()).items()
}


def parsed():
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(0.5)
    example.features.feature["s"].bytes_list.value.append(b"a")
    columns = [
        layers.real_valued_column("x"),
        layers.real_valued_column("z", default_value=2.0),
        layers.sparse_column_with_hash_bucket("s", 5),
    ]
    found = layers.parse_feature_columns_from_examples([example.SerializeToString()] * 2, columns)
    return {getattr(key, "name", f"feature {key}"): one for key, one in found.items()}


CASES["parse_feature_columns_from_examples"] = parsed


def named(names, cross=False):
    """The order is that of the columns' names, not of the names of what is made of them."""
    found = {name: values.real(ROWS, 1, seed=5 + place) for place, name in enumerate(names)}
    numbers = [layers.real_valued_column(name) for name in names]
    buckets = [layers.bucketized_column(one, [-0.2, 0.4]) for one in numbers]
    buckets.append(layers.bucketized_column(numbers[0], [-0.1]))
    if not cross:
        return layers.input_from_feature_columns(found, [*buckets, *numbers])
    words = {
        name: tf.SparseTensor([[row, 0] for row in range(ROWS)], list(name + "xyz"), [ROWS, 1])
        for name in "abcd"
    }
    kinds = [
        layers.sparse_column_with_keys("a", list("axyz")),
        layers.sparse_column_with_hash_bucket("b", 9),
        layers.sparse_column_with_hash_bucket("c", 9),
        layers.sparse_column_with_keys("d", list("dxyz")),
    ]
    crosses = [
        layers.crossed_column([one, two], 10 - place)
        for place, one in enumerate(kinds)
        for two in [*kinds[place + 1 :], buckets[0]]
    ]
    tables = [layers.embedding_column(one, 2, initializer=ones()) for one in crosses]
    return layers.input_from_feature_columns(dict(words, **found), tables)


CASES["input_from_feature_columns, longer names"] = lambda: named(["y", "y2", "y b", "Y", "y_"])
CASES["input_from_feature_columns, crosses"] = lambda: named(["y", "y2"], cross=True)


def reused():
    """The second call with the same scope takes the variables of the first."""
    with tf.variable_scope("deep"):
        first = layers.input_from_feature_columns(features(), chosen(["embedding, sum"]))
    with tf.variable_scope("deep", reuse=True):
        second = layers.input_from_feature_columns(features(), chosen(["embedding, sum"]))
    return [first, second]


CASES["input_from_feature_columns, reused"] = reused
CASES["input_from_feature_columns, partitioned"] = lambda: partitioned(joined, ["embedding, sum"])
CASES["weighted_sum, partitioned"] = lambda: partitioned(summed, ["hash", "keys"])


def partitioned(function, names):
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
        return function(names)


# tf.feature_column, and the sequences of tf.contrib.feature_column.


def dense():
    found = features()
    found["n"] = values.whole(ROWS, 2, below=6, seed=4)
    return found


def columns():
    s = fc.categorical_column_with_hash_bucket("s", 5)
    t = fc.categorical_column_with_vocabulary_list("t", ["x", "y"], num_oov_buckets=1)
    n = fc.categorical_column_with_identity("n", 6)
    x, y = fc.numeric_column("x"), fc.numeric_column("y", 2)
    buckets = fc.bucketized_column(x, [-0.5, 0.0, 0.5])
    wide = [x, y, s, t, n, buckets, fc.crossed_column([buckets, "s"], 7)]
    wide.append(fc.weighted_categorical_column(t, "w"))
    deep = [
        *(x, y, buckets, fc.indicator_column(t), fc.embedding_column(n, 2, initializer=ones())),
        fc.embedding_column(s, 2, combiner="sqrtn", initializer=ones(), max_norm=0.5),
        *fc.shared_embedding_columns([s, fc.categorical_column_with_hash_bucket("t", 5)], 2),
    ]
    return wide, deep


CASES["linear_model"] = lambda: fc.linear_model(dense(), columns()[0], 2)
CASES["linear_model, mean"] = lambda: fc.linear_model(
    *(dense(), columns()[0]), sparse_combiner="mean", trainable=False, weight_collections=["w"]
)
CASES["linear_model, twice"] = lambda: [
    fc.linear_model(dense(), columns()[0][:2]) for _ in range(2)
]
CASES["input_layer"] = lambda: fc.input_layer(dense(), columns()[1])
CASES["input_layer, twice"] = lambda: [fc.input_layer(dense(), columns()[1][:5]) for _ in range(2)]
CASES["input_layer, variables"] = lambda: listed_variables()
CASES["keras DenseFeatures"] = lambda: tf.keras.layers.DenseFeatures(columns()[1][:6])(dense())


def listed_variables():
    variables = {}
    found = fc.input_layer(dense(), columns()[1][:6], cols_to_vars=variables)
    names = {column.name: [one.name for one in made] for column, made in variables.items()}
    return {"found": found, "names": str(sorted(names.items()))}


def sequences():
    from_words = tf.contrib.feature_column.sequence_categorical_column_with_vocabulary_list(
        "t", ["x", "y"], num_oov_buckets=1
    )
    from_ids = tf.contrib.feature_column.sequence_categorical_column_with_identity("n", 9, 0)
    hashed = tf.contrib.feature_column.sequence_categorical_column_with_hash_bucket("t", 5)
    return [
        fc.indicator_column(from_words),
        fc.embedding_column(from_ids, 2, initializer=ones()),
        fc.embedding_column(hashed, 3, initializer=ones()),
        tf.contrib.feature_column.sequence_numeric_column("w", default_value=0.5),
    ]


def sequence_input(*places, **options):
    chosen_columns = [sequences()[place] for place in places]
    found, lengths = tf.contrib.feature_column.sequence_input_layer(
        features(), chosen_columns, **options
    )
    return {"found": found, "lengths": lengths}


for _places in [(0,), (1,), (2,), (3,), (0, 1, 2, 3)]:
    CASES[f"sequence_input_layer, {_places}"] = functools.partial(sequence_input, *_places)
CASES["sequence_input_layer, not trained"] = lambda: sequence_input(
    1, 2, weight_collections=["w"], trainable=False
)
CASES["sequence_input_layer, no sequence"] = lambda: tf.contrib.feature_column.sequence_input_layer(
    features(), [fc.numeric_column("x")]
)
