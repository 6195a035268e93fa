"""trainer.inputs.dataset: each row once per epoch, seeded, exact batches; evaluation in order."""

import itertools
import threading

import numpy as np
import pytest

from trainer.inputs.dataset import make_eval_input_fn, make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.schema import Schema
from trainer.training.job import build_source

ROWS = 100


@pytest.fixture(scope="module")
def numbered(make, tmp_path_factory):
    """Three files of numbered rows."""
    folder = tmp_path_factory.mktemp("numbered")
    rows = [{"x": float(number), "y": float(number)} for number in range(ROWS)]
    return [
        make.csv(folder / "a.csv", rows[:10]),
        make.parquet(folder / "b.parquet", rows[10:60], row_group_size=7),
        make.csv(folder / "c.csv", rows[60:]),
    ]


SCHEMA = Schema.model_validate(
    {"columns": {"x": {"type": "float"}, "y": {"type": "float"}}, "label": {"column": "y"}}
)


def _source(make, paths, schema=SCHEMA, **data):
    return build_source(make.prepare(make.config(rows=paths, data=data), schema), training=True)


def _train(source, batch=10, count=None, seed=1, step=0, sizes=None):
    """The labels of the first batches, as lists."""
    input_fn = make_train_input_fn(
        source, SCHEMA, BatchSchedule(sizes or (lambda _: batch), step), (seed,)
    )
    batches = input_fn().as_numpy_iterator()
    return [labels.tolist() for _, labels in itertools.islice(batches, count)]


def _flat(batches):
    return [value for batch in batches for value in batch]


@pytest.mark.parametrize("window", [1, 13, 40, ROWS, 10_000])
def test_every_row_appears_once_per_epoch(make, numbered, window):
    source = _source(make, numbered, shuffle_rows=window)
    seen = _flat(_train(source, count=30))
    for epoch in range(3):
        assert sorted(seen[epoch * ROWS : (epoch + 1) * ROWS]) == list(range(ROWS))


@pytest.mark.parametrize("window", [1, 13, 10_000])
@pytest.mark.parametrize("batch", [1, 7, 64, 250])
def test_batches_have_exactly_the_batch_size_across_epochs(make, numbered, window, batch):
    source = _source(make, numbered, shuffle_rows=window)
    batches = _train(source, batch=batch, count=2 + 3 * ROWS // batch)
    assert {len(rows) for rows in batches} == {batch}
    rows = _flat(batches)
    for epoch in range(len(rows) // ROWS):
        assert sorted(rows[epoch * ROWS : (epoch + 1) * ROWS]) == list(range(ROWS))


def test_the_batch_size_follows_its_schedule(make, numbered):
    source = _source(make, numbered)
    batches = _train(source, count=6, step=3, sizes=lambda step: 5 if step < 5 else 20)
    assert [len(rows) for rows in batches] == [5, 5, 20, 20, 20, 20]


@pytest.mark.parametrize("window", [13, 10_000])
def test_the_seed_determines_the_order(make, numbered, window):
    first = _train(_source(make, numbered, shuffle_rows=window), count=20)
    again = _train(_source(make, numbered, shuffle_rows=window), count=20)
    other = _train(_source(make, numbered, shuffle_rows=window), count=20, seed=2)
    assert first == again
    assert first != other


@pytest.mark.parametrize("window", [13, 10_000])
def test_each_epoch_and_each_restart_has_another_order(make, numbered, window):
    source = _source(make, numbered, shuffle_rows=window)
    rows = _flat(_train(source, count=20))
    assert rows[:ROWS] != rows[ROWS:]
    # A run restarted at step 10 does not begin with the rows of the first start.
    restarted = _flat(_train(source, count=10, step=10))
    assert restarted != rows[:ROWS]
    assert sorted(restarted) == sorted(rows[:ROWS])


def test_shuffling_mixes_files(make, numbered):
    first = _flat(_train(_source(make, numbered), count=1, batch=20))
    assert min(first) < 60 <= max(first)


def test_windows_of_one_row_keep_the_order(make, numbered):
    rows = _flat(_train(_source(make, numbered, shuffle_rows=1), count=20))
    assert rows == [*range(ROWS), *range(ROWS)]


@pytest.mark.parametrize("batch", [1, 7, 64, 100, 1000])
def test_evaluation_is_one_pass_in_order(make, numbered, batch):
    dataset = make_eval_input_fn(_source(make, numbered), SCHEMA, batch)()
    batches = [labels.tolist() for _, labels in dataset.as_numpy_iterator()]
    assert _flat(batches) == list(range(ROWS))
    assert all(len(rows) == batch for rows in batches[:-1])
    assert len(batches) == -(-ROWS // batch)


def test_an_input_fn_can_be_called_again(make, numbered):
    input_fn = make_eval_input_fn(_source(make, numbered), SCHEMA, 30)
    for _ in range(2):
        assert len(list(input_fn())) == 4


def test_types_of_features_and_labels(make, shop):
    import tensorflow as tf

    for label, kind in {
        "price": tf.float32,
        "bought": tf.string,
        "flag": tf.int64,
        "grade": tf.int64,
        "size": tf.string,
        "colour": tf.string,
    }.items():
        schema = make.schema(label, weight=True)
        features, labels = make_eval_input_fn(
            _source(make, shop / "train.csv", schema), schema, 8
        )().element_spec
        assert labels.dtype == kind and labels.shape.as_list() == [None]
        assert set(features) == {"age", "hours", "city", "job", "level", "id", "w"}
        assert features["age"].dtype == tf.float32
        assert features["hours"].dtype == tf.int64
        assert features["city"].dtype == tf.string


def test_integer_classes_become_text(make, shop):
    schema = make.schema("size")
    dataset = make_eval_input_fn(_source(make, shop / "train.csv", schema), schema, 600)()
    _, labels = next(dataset.as_numpy_iterator())
    assert set(labels.tolist()) == {b"10", b"20", b"30"}


def test_training_leaves_no_thread_behind(make, numbered):
    before = threading.active_count()
    for _ in range(3):
        _train(_source(make, numbered), count=2)
    assert threading.active_count() <= before + 2


def test_a_file_damaged_during_training_is_recorded_as_the_cause(make, tmp_path):
    import tensorflow as tf

    path = tmp_path / "a.csv"
    rows = [{"x": float(number), "y": 1.0} for number in range(50)]
    make.csv(path, rows)
    source = _source(make, path, shuffle_rows=10)
    path.write_text("x,y\n1,2\nbad,3\n")
    with pytest.raises(tf.errors.OpError):
        _train(source, count=3)
    assert "row 3, column x: 'bad'" in str(source.error)


def test_values_are_unchanged(make, tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(size=500).astype(np.float32)
    path = make.csv(tmp_path / "a.csv", [{"x": float(v), "y": float(v)} for v in values])
    dataset = make_eval_input_fn(_source(make, path), SCHEMA, 128)()
    seen = np.concatenate([features["x"] for features, _ in dataset.as_numpy_iterator()])
    np.testing.assert_array_equal(seen, values)
