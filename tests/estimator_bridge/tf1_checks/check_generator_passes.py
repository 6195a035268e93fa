"""Several iterators over generators, their ends, slow generators, and memory for each element."""

import ctypes
import gc
import os
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf
from generated import Problem, assert_same, both, read, unprefetched
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.compat import v2

EXAMPLES = int(os.environ.get("GENERATOR_EXAMPLES", "8"))
# Elements of one of the two windows of the memory checks.
MANY = int(os.environ.get("GENERATOR_ELEMENTS", "6000"))
LENGTH, PLACE = 150, 70


def plain():
    for number in range(LENGTH):
        yield number, [number] * (number % 3)


def failing():
    for number in range(LENGTH):
        if number == PLACE:
            raise Problem(f"element {number}")
        yield number, [number]


def with_one_wrong():
    for number in range(LENGTH):
        yield number, ["wrong"] if number == PLACE else [number]


class Counted:
    """Its elements tell how many all passes have given."""

    def __init__(self):
        self.position = 0

    def __call__(self):
        for _ in range(LENGTH):
            self.position += 1
            yield self.position, [0]


class Stream:
    """All passes go on with one iterator."""

    def __init__(self):
        self.source = ((number, [number]) for number in range(LENGTH))

    def __call__(self):
        return self.source


GENERATORS = {
    "plain": lambda: plain,
    "list": lambda: lambda: [(number, []) for number in range(LENGTH)],
    "failing": lambda: failing,
    "with one wrong": lambda: with_one_wrong,
    "counted": Counted,
    "stream": Stream,
}
# Iterator, and how many elements are taken from it; 0 initializes it again.
ACTIONS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 0, 1, 2, 5, 30, 90, 200])),
    min_size=3,
    max_size=12,
)


