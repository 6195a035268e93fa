"""trainer.inputs.shuffle, prefetch and words: windows, groups, prefetching, indices of words."""

import sys
import threading
import time

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.inputs import words
from trainer.inputs.dataset import make_eval_input_fn, make_train_input_fn
from trainer.inputs.prefetch import prefetch
from trainer.inputs.shuffle import (
    FILE,
    BatchSchedule,
    FileHistory,
    Group,
    RowStream,
    Window,
    cut_groups,
    cut_windows,
)
from trainer.inputs.words import WordIndex
from trainer.schema import Schema
from trainer.training.job import build_source


def _chunks(*sizes):
    end = 0
    for size in sizes:
        yield {"x": np.arange(end, end + size)}
        end += size


@pytest.mark.parametrize("sizes", [(10,), (3, 3, 4), (1,) * 10, (7, 3), (4, 0, 6)])
@pytest.mark.parametrize("rows", [1, 3, 4, 10, 99])
def test_windows_do_not_depend_on_the_sizes_of_chunks(sizes, rows):
    windows = [chunk["x"].tolist() for chunk in cut_windows(_chunks(*sizes), rows)]
    assert windows == [list(range(10))[start : start + rows] for start in range(0, 10, rows)]


@pytest.mark.parametrize("batches_per_step", [1, 3])
def test_groups_end_where_the_batch_size_changes(batches_per_step):
    size_at = lambda step: 2 if step < 4 else 5  # noqa: E731
    stream = RowStream(map(Window, _chunks(13, 30, 30)))
    groups = list(cut_groups(stream, BatchSchedule(size_at, 2, batches_per_step, lambda step: 4)))
    assert {group.rows for group in groups[:-1]} <= {2, 5}
    rows = [value for group in groups for value in group.chunk["x"].tolist()]
    assert rows == list(range(73))
    number = 0
    for group in groups:
        assert group.step == 2 + number // batches_per_step
        if group is not groups[-1]:
            assert group.rows == size_at(group.step) and len(group.chunk["x"]) % group.rows == 0
        number += -(-len(group.chunk["x"]) // group.rows)
    assert len(groups[-1].chunk["x"]) == groups[-1].rows


def test_the_order_of_a_window_holds_across_calls():
    order = np.array([3, 0, 4, 1, 2])
    stream = RowStream(iter([Window({"x": np.arange(5)}, order), Window({"x": np.arange(5, 8)})]))
    assert [stream.take(rows)["x"].tolist() for rows in (2, 4, 9)] == [[3, 0], [4, 1, 2, 5], [6, 7]]
    assert stream.take(1) is None


def test_the_file_history_knows_the_files_of_a_step():
    file_history = FileHistory(["a", "b", "c"])
    file_history.add(Group(7, 2, {FILE: np.array([0, 0, 0, 1, 1, 2])}))
    file_history.add(Group(10, 2, {FILE: np.array([2, 2])}), batches_per_step=1)
    found = [file_history.list_files_at(step) for step in (6, 7, 8, 9, 10, 11)]
    assert found == [[], ["a"], ["a", "b"], ["b", "c"], ["c"], []]


def test_one_item_is_prefetched():
    made = []

    def make():
        for number in range(5):
            made.append(number)
            yield number

    items = prefetch(make)
    assert next(items) == 0
    deadline = time.monotonic() + 10
    while made != [0, 1] and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert made == [0, 1]
    assert list(items) == [1, 2, 3, 4] and made == [0, 1, 2, 3, 4]


def test_an_error_while_prefetching_is_raised_at_its_item():
    def make():
        yield 1
        raise ValueError("damaged")

    items = prefetch(make)
    assert next(items) == 1
    with pytest.raises(ValueError, match="damaged"):
        next(items)


def _count_threads():
    return sum(thread.name == "prefetch" for thread in threading.enumerate())


def _await_no_thread():
    deadline = time.monotonic() + 10
    while _count_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    return _count_threads() == 0


def test_closing_the_iterator_ends_its_thread():
    closed = []

    def make():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    items = prefetch(make)
    next(items)
    items.close()
    assert _await_no_thread() and closed == [True]


SCHEMA = {
    "columns": {"x": {"type": "float"}, "t": {"type": "string", "hash_buckets": 9}},
    "label": {"column": "x"},
}


@pytest.fixture
def source(make, tmp_path):
    """1,000 rows with different texts, shuffled 300 at a time."""
    rows = [{"x": float(number), "t": f"t{number}"} for number in range(1000)]
    path = make.csv(tmp_path / "a.csv", rows)
    config = make.config(rows=path, data={"shuffle_rows": 300, "cache": "off"})
    return build_source(make.prepare(config, Schema.model_validate(SCHEMA)), True)


def _train(source, count):
    schema = Schema.model_validate(SCHEMA)
    input_fn = make_train_input_fn(source, schema, BatchSchedule(lambda step: 100), (1,))
    with tf.Graph().as_default():
        features, labels = tf.compat.v1.data.make_one_shot_iterator(input_fn()).get_next()
        with tf.compat.v1.Session() as session:
            return [session.run((features["t"], labels)) for _ in range(count)]


def test_closing_the_session_ends_the_thread(source):
    _train(source, 5)
    assert _await_no_thread()


@pytest.mark.parametrize("limit", [1, 100, 600, 5000])
def test_text_with_more_words_than_are_indexed(source, limit):
    source._words = {"t": WordIndex(limit)}
    for texts, labels in _train(source, 20):
        assert texts.tolist() == [f"t{label:.0f}".encode() for label in labels]
    schema = Schema.model_validate(SCHEMA)
    seen = [
        row
        for features, _ in make_eval_input_fn(source, schema, 64)()
        for row in features["t"].numpy()
    ]
    assert seen == [f"t{number}".encode() for number in range(1000)]


def test_indices_of_words_are_stable():
    known = WordIndex(limit=3)
    one = np.array([b"a", b"b"], object)
    assert known.index(one).tolist() == [0, 1]
    assert known.index(np.array([b"b", b"c"], object)).tolist() == [1, 2]
    assert known.to_array().tolist() == [b"a", b"b", b"c"] and not known.is_full
    assert known.index(np.array([b"d"], object)).tolist() == [3] and known.is_full
    assert known.index(one) is None
    assert words.MAX_WORDS >= 1000


@pytest.fixture
def often_switching():
    """Lets another thread run after almost every instruction."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_words_are_read_while_a_thread_adds_some(often_switching):
    texts = [np.array([b"%d" % number], object) for number in range(4000)]
    for _ in range(40):
        known = WordIndex()
        thread = threading.Thread(target=lambda index=known.index: [*map(index, texts)])
        thread.start()
        try:
            while thread.is_alive():
                known.to_array()
        finally:
            thread.join()
        assert known.to_array().tolist() == np.concatenate(texts).tolist()


def test_the_files_of_a_step_are_found_while_a_thread_adds_some(often_switching):
    history = FileHistory(["a"])
    has_ended = threading.Event()

    def add():
        for number in range(20_000):
            history.add(Group(number, 1, {FILE: np.zeros(1, np.int32)}))
        has_ended.set()

    thread = threading.Thread(target=add)
    thread.start()
    try:
        while not has_ended.is_set():
            assert history.list_files_at(-1) == []
    finally:
        thread.join()
