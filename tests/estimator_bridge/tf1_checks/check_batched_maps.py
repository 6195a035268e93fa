"""map(parse).batch(n), which parses a batch at once where this gives the same."""

import numpy as np
import pytest
import tensorflow as tf
from generated import as_written, read

from estimator_bridge.array_datasets import row_batches

NAMES = ["a", "b", "c", "label"]
ROWS = [f"{number},{number / 3:.6f},text {number % 4},{number % 2}" for number in range(23)]
ROWS[5] = ",,,1"
NOTE = "parses a batch of rows at once"


def decode(row):
    return dict(zip(NAMES, tf.decode_csv(row, [[0], [0.5], ["none"], [0]])))


def features_and_label(row):
    features = decode(row)
    label = tf.equal(features.pop("label"), 1)
    features["a"] = (tf.to_float(features["a"]) - 3.0) / 7.0
    return features, tf.cast(label, tf.int32)


def hashed(row):
    return tf.string_to_hash_bucket_fast(decode(row)["c"], 10), tf.strings.lower(row)


def with_shape(row):
    return tf.reshape(decode(row)["a"], [1])


def with_split(row):
    return tf.string_split([row], ",").values


def with_constant(row):
    return decode(row), tf.constant(1)


def with_variable_defaults(row):
    return tf.decode_csv(row, [tf.stack([tf.string_to_number("1")]), [0.5], ["none"], [0]])


def with_random(row):
    return decode(row)["b"] + tf.random_uniform([], seed=1)


def with_exp(row):
    return tf.exp(decode(row)["b"])


def with_truncated_numbers(row):
    return tf.to_int32(decode(row)["b"])


def with_maximum(row):
    return tf.maximum(decode(row)["b"], 1.0)


def with_py_func(row):
    return tf.py_func(lambda text: text, [row], tf.string)


def with_sum(row):
    return tf.reduce_sum(decode(row)["b"])


def with_table(row):
    table = tf.contrib.lookup.index_table_from_tensor(["text 1"])
    return table.lookup(decode(row)["c"])


def lines(rows=ROWS):
    return tf.data.Dataset.from_tensor_slices(rows)


def assert_same(found, expected):
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        tf.nest.assert_same_structure(one, other)
        for array, right in zip(tf.nest.flatten(one), tf.nest.flatten(other)):
            assert array.dtype == right.dtype and array.shape == right.shape
            assert array.tobytes() == right.tobytes() or array.tolist() == right.tolist()


PIPELINES = {
    "batch": lambda rows, parse: rows.map(parse).batch(4),
    "drop": lambda rows, parse: rows.map(parse).batch(4, drop_remainder=True),
    "parallel": lambda rows, parse: rows.map(parse, num_parallel_calls=3).batch(5).prefetch(1),
    "repeat": lambda rows, parse: rows.map(parse).repeat(3).batch(7),
    "shuffle": lambda rows, parse: rows.shuffle(10, seed=3).map(parse).repeat(2).batch(4).take(9),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("parse", [decode, features_and_label, hashed])
def test_batches_are_those_of_parsed_rows(name, parse, monkeypatch, capsys):
    def build():
        return PIPELINES[name](lines(), parse)

    ours = build()
    note = capsys.readouterr().err
    assert note.count(NOTE) == 1 and parse.__name__ in note
    theirs = as_written(monkeypatch, build)
    assert str(tf.data.get_output_shapes(ours)) == str(tf.data.get_output_shapes(theirs))
    assert tf.data.get_output_types(ours) == tf.data.get_output_types(theirs)
    (found, error), (expected, none) = read(ours), read(theirs)
    assert error is None and none is None
    assert_same(found, expected)


@pytest.mark.parametrize("bad", ["1,2", "x,0.1,c,0", "1,2.0,c,0,9"])
def test_a_faulty_row_raises_its_own_error_in_its_batch(bad, monkeypatch):
    rows = [*ROWS[:10], bad, *ROWS[10:]]

    def build():
        return lines(rows).map(decode).batch(4)

    (found, error), (expected, right) = read(build()), read(as_written(monkeypatch, build))
    assert_same(found, expected)
    assert len(found) == 2 and error[0] is right[0]
    assert error[1].partition("\n")[0] == right[1].partition("\n")[0]


@pytest.mark.parametrize(
    "parse",
    [
        *(with_shape, with_split, with_constant, with_variable_defaults, with_random, with_exp),
        *(with_py_func, with_sum, with_table, with_truncated_numbers, with_maximum),
    ],
)
def test_a_function_that_may_give_something_else_is_left(parse, capsys):
    if parse is with_split:
        lines().map(parse).batch(1)
    else:
        lines().map(parse).batch(4)
    assert NOTE not in capsys.readouterr().err


def test_rows_that_are_no_strings_are_left(capsys):
    tf.data.Dataset.range(5).map(lambda number: number + 1).batch(2)
    lines().batch(2).map(decode).batch(2)
    lines().map(decode).shuffle(5).batch(2)
    lines().batch(2)
    assert NOTE not in capsys.readouterr().err


def test_an_empty_dataset_and_a_batch_size_of_a_placeholder(run):
    size = tf.placeholder(tf.int64, [])
    dataset = lines().filter(lambda row: tf.equal(row, "none")).map(decode).batch(size)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {size: 3})
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)
    iterator = tf.data.make_initializable_iterator(lines().map(decode).batch(size))
    with tf.Session() as session:
        session.run(iterator.initializer, {size: 3})
        assert np.array_equal(session.run(iterator.get_next())["a"], [0, 1, 2])


def test_lines_of_an_array_are_gathered_too(monkeypatch):
    def build():
        return lines().repeat(2).map(decode).batch(4)

    expected, _ = read(as_written(monkeypatch, build))
    monkeypatch.setattr(row_batches, "_FEWEST_IN_BATCH", 1)
    monkeypatch.setattr(row_batches, "_FEWEST", 1)
    found, error = read(build())
    assert error is None
    assert_same(found, expected)
    names = [operation.name for operation in tf.get_default_graph().get_operations()]
    assert any("estimator_bridge_batches" in name for name in names)
