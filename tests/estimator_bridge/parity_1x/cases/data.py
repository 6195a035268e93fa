"""Cases of tf.contrib.data: what the elements of a dataset are, and their order."""

import functools
import os
import sqlite3
import tempfile

import tensorflow as tf
import values

CASES = {}
data, np = tf.contrib.data, values.np
# Until 1.3 these were in tf.contrib.data.
Dataset, Iterator, TextLineDataset, TFRecordDataset, FixedLengthRecordDataset = (
    getattr(data, name, getattr(tf.data, name))
    for name in (
        *("Dataset", "Iterator", "TextLineDataset", "TFRecordDataset"),
        "FixedLengthRecordDataset",
    )
)


def elements(dataset, limit=12):
    """Returns place -> element of a dataset, at most so many, and its types and shapes."""
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    found = {
        "types": texts(tf.compat.v1.data.get_output_types(dataset)),
        "shapes": texts(tf.compat.v1.data.get_output_shapes(dataset)),
    }
    with tf.Session() as session:
        session.run([iterator.initializer, tf.tables_initializer()])
        for place in range(limit):
            try:
                one = session.run(following)
            except tf.errors.OutOfRangeError:
                break
            found[f"{place:02}"] = plain(one)
    return found


def texts(structure):
    """Returns a structure with a text for each type or shape."""
    if isinstance(structure, dict):
        return {name: texts(part) for name, part in structure.items()}
    return [texts(part) for part in structure] if isinstance(structure, tuple) else str(structure)


def plain(one):
    """Returns an element whose sparse parts are lists of arrays."""
    if isinstance(one, tf.SparseTensorValue):
        return list(one)
    if isinstance(one, dict):
        return {name: plain(part) for name, part in one.items()}
    return [plain(part) for part in one] if isinstance(one, tuple) else one


def case(name, make, **options):
    """Adds a case that reads the dataset which a function makes."""
    CASES[name] = lambda: elements(make(), **options)


def path(name):
    return os.path.join(tempfile.mkdtemp(), name)


def text(content):
    """Returns the path of a file with a text."""
    file = path("file.txt")
    with open(file, "w") as opened:
        opened.write(content)
    return file


def examples(number=5):
    """Returns the path of a file of tf.Examples with a number and some words."""
    file = path("rows.tfrecord")
    with tf.python_io.TFRecordWriter(file) as writer:
        for place in range(number):
            example = tf.train.Example()
            example.features.feature["x"].float_list.value.append(place / 2)
            words = [b"abc"[:1] * (place + 1)] * (place % 3)
            example.features.feature["s"].bytes_list.value.extend(words)
            writer.write(example.SerializeToString(deterministic=True))
    return file


SPEC = {"x": tf.FixedLenFeature([], tf.float32), "s": tf.VarLenFeature(tf.string)}
FULL = "a,b,c\n1,2.5,x\n3,0.5,z\n"
CSV = "a,b,c\n1,2.5,x\n2,,y\n3,0.5,\n4,1.5,z\n"


def numbers(count=6):
    return Dataset.range(count)


def lengths():
    """Returns vectors of 1 to 6 numbers."""
    return Dataset.range(1, 7).map(lambda n: tf.fill([n], n))


# Sources.
case("Counter", lambda: data.Counter(), limit=3)
case("Counter, step", lambda: data.Counter(start=5, step=-2, dtype=tf.int32), limit=3)
case("Dataset", lambda: Dataset.from_tensor_slices({"x": [1, 2], "y": [[1.0], [2.0]]}))
case("RandomDataset, seeded", lambda: data.RandomDataset(seed=4), limit=4)
case("TextLineDataset", lambda: TextLineDataset(text("one\ntwo\n\nlast")))
case("TextLineDataset, no file", lambda: TextLineDataset("/nowhere/at/all"))
case("TFRecordDataset", lambda: TFRecordDataset([examples(2), examples(1)]))
case("TFRecordDataset, parallel", lambda: TFRecordDataset(examples(2), None, 100, 2))
case("FixedLengthRecordDataset", lambda: FixedLengthRecordDataset(text("abcdefgh"), 3, 1, 1))
case("FixedLengthRecordDataset, odd", lambda: FixedLengthRecordDataset(text("abcde"), 3))
for _name, _types, _options in [
    ("", [tf.int32, tf.float32, tf.string], {"header": True}),
    (", missing", [tf.int32, [9.5], [""]], {"header": True}),
    (", defaults", [[0], [9.5], ["none"]], {"header": True}),
    (", columns", [tf.int32, tf.string], {"header": True, "select_cols": [0, 2]}),
    (", header as a row", [tf.int32, tf.float32, tf.string], {}),
    (", na_value", [tf.int32, [7.0], [""]], {"header": True, "na_value": "2.5"}),
    (", too few columns", [tf.int32, tf.string], {"header": True}),
]:
    case(
        "CsvDataset" + _name,
        lambda types=_types, options=_options: data.CsvDataset(
            text(CSV if isinstance(types[1], list) else FULL), types, **options
        ),
    )
