"""Cases of tf.contrib.lookup."""

import functools
import os
import tempfile

import tensorflow as tf

CASES = {}
lookup = tf.contrib.lookup
WORDS = ["a", "b", "c d", "e"]
ASKED = [["a", "zebra"], ["e", ""], ["c d", "b"]]


def words_file():
    path = os.path.join(tempfile.mkdtemp(), "words")
    with open(path, "w") as file:
        file.write("\n".join(WORDS) + "\n")
    return path


def columns_file():
    path = os.path.join(tempfile.mkdtemp(), "columns")
    with open(path, "w") as file:
        file.write("".join(f"{word} {3 * n}\n" for n, word in enumerate("xyz")))
    return path


def asked(dtype=tf.string):
    return tf.constant(ASKED if dtype is tf.string else [[0, 7], [2, -1], [3, 1]], dtype)


def sparse():
    return tf.SparseTensor([[0, 0], [1, 1]], ["e", "zebra"], [2, 2])


def looked_up(make, dtype=tf.string):
    table = make()
    found = {"dense": table.lookup(asked(dtype)), "size": table.size()}
    if dtype is tf.string:
        found["sparse"] = table.lookup(sparse())
    return found


BY_TENSOR = {
    "": {},
    ", default": {"default_value": 9},
    ", buckets": {"num_oov_buckets": 3},
    ", strong hash": {"num_oov_buckets": 5, "hasher_spec": lookup.StrongHashSpec([1, 2])},
}
for _name, _options in BY_TENSOR.items():
    CASES["index_table_from_tensor" + _name] = functools.partial(
        looked_up, lambda options=_options: lookup.index_table_from_tensor(WORDS, **options)
    )
    CASES["index_table_from_file" + _name] = functools.partial(
        looked_up, lambda options=_options: lookup.index_table_from_file(words_file(), **options)
    )
    CASES["string_to_index_table_from_tensor" + _name] = functools.partial(
        looked_up,
        lambda options=_options: lookup.string_to_index_table_from_tensor(WORDS, **options),
    )
    CASES["string_to_index_table_from_file" + _name] = functools.partial(
        looked_up,
        lambda options=_options: lookup.string_to_index_table_from_file(words_file(), **options),
    )
CASES["index_table_from_tensor, integers"] = functools.partial(
    *(looked_up, lambda: lookup.index_table_from_tensor([2, 7, 5], 2, dtype=tf.int64), tf.int64)
)
CASES["index_table_from_tensor, nothing"] = lambda: lookup.index_table_from_tensor(None)
CASES["index_table_from_tensor, negative buckets"] = lambda: lookup.index_table_from_tensor(
    WORDS, num_oov_buckets=-1
)
CASES["index_table_from_file, part"] = functools.partial(
    looked_up, lambda: lookup.index_table_from_file(words_file(), vocab_size=2)
)
CASES["index_table_from_file, too large"] = functools.partial(
    looked_up, lambda: lookup.index_table_from_file(words_file(), vocab_size=9)
)
CASES["index_table_from_file, nothing"] = lambda: lookup.index_table_from_file("")
CASES["index_table_from_file, columns"] = functools.partial(
    looked_up,
    lambda: lookup.index_table_from_file(
        *(columns_file(), 1),
        key_column_index=0,
        value_column_index=lookup.TextFileIndex.LINE_NUMBER,
        delimiter=" ",
    ),
)
for _name, _options in {"": {}, ", default": {"default_value": "none"}}.items():
    CASES["index_to_string_table_from_tensor" + _name] = functools.partial(
        *(
            looked_up,
            lambda options=_options: lookup.index_to_string_table_from_tensor(WORDS, **options),
        ),
        tf.int64,
    )
    CASES["index_to_string_table_from_file" + _name] = functools.partial(
        *(
            looked_up,
            lambda options=_options: lookup.index_to_string_table_from_file(
                words_file(), **options
            ),
        ),
        tf.int64,
    )
CASES["string_to_index"] = lambda: lookup.string_to_index(asked(), tf.constant(WORDS), 4)
CASES["index_to_string"] = lambda: lookup.index_to_string(asked(tf.int64), tf.constant(WORDS), "?")


def initializer(kind):
    if kind == "keys":
        return lookup.KeyValueTensorInitializer(WORDS, [3, 1, 4, 1], tf.string, tf.int64)
    if kind == "lines":
        return lookup.TextFileIdTableInitializer(words_file())
    return lookup.TextFileInitializer(columns_file(), tf.string, 0, tf.int64, 1, delimiter=" ")


for _kind in ("keys", "lines", "columns"):
    CASES[f"HashTable, {_kind}"] = functools.partial(
        looked_up, lambda kind=_kind: lookup.HashTable(initializer(kind), -5)
    )
    CASES[f"IdTableWithHashBuckets, {_kind}"] = functools.partial(
        *(
            looked_up,
            lambda kind=_kind: lookup.IdTableWithHashBuckets(
                lookup.HashTable(initializer(kind), -1), 3
            ),
        ),
    )
CASES["HashTable, strings"] = functools.partial(
    *(
        looked_up,
        lambda: lookup.HashTable(lookup.TextFileStringTableInitializer(words_file()), "?"),
    ),
    tf.int64,
)
CASES["HashTable, wrong type"] = lambda: lookup.HashTable(initializer("keys"), -5).lookup(
    tf.constant([1, 2])
)


def mutable(make):
    table = make()
    with tf.control_dependencies(
        [table.insert(tf.constant(WORDS), tf.constant([3, 1, 4, 1], tf.int64))]
    ):
        found = {"dense": table.lookup(asked()), "size": table.size()}
    return found


def exported():
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    with tf.control_dependencies([table.insert(tf.constant(["q"]), tf.constant([5], tf.int64))]):
        keys, found = table.export()
    return {"keys": keys, "values": found}


CASES["MutableHashTable"] = lambda: mutable(
    lambda: lookup.MutableHashTable(tf.string, tf.int64, -1)
)
CASES["MutableHashTable, saved"] = lambda: mutable(
    lambda: lookup.MutableHashTable(tf.string, tf.int64, -7, checkpoint=True, name="mine")
)
CASES["MutableHashTable, exported"] = exported
CASES["MutableDenseHashTable"] = lambda: mutable(
    lambda: lookup.MutableDenseHashTable(
        tf.string, tf.int64, -1, empty_key="$$", deleted_key="%%", initial_num_buckets=8
    )
)
