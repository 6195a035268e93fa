"""map(f).batch(n) of an f that calls Python, which is called for several rows at once."""

import re

import numpy as np
import pytest
import tensorflow as tf
from generated import as_written, assert_same, read

from estimator_bridge.tf1 import batched_calls

TABLE = np.random.RandomState(0).rand(40, 3)
WORDS = ["", "a", "Ulm\0", "Köln", "x" * 30]
NOTE = "rows at once"


def look_up(number):
    return TABLE[number].astype(np.float32), np.int32(number % 3)


def two_results(number):
    row, label = tf.py_func(look_up, [number], [tf.float32, tf.int32])
    features = {"x": tf.reshape(row, [3]) / 7.0 - 0.1, "number": number}
    return features, tf.reshape(label, [])


def any_shapes(number):
    return tuple(tf.py_func(look_up, [number], [tf.float32, tf.int32]))


def texts(number):
    def find(number):
        word = WORDS[number % 5]
        return word.encode(), np.array(["b", str(number)]), word, np.array([word.encode()])

    word, *more = tf.py_func(find, [number * 1], [tf.string] * 4)
    word.set_shape([])
    return tf.strings.lower(word), *more


def python_numbers(number):
    types = ["double", "bool"]
    return tf.numpy_function(lambda number: [float(number), bool(number % 2)], [number], types)


def another_type(number):
    return tf.py_func(lambda number: number if number != 6 else 0.5, [number], tf.int64)


def another_shape(number):
    return tf.py_func(lambda number: np.zeros(2 if number == 6 else 1), [number], tf.float64)


def another_count(number):
    return tf.py_func(lambda number: [number] * (1 + (number == 6)), [number], [tf.int64])


def fails(number):
    def find(number):
        if number in (6, 9):
            raise ValueError(f"no row {number}")
        return number * 2

    return tf.reshape(tf.py_func(find, [number], tf.int64), [1]), number


def numbers(count=23):
    return tf.data.Dataset.range(count)


def both(monkeypatch, capsys, build):
    """Returns what the bridge's dataset gives and what TensorFlow's does, and what was printed."""
    ours = build()
    note = capsys.readouterr().err
    theirs = as_written(monkeypatch, build)
    assert str(tf.data.get_output_shapes(ours)) == str(tf.data.get_output_shapes(theirs))
    assert tf.data.get_output_types(ours) == tf.data.get_output_types(theirs)
    return read(ours), read(theirs), note


PIPELINES = {
    "batch": lambda rows, f: rows.map(f).batch(4),
    "drop": lambda rows, f: rows.map(f).batch(8, drop_remainder=True),
    "parallel": lambda rows, f: rows.map(f, num_parallel_calls=3).batch(6).prefetch(1),
    "repeat": lambda rows, f: rows.map(f).repeat(3).batch(5),
    "shuffle": lambda rows, f: rows.shuffle(10, seed=3).map(f).repeat(2).batch(64).take(9),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("function", [two_results, any_shapes, texts, python_numbers])
def test_batches_are_those_of_calls_for_each_row(name, function, monkeypatch, capsys):
    (found, error), (expected, none), note = both(
        monkeypatch, capsys, lambda: PIPELINES[name](numbers(), function)
    )
    assert note.count(NOTE) == 1 and error is None and none is None
    assert_same(found, expected)


def reason_of(text):
    """Returns the reason of an error, without what tells the dataset in which it was raised."""
    line = text.splitlines()[0].rpartition("Map: ")[2].partition(" [[")[0]
    shapes = sorted(re.findall(r"\[\d+\]", line))  # Batch and MapAndBatch differ in the words.
    return shapes or re.sub(r"pyfunc_\d+", "pyfunc", line)


@pytest.mark.parametrize("function", [fails, another_type, another_shape, another_count])
@pytest.mark.parametrize("options", [{}, {"num_parallel_calls": 2}])
def test_an_error_is_that_of_its_row(function, options, monkeypatch, capsys):
    ours, theirs, note = both(
        monkeypatch, capsys, lambda: numbers().map(function, **options).batch(4)
    )
    assert note.count(NOTE) == 1 and ours[1] is not None
    assert_same(ours[0], theirs[0])
    (kind, text), (expected, other) = ours[1], theirs[1]
    assert kind is expected
    assert reason_of(text) == reason_of(other)


def test_rows_after_an_error_are_computed(monkeypatch, capsys):
    def build():
        batches = numbers().map(fails).batch(4)
        # TensorFlow's optimizations drop the rest of a batch with an error.
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        return batches.apply(tf.data.experimental.ignore_errors()).with_options(options)

    (found, _), (expected, _), note = both(monkeypatch, capsys, build)
    assert NOTE in note and len(found) > 3
    assert_same(found, expected)


def test_a_row_is_called_for_once_and_in_order(monkeypatch):
    calls = []
    monkeypatch.setattr(batched_calls, "has_effect", lambda function, within: False)

    def make(number):
        return tf.py_func(lambda number: (calls.append(int(number)), number)[1], [number], tf.int64)

    read(numbers().map(make).batch(4))
    assert calls == list(range(23))


CALLS = []


def appends(number):
    def find(number):
        CALLS.append(number)
        return number

    return tf.py_func(find, [number], tf.int64)


def appends_below(number):
    def note(number):
        CALLS.append(number)

    def find(number):
        note(number)
        return number

    return tf.py_func(find, [number], tf.int64)


def counts(number):
    def find(number):
        TABLE[0, 0] = number
        return number

    return tf.py_func(find, [number], tf.int64)


def draws(number):
    return tf.py_func(lambda number: np.random.rand(2), [number], tf.float64)


def ends(number):
    def find(number):
        if number == 5:
            raise StopIteration
        return number

    return tf.py_func(find, [number], tf.int64)


def calls_twice(number):
    (once,) = tf.py_func(lambda number: [number], [number], [tf.int64])
    return tf.py_func(lambda number: number, [once], tf.int64)


def sums(number):
    return tf.reduce_sum(any_shapes(number)[0])


def constant(number):
    return two_results(number), tf.constant(1)


def one_axis(number):
    return tf.reshape(any_shapes(number)[0], [-1])


@pytest.mark.parametrize(
    "function",
    [appends, appends_below, counts, draws, ends, calls_twice, sums, constant, one_axis],
)
def test_other_functions_are_called_row_by_row(function, monkeypatch, capsys):
    before = TABLE.copy()
    ours, _, note = both(monkeypatch, capsys, lambda: numbers().map(function).batch(4))
    TABLE[:] = before
    assert NOTE not in note and ours[0]


def test_rows_of_several_shapes_and_small_batches_stay(monkeypatch, capsys):
    def generate():
        for length in range(9):
            yield np.ones(length)

    def build():
        rows = tf.data.Dataset.from_generator(generate, tf.float64, [None])
        return rows.map(lambda row: tf.py_func(np.sum, [row], tf.float64)).batch(4)

    ours, theirs, note = both(monkeypatch, capsys, build)
    assert_same(ours[0], theirs[0])
    numbers().map(any_shapes).batch(3)
    numbers().map(any_shapes).batch(tf.placeholder(tf.int64, []))
    assert NOTE not in note + capsys.readouterr().err