case(
    "CsvDataset, delimiter",
    lambda: data.CsvDataset(
        text('a"b;1\nc;2\n'), [tf.string, tf.int64], field_delim=";", use_quote_delim=False
    ),
)


def query(statement, types, **options):
    file = path("table.sqlite")
    table = sqlite3.connect(file)
    table.execute("create table rows (a integer, b real, c text)")
    table.executemany("insert into rows values (?, ?, ?)", [(1, 2.5, "x"), (2, 0.5, "y")])
    table.commit()
    table.close()
    return data.SqlDataset("sqlite", file, statement, types)


case("SqlDataset", lambda: query("select * from rows", (tf.int32, tf.float64, tf.string)))
case("SqlDataset, condition", lambda: query("select c from rows where a > 1", (tf.string,)))
case("SqlDataset, wrong", lambda: query("select d from rows", (tf.string,)))


@functools.partial(CASES.__setitem__, "TFRecordWriter")
def written():
    file = path("written.tfrecord")
    operation = data.TFRecordWriter(file).write(Dataset.from_tensor_slices(["one", "two"]))
    with tf.Session() as session:
        session.run(operation)
    return {"found": list(tf.python_io.tf_record_iterator(file))}


CASES["TFRecordWriter, numbers"] = lambda: {
    "type": type(data.TFRecordWriter(path("x")).write(numbers())).__name__
}

