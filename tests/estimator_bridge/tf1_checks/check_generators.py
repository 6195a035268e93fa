"""Dataset.from_generator beside TensorFlow's own: elements, order, end, errors and state."""

import collections
import functools
import itertools
import os
import re
import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from generated import Problem, assert_same, both, own, read, unprefetched
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator_bridge.tf1.generators import MAX_ELEMENTS

EXAMPLES = int(os.environ.get("GENERATOR_EXAMPLES", "25"))
Pair = collections.namedtuple("Pair", "first second")


DTYPES = [tf.int32, tf.int64, tf.uint8, tf.float32, tf.float64, tf.bool, tf.string]
TEXTS = ["", "a", "Zürich", b"\xff\x00", b"bytes"]


@st.composite
def components(draw):
    """(dtype, static shape, ranks that elements may have)"""
    dtype = draw(st.sampled_from(DTYPES))
    rank = draw(st.integers(0, 3))
    known = draw(st.sampled_from(["all", "rank", "nothing"]))
    dims = draw(st.lists(st.integers(0, 3), min_size=rank, max_size=rank))
    if known == "nothing":
        return dtype, None, None
    return dtype, [dim if known == "all" or draw(st.booleans()) else None for dim in dims], rank


def value_of(draw, component, kind):
    dtype, shape, _ = component
    if shape is None:
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
    shape = [draw(st.integers(0, 3)) if dim is None else dim for dim in shape]
    if dtype == tf.string:
        flat = draw(st.lists(st.sampled_from(TEXTS), min_size=64, max_size=64))
        array = np.empty(shape, object)
        array.ravel()[:] = flat[: array.size]
        return array.tolist() if kind == "list" and array.ndim else array
    seed = draw(st.integers(0, 1000))
    array = np.asarray(np.random.RandomState(seed).randint(0, 100, shape), dtype.as_numpy_dtype)
    # A list keeps no dimension behind one of length 0.
    return array.tolist() if kind == "list" and array.size else array


@st.composite
def streams(draw):
    parts = draw(st.lists(components(), min_size=1, max_size=3))
    form = draw(st.sampled_from(["tuple", "dict", "nested", "pair"]))
    kind = draw(st.sampled_from(["array", "list"]))

    def pack(flat):
        if form == "dict":
            return {f"k{9 - number}": one for number, one in enumerate(flat)}
        if form == "nested":
            return ((flat[0],), {"rest": tuple(flat[1:])} if flat[1:] else {"none": flat[0]})
        if form == "pair":
            return Pair(flat[0], tuple(flat))
        return tuple(flat)

    count = draw(st.integers(0, 12))
    elements = [pack([value_of(draw, part, kind) for part in parts]) for _ in range(count)]
    types = pack([part[0] for part in parts])
    shapes = pack([tf.TensorShape(part[1]) for part in parts])
    wrong = draw(st.sampled_from([None, "raise", "structure", "type", "text"]))
    if wrong:
        place = draw(st.integers(0, count))
        first = {"raise": Problem(f"at {place}"), "structure": (1, 2, 3, 4, 5), "type": "no number"}
        bad = first.get(wrong) or pack([object() for _ in parts])
        elements.insert(place, bad)
    return elements, types, shapes


def yield_all(elements):
    for element in elements:
        if isinstance(element, Problem):
            raise element
        yield element


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(streams())
def test_elements_and_errors_are_tensorflows_own(stream):
    elements, types, shapes = stream
    with tf.Graph().as_default():
        ours, theirs = both(lambda: yield_all(elements), types, shapes)
        assert tf.data.get_output_types(ours) == tf.data.get_output_types(theirs)
        assert str(tf.data.get_output_shapes(ours)) == str(tf.data.get_output_shapes(theirs))
        assert tf.data.get_output_classes(ours) == tf.data.get_output_classes(theirs)
        (found, error), (expected, other) = read(ours), read(theirs)
    assert_same(found, expected)
    assert (error is None) == (other is None)
    if error:
        assert error[0] is other[0]
        assert error[1].partition("\n")[0] == other[1].partition("\n")[0]


def failing():
    for number in range(100):
        if number == 70:
            raise Problem("the 71st")
        yield number


def test_an_error_is_raised_in_place_of_its_element_with_the_users_traceback():
    found, error = read(tf.data.Dataset.from_generator(failing, tf.int32, []))
    assert found == list(range(70))
    assert re.search(r"Problem: the 71st\s[\s\S]*in failing\n", error[1])


def with_some_wrong():
    for number in range(40):
        yield "wrong" if number % 10 == 5 else number


def test_elements_after_a_wrong_one_can_be_read():
    results = [
        read(dataset.apply(tf.data.experimental.ignore_errors()))
        for dataset in both(with_some_wrong, tf.int32, [])
    ]
    assert results[0] == results[1] and len(results[0][0]) == 36