class Passes:
    """Three iterators: two over one dataset of a generator, one over another dataset of it."""

    def __init__(self, kind, number):
        self.generator = None
        self.make = GENERATORS[kind]
        given = (lambda: self.generator(), (tf.int64, tf.int32), ([], [None]))
        first, second = (unprefetched(list(both(*given))[number]) for _ in range(2))
        self.iterators = [
            tf.data.make_initializable_iterator(one) for one in (first, first, second.repeat(2))
        ]
        self.elements = [one.get_next() for one in self.iterators]

    def follow(self, actions, session):
        """Returns what a list of actions gives: elements, ends, and errors."""
        self.generator = self.make()
        for one in self.iterators:
            session.run(one.initializer)
        found, ends = [], []
        for iterator, count in actions:
            if not count:
                session.run(self.iterators[iterator].initializer)
            for _ in range(count):
                try:
                    found.append((iterator, session.run(self.elements[iterator])))
                except tf.errors.OpError as error:
                    text = "" if isinstance(error, tf.errors.OutOfRangeError) else error.message
                    ends.append((len(found), type(error), text.partition("\n")[0]))
                    break
        return found, ends


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(GENERATORS)), ACTIONS)
def test_iterators_that_are_read_in_turns_are_tensorflows_own(kind, actions):
    results = []
    with tf.Graph().as_default(), tf.Session() as session:
        for number in (0, 1):
            results.append(Passes(kind, number).follow(actions, session))
    assert_same(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


@st.composite
def specs(draw):
    kind = draw(st.sampled_from(["ragged", "sparse", "dense", "pair", "dict"]))
    dtype = draw(st.sampled_from([tf.int32, tf.float32, tf.string]))
    if kind == "ragged":
        return v2.RaggedTensorSpec([None, None], dtype, row_splits_dtype=tf.int64)
    if kind == "sparse":
        return v2.SparseTensorSpec([None, 4], dtype)
    if kind == "dense":
        return tf.TensorSpec([None], dtype)
    parts = draw(specs()), draw(specs())
    return parts if kind == "pair" else {"b": parts[0], "a": parts[1]}


def value_of(spec, number):
    """Returns the value of the element with some number; a wrong one of the number 13."""
    if isinstance(spec, tuple):
        return tuple(value_of(one, number) for one in spec)
    if isinstance(spec, dict):
        return {name: value_of(one, number) for name, one in spec.items()}
    row = [str(one) if spec.dtype == tf.string else one for one in range(number % 4)]
    if isinstance(spec, v2.RaggedTensorSpec):
        rows = [row] if number == 13 else [row, [], row]
        return v2.ragged.constant(rows, spec.dtype, 1, row_splits_dtype=tf.int64)
    if isinstance(spec, v2.SparseTensorSpec):
        places = [[0, one] for one in range(len(row))]
        values = tf.constant(row, spec.dtype)
        return v2.SparseTensor(np.reshape(places, [-1, 2]).astype(np.int64), values, [1, 4])
    return row


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(specs(), st.integers(0, 6), st.sampled_from([None, "wrong", "raise"]))
def test_sparse_and_ragged_parts_are_tensorflows_own(spec, count, end):
    def rows():
        for number in range(count):
            yield value_of(spec, number)
        if end == "raise":
            raise Problem("at the end")
        if end:
            yield value_of(spec, 13)

    with tf.Graph().as_default():
        ours, theirs = both(rows, output_signature=spec)
        assert ours.element_spec == theirs.element_spec == spec
        (found, error), (expected, other) = read(ours), read(theirs)
    assert_same(found, expected)
    assert len(found) >= count
    assert (error is None) == (other is None)
    if error:
        assert (error[0], error[1].partition("\n")[0]) == (other[0], other[1].partition("\n")[0])


def test_a_slow_generator_passes_on_each_element_when_it_is_there():
    count = 60
    arrived = [threading.Event() for _ in range(count)]

    def slow():
        for number, event in enumerate(arrived):
            event.wait()
            yield number

    dataset = tf.data.Dataset.from_generator(slow, tf.int32, [])
    element = tf.data.make_one_shot_iterator(unprefetched(dataset)).get_next()
    with tf.Session() as session:
        for number, event in enumerate(arrived):
            # The next element never comes before this one has been passed on.
            event.set()
            assert session.run(element) == number


class MallInfo(ctypes.Structure):
    """What `mallinfo2` of the C library returns."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")),
        *((name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks")),
        ("keepcost", ctypes.c_size_t),
    ]


def used():
    """Returns how many bytes the process has allocated from the C library, and Python's blocks."""
    find = ctypes.CDLL(None).mallinfo2
    find.restype = MallInfo
    info = find()
    return info.uordblks + info.hblkhd, sys.getallocatedblocks()


class Rows:
    """Generators: read ahead, of some lengths, computed one by one, and of many passes."""

    def __init__(self):
        self.position = 0

    @staticmethod
    def pairs():
        number = 0
        while True:
            number += 1
            yield number, b"some text"

    @staticmethod
    def lists():
        number = 0
        while True:
            number += 1
            yield number, [b"some text"] * (number % 4)

    def counted(self):
        while True:
            self.position += 1
            yield self.position, b"some text"

    @staticmethod
    def short():
        for number in range(40):
            yield number, b"some text"


@pytest.mark.parametrize("kind", ["pairs", "lists", "counted", "short"])
def test_memory_does_not_grow_with_the_elements(kind):
    shapes = ([], [None] if kind == "lists" else [])
    rows = getattr(Rows(), kind)
    dataset = tf.data.Dataset.from_generator(rows, (tf.int64, tf.string), shapes).repeat()
    element = tf.data.make_one_shot_iterator(dataset.padded_batch(100, shapes)).get_next()
    counts = []
    with tf.Session() as session:
        take = session.make_callable(element)
        for _ in range(2):
            for _ in range(MANY // 100):
                take()
            gc.collect()
            counts.append(used())
    size, blocks = ((after - before) / MANY for before, after in zip(*counts))
    # The least that one object of an element takes is 32 bytes, or a block of Python.
    assert size < 16
    assert blocks < 0.5
