"""Which generators are read ahead: those of which nothing outside can tell when they run."""

import collections
import functools
import os.path
import queue
import random

import numpy as np
import pytest

from estimator_bridge.tf1.generators import effects

pytestmark = pytest.mark.quick

ROWS = [[1, 2], [3]]
SEEN = []
RNG = np.random.RandomState(1)
counter = 0
SOURCE = iter(range(100))
QUEUE = queue.Queue()
COUNTS = collections.Counter()


def parse(row):
    return [value + 1 for value in row]


def lines(path):
    with open(path) as file:
        for line in file:
            words = line.strip().split()
            yield words, len(words)


def lines_of_a_folder(folder):
    # Since Python 3.11, the source of os.path cannot be read.
    yield from lines(os.path.join(folder, os.path.basename(__file__)))


def parsed():
    for number, row in enumerate(ROWS):
        known = {}
        known["number"] = number
        copied = list(row)
        copied.append(number)
        yield parse(copied), known["number"]


class Reader:
    def __init__(self):
        self.rows, self.position, self.stream = ROWS, 0, iter(ROWS)

    def all(self):
        for row in self.rows:
            yield self.convert(row)

    def convert(self, row):
        return np.asarray(row)

    def counted(self):
        for row in self.rows:
            self.position += 1
            yield row

    def streamed(self):
        yield from self.stream

    def __call__(self):
        return self.all()


def with_global():
    global counter
    for row in ROWS:
        counter += 1
        yield row


def with_item():
    for row in ROWS:
        COUNTS["rows"] += 1
        yield row


def with_another_name():
    counts = COUNTS
    for row in ROWS:
        counts["rows"] += 1
        yield row


def with_rows_changed():
    for row in ROWS:
        row[0] = 0
        yield row


def with_argument(seen):
    for row in ROWS:
        seen.append(row)
        yield row


def with_queue():
    while True:
        yield QUEUE.get()


def with_next():
    while True:
        yield next(SOURCE)


def with_draws():
    for row in ROWS:
        yield random.sample(row, 1)


def with_numpy_draws():
    for row in ROWS:
        yield np.random.permutation(row)


def with_draws_of_a_generator():
    while True:
        order = RNG.permutation(2)
        yield ROWS[order[0]]


def augment(row):
    return [value + random.random() for value in row]


def with_draws_in_a_function():
    for row in ROWS:
        yield augment(row)


def count(row):
    SEEN.append(row)
    return row


def with_effect_in_a_function():
    for row in ROWS:
        yield count(row)


def shuffled_once():
    order = np.random.RandomState(3).permutation(len(ROWS))
    for index in order:
        yield ROWS[index]


def nonlocal_generator():
    position = 0

    def generate():
        nonlocal position
        for row in ROWS:
            position += 1
            yield row

    return generate


def over_a_closure():
    stream = iter(ROWS)

    def generate():
        yield from stream

    return generate


def expression_over_a_closure():
    stream = iter(SEEN)
    stream = map(str, stream)
    return lambda: (row for row in stream)


KEPT = parsed()


@pytest.mark.parametrize(
    "generator",
    [
        functools.partial(lines, __file__),
        lambda: lines(__file__),
        functools.partial(lines_of_a_folder, os.path.dirname(__file__)),
        parsed,
        shuffled_once,
        Reader().all,
        Reader(),
        lambda: ROWS,
        lambda: range(5),
        lambda: (row for row in ROWS),
    ],
)
def test_a_generator_without_effects_is_read_ahead(generator):
    iterator, invisible = effects.begin(generator)
    assert invisible
    assert next(iterator) is not None


@pytest.mark.parametrize(
    "generator",
    [
        with_global,
        with_item,
        with_another_name,
        with_rows_changed,
        functools.partial(with_argument, SEEN),
        with_queue,
        with_next,
        with_draws,
        with_numpy_draws,
        with_draws_of_a_generator,
        with_draws_in_a_function,
        with_effect_in_a_function,
        Reader().counted,
        Reader().streamed,
        nonlocal_generator(),
        over_a_closure(),
        expression_over_a_closure(),
        lambda: SOURCE,
        lambda: KEPT,
        lambda: map(count, ROWS),
        eval("lambda: (row for row in [1])"),
    ],
)
def test_a_generator_with_effects_is_not(generator):
    assert not effects.begin(generator)[1]