def test_arguments_repetition_and_several_iterators():
    def count(first, texts):
        assert isinstance(first, (np.ndarray, np.generic))
        for number in range(first, first + 5):
            yield number, [text + b"!" for text in texts.tolist()]

    types, shapes = (tf.int64, tf.string), ([], [None])
    results = []
    for dataset in both(count, types, shapes, args=(7, ["a", "b"])):
        pairs = tf.data.Dataset.zip((dataset.repeat(2), dataset.skip(1)))
        batches = tf.data.Dataset.zip((dataset, dataset)).repeat(3).batch(4)
        results += [read(pairs)[0], read(batches)[0]]
    assert_same(results[0] + results[1], results[2] + results[3])


def test_a_generator_starts_anew_when_its_iterator_is_initialized_again():
    def numbers():
        yield from range(1000)

    dataset = tf.data.Dataset.from_generator(numbers, tf.int32, [])
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        for count in (3, 100, 7):
            session.run(iterator.initializer)
            assert [session.run(element) for _ in range(count)] == list(range(count))


def close_in_time(dataset, ended):
    element = tf.data.make_one_shot_iterator(dataset.take(30).batch(30)).get_next()
    with tf.Session() as session:
        session.run(element)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)
    return ended.is_set()


def test_a_generator_that_is_not_read_to_its_end_is_ended():
    ended = threading.Event()

    def numbers():
        try:
            yield from range(1000)
        finally:
            end()

    end = functools.partial(ended.set)
    ours = tf.data.Dataset.from_generator(numbers, tf.int32, [])
    before = {thread.name for thread in threading.enumerate()}
    assert close_in_time(ours, ended)
    after = {thread.name for thread in threading.enumerate()}
    assert "from_generator" not in after - before


class Counted:
    """A generator with state that the program reads between its elements."""

    def __init__(self):
        self.position = 0

    def numbers(self):
        for number in range(200):
            self.position += 1
            yield number


def test_state_that_the_program_reads_is_that_of_the_last_element():
    counted = Counted()
    dataset = unprefetched(tf.data.Dataset.from_generator(counted.numbers, tf.int32, []))
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        for number in range(150):
            assert session.run(element) == number
            assert counted.position == number + 1


def test_an_iterator_that_outlives_its_dataset_loses_nothing():
    stream = iter(range(500))
    dataset = unprefetched(tf.data.Dataset.from_generator(lambda: stream, tf.int32, []))
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    found = []
    with tf.Session() as session:
        for count in (100, 50, 200):
            session.run(iterator.initializer)
            found += [session.run(element) for _ in range(count)]
    assert found == list(range(350))


def test_an_array_that_the_generator_changes_is_passed_on_as_it_was():
    def rows():
        row = np.zeros(3, np.float32)
        for number in range(300):
            row[:] = number
            yield row

    found, _ = read(tf.data.Dataset.from_generator(rows, tf.float32, [3]))
    assert [one.tolist() for one in found] == [[number] * 3 for number in range(300)]


def test_a_live_generator_passes_on_what_has_arrived():
    more = threading.Event()

    def live():
        for number in itertools.count():
            if number == 40:
                more.wait()
            yield number

    element = tf.data.make_one_shot_iterator(
        tf.data.Dataset.from_generator(live, tf.int32, [])
    ).get_next()
    with tf.Session() as session:
        started = time.monotonic()
        assert [session.run(element) for _ in range(40)] == list(range(40))
        # A chunk that waited to be filled would wait for ever.
        assert time.monotonic() - started < 30
        more.set()
        assert [session.run(element) for _ in range(100)] == list(range(40, 140))


def test_what_is_read_ahead_is_bounded_in_elements_and_bytes():
    # Of 1 MB each, one chunk is read, one is split, and one element is computed.
    for size, most in [(1, 2 * MAX_ELEMENTS), (1 << 20, 2 * 4 + 1)]:
        rows = Rows(size)
        dataset = unprefetched(tf.data.Dataset.from_generator(rows, tf.uint8, [None]))
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        furthest = 0
        with tf.Session() as session:
            for number in range(1, 200):
                session.run(element)
                furthest = max(furthest, rows.given[0] - number)
        assert 2 <= furthest <= most


class Rows:
    """Arrays, and how many have been computed, which the search for effects does not see."""

    def __init__(self, size):
        self.row, self.given = np.zeros(size, np.uint8), np.zeros(1, int)

    def __call__(self):
        counting = np.add
        for _ in range(10_000):
            counting(self.given, 1, out=self.given)
            yield self.row


@pytest.mark.parametrize("arguments", [(5, tf.int32), (list, None), (list, tf.int32, [[3], [4]])])
def test_wrong_arguments_are_refused_as_by_tensorflow(arguments):
    with pytest.raises(Exception) as ours:  # noqa: PT011 - compared with TensorFlow's own
        tf.data.Dataset.from_generator(*arguments)
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        own(*arguments)
    assert ours.type is theirs.type and str(ours.value) == str(theirs.value)