# Transformations.
APPLIED = {
    "assert_element_shape": (lambda: numbers().batch(3), lambda: data.assert_element_shape([3])),
    "assert_element_shape, wrong": (numbers, lambda: data.assert_element_shape([3])),
    "assert_element_shape, unknown": (
        lambda: lengths().map(lambda one: {"x": one}),
        lambda: data.assert_element_shape({"x": tf.TensorShape([None])}),
    ),
    "assert_element_shape, at run time": (lengths, lambda: data.assert_element_shape([1])),
    "batch_and_drop_remainder": (numbers, lambda: data.batch_and_drop_remainder(4)),
    "padded_batch_and_drop_remainder": (
        lengths,
        lambda: data.padded_batch_and_drop_remainder(4, [None]),
    ),
    "padded_batch_and_drop_remainder, values": (
        lengths,
        lambda: data.padded_batch_and_drop_remainder(2, [7], tf.constant(-1, tf.int64)),
    ),
    "padded_batch_and_drop_remainder, too long": (
        lengths,
        lambda: data.padded_batch_and_drop_remainder(3, [4]),
    ),
    "bucket_by_sequence_length": (
        lengths,
        lambda: data.bucket_by_sequence_length(lambda one: tf.size(one), [3, 5], [2, 2, 2]),
    ),
    "bucket_by_sequence_length, boundaries": (
        lengths,
        lambda: data.bucket_by_sequence_length(
            *(tf.size, [3, 8], [2, 2, 2]),
            padding_values=tf.constant(-1, tf.int64),
            pad_to_bucket_boundary=True,
        ),
    ),
    "bucket_by_sequence_length, not padded": (
        lambda: Dataset.range(6).map(lambda n: n + tf.range(2, dtype=tf.int64)),
        lambda: data.bucket_by_sequence_length(
            lambda one: tf.cast(one[0], tf.int32), [3], [2, 3], no_padding=True
        ),
    ),
    "bucket_by_sequence_length, sizes": (
        lengths,
        lambda: data.bucket_by_sequence_length(tf.size, [3, 5], [2, 2]),
    ),
    "copy_to_device": (numbers, lambda: data.copy_to_device("/cpu:0")),
    "prefetch_to_device": (numbers, lambda: data.prefetch_to_device("/cpu:0", 2)),
    "dense_to_sparse_batch": (lengths, lambda: data.dense_to_sparse_batch(4, [7])),
    "dense_to_sparse_batch, too long": (lengths, lambda: data.dense_to_sparse_batch(4, [3])),
    "enumerate_dataset": (lengths, lambda: data.enumerate_dataset(start=5)),
    "group_by_window": (
        numbers,
        lambda: data.group_by_window(lambda n: n % 2, lambda key, part: part.batch(4), 2),
    ),
    "group_by_window, size by key": (
        numbers,
        lambda: data.group_by_window(
            lambda n: n % 2, lambda key, part: part.batch(4), window_size_func=lambda key: key + 1
        ),
    ),
    "group_by_window, no size": (
        numbers,
        lambda: data.group_by_window(lambda n: n % 2, lambda key, part: part.batch(4)),
    ),
    "group_by_reducer": (
        numbers,
        lambda: data.group_by_reducer(
            lambda n: n % 2,
            data.Reducer(
                lambda key: (key, tf.constant(0, tf.int64)),
                lambda state, n: (state[0], state[1] + n),
                lambda key, total: {"key": key, "total": total},
            ),
        ),
    ),
    "ignore_errors": (
        lambda: Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(
            lambda x: tf.check_numerics(1.0 / x, "infinite")
        ),
        data.ignore_errors,
    ),
    "map_and_batch": (numbers, lambda: data.map_and_batch(lambda n: n * n, 4)),
    "map_and_batch, options": (
        numbers,
        lambda: data.map_and_batch(
            lambda n: (n, n * 2), 4, num_parallel_calls=2, drop_remainder=True
        ),
    ),
    "parallel_interleave": (
        lambda: numbers(3),
        lambda: data.parallel_interleave(lambda n: Dataset.range(n, n + 3), 2),
    ),
    "parallel_interleave, blocks": (
        lambda: numbers(3),
        lambda: data.parallel_interleave(
            lambda n: Dataset.range(n, n + 3), cycle_length=2, block_length=2, sloppy=False
        ),
    ),
    "parse_example_dataset": (
        lambda: TFRecordDataset(examples()).batch(3),
        lambda: data.parse_example_dataset(SPEC, num_parallel_calls=1),
    ),
    "scan": (numbers, lambda: data.scan(np.int64(0), lambda state, n: (state + n, state * 10))),
    "scan, structure": (
        numbers,
        lambda: data.scan(
            (np.int64(0), tf.constant("a")), lambda state, n: ((n, state[1] + "b"), state)
        ),
    ),
    "scan, other type": (numbers, lambda: data.scan(0.0, lambda state, n: (n, state))),
    "shuffle_and_repeat, count": (numbers, lambda: data.shuffle_and_repeat(1, 2)),
    "unbatch": (lambda: numbers().batch(4), data.unbatch),
    "unique": (lambda: Dataset.from_tensor_slices([1, 2, 1, 3, 2]), data.unique),
    "unique, text": (lambda: Dataset.from_tensor_slices(["a", "b", "a"]), data.unique),
    "unique, float": (lambda: Dataset.from_tensor_slices([1.0, 2.0]), data.unique),
}
for _name, (_source, _transformation) in APPLIED.items():
    case(
        _name,
        lambda source=_source, transformation=_transformation: source().apply(transformation()),
    )


# Which of the rows are left is chosen by the seed of the graph.
case(
    "rejection_resample",
    lambda: numbers(40).apply(
        data.rejection_resample(lambda n: tf.cast(n % 2, tf.int32), [0.0, 1.0], [0.0, 1.0])
    ),
    limit=3,
)


def several():
    return [Dataset.from_tensors(place).repeat(3) for place in range(3)]


case(
    "choose_from_datasets",
    lambda: data.choose_from_datasets(
        several(), Dataset.from_tensor_slices(np.int64([0, 2, 2, 1, 0, 2, 2]))
    ),
)
case("choose_from_datasets, types", lambda: data.choose_from_datasets(several(), lengths()))
case(
    "sample_from_datasets, one",
    lambda: data.sample_from_datasets(several(), [0.0, 1.0, 0.0]),
    limit=3,
)
case(
    "sample_from_datasets, weights",
    lambda: data.sample_from_datasets(several(), [0.5, 0.5]),
    limit=3,
)
case(
    "make_batched_features_dataset",
    lambda: data.make_batched_features_dataset(
        examples(), 2, SPEC, num_epochs=2, shuffle=False, drop_final_batch=True
    ),
)
case(
    "make_batched_features_dataset, label",
    lambda: data.make_batched_features_dataset(
        examples(), 2, SPEC, label_key="x", num_epochs=1, shuffle=False
    ),
)
case(
    "make_batched_features_dataset, no label",
    lambda: data.make_batched_features_dataset(examples(), 2, SPEC, label_key="q", shuffle=False),
)
for _name, _options in {
    "": {},
    ", label": {"label_name": "a"},
    ", no label": {"label_name": "q"},
    ", columns": {"select_columns": ["c", "a"]},
    ", names": {"column_names": ["d", "e", "f"], "header": True},
    ", no header": {"column_names": ["d", "e", "f"], "header": False},
    ", defaults": {"column_defaults": [tf.int64, [8.5], ["none"]]},
    ", last batch": {"batch_size": 3},
}.items():
    case(
        "make_csv_dataset" + _name,
        lambda options=_options: data.make_csv_dataset(
            text(CSV), **dict({"batch_size": 2, "shuffle": False, "num_epochs": 1}, **options)
        ),
    )


def batches_of(features):
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(3):
            found.append(plain(session.run(features)))
    return found


CASES["read_batch_features"] = lambda: batches_of(
    data.read_batch_features(examples(), 2, SPEC, randomize_input=False)
)


def reduced(**options):
    reducer = data.Reducer(
        lambda key: np.int64(3), lambda state, n: state + n, lambda state: {"total": state * 2}
    )
    return data.reduce_dataset(numbers(**options), reducer)


CASES["reduce_dataset"] = reduced
CASES["reduce_dataset, nothing"] = lambda: reduced(count=0)
CASES["get_single_element"] = lambda: data.get_single_element(numbers(1))
CASES["get_single_element, two"] = lambda: data.get_single_element(numbers(2))
CASES["get_single_element, none"] = lambda: data.get_single_element(numbers(0))


@functools.partial(CASES.__setitem__, "get_next_as_optional")
def optional():
    iterator = tf.compat.v1.data.make_initializable_iterator(numbers(2))
    following = data.get_next_as_optional(iterator)
    with tf.Session() as session:
        session.run(iterator.initializer)
        has = [session.run(following.has_value()) for _ in range(3)]
    return {"has": has}


CASES["Optional"] = lambda: {
    "value": data.Optional.from_value({"x": values.real(2)}).get_value(),
    "has": data.Optional.from_value(tf.constant(1)).has_value(),
}


@functools.partial(CASES.__setitem__, "Iterator")
def iterators():
    iterator = Iterator.from_structure(tf.int64, [])
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        for count in (1, 2):
            session.run(iterator.make_initializer(numbers(count).map(lambda n: n + 5)))
            found.append([session.run(following) for _ in range(count)])
    return {"found": [one for part in found for one in part]}


@functools.partial(CASES.__setitem__, "make_saveable_from_iterator")
def saved():
    iterator = tf.compat.v1.data.make_initializable_iterator(numbers())
    following = iterator.get_next()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, data.make_saveable_from_iterator(iterator))
    saver, folder = tf.train.Saver(), tempfile.mkdtemp()
    with tf.Session() as session:
        session.run(iterator.initializer)
        found = [session.run(following) for _ in range(2)]
        prefix = saver.save(session, os.path.join(folder, "model"), write_meta_graph=False)
        found += [session.run(following) for _ in range(2)]
        saver.restore(session, prefix)
        found += [session.run(following) for _ in range(2)]
    tf.get_default_graph().clear_collection(tf.GraphKeys.SAVEABLE_OBJECTS)
    return {"found": found}


CASES["AUTOTUNE"] = lambda: {"value": data.AUTOTUNE}
