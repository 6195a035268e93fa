"""trainer.inputs.encoded: the encoded rows of trainer.inputs.dataset, in the same order."""

import dataclasses
import itertools

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.environment.cluster_spec import ALONE
from trainer.inputs.feed import make_eval_input_fn, make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.models.build import build_preparation
from trainer.models.fused.rows import PLACES
from trainer.schema import Schema
from trainer.training.job import build_source, encode_sources

pytestmark = pytest.mark.newest

ROWS = 120
SCHEMA = {
    "columns": {
        "x": {"type": "float", "buckets": [20, 60], "normalize": "none"},
        "city": {"type": "string", "hash_buckets": 40_000},
        "kind": {"type": "string", "vocabulary": ["k1", "k2"]},
        "n": {"type": "int", "identities": 200},
        "w": {"type": "float"},
        "label": {"type": "string"},
    },
    "crosses": [{"columns": ["city", "x"], "hash_buckets": 1000}],
    "weight": "w",
    "label": {"column": "label", "vocabulary": ["no", "yes"]},
}


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    """Makes groups small: a whole group is read ahead, and 16,384 rows are 136 epochs."""
    monkeypatch.setattr("trainer.inputs.shuffle.GROUP_ROWS", 256)


@pytest.fixture(scope="module")
def paths(make, tmp_path_factory):
    """Three files of rows whose number x is unique."""
    folder = tmp_path_factory.mktemp("rows")
    rows = [
        {
            "x": float(number),
            "city": "" if number % 7 == 0 else f"c{number % 11}",
            "kind": f"k{number % 3}",
            "n": number,
            "w": 1 + number / 2,
            "label": "yes" if number % 2 else "no",
        }
        for number in range(ROWS)
    ]
    return [
        make.csv(folder / "a.csv", rows[:11]),
        make.parquet(folder / "b.parquet", rows[11:70], row_group_size=9),
        make.csv(folder / "c.csv", rows[70:]),
    ]


def _job(make, paths, cache="off", schema=SCHEMA, **data):
    config = make.config(rows=paths, data={"cache": str(cache), **data})
    return make.prepare(config, Schema.model_validate(schema))


def _encoded(job, training=True, cluster=ALONE):
    (rows,) = encode_sources(job, [build_source(job, training, cluster)])
    return rows


def _take(rows, job, count, batch, step=0, seed=1, count_at=None):
    schedule = BatchSchedule(lambda _: batch, step, count_at=count_at)
    input_fn = make_train_input_fn(rows, job.schema, schedule, (seed,))
    return list(itertools.islice(input_fn().as_numpy_iterator(), count))


def _x(batches):
    """Returns the encoded number x of each row."""
    return np.concatenate([features["numbers"][:, 0] for features, _ in batches]).tolist()


@pytest.mark.parametrize("batch", [7, 50])
@pytest.mark.parametrize("window", [1, 13, 10_000])
def test_rows_come_in_the_order_of_the_source(make, paths, tmp_path, window, batch):
    job = _job(make, paths, tmp_path, shuffle_rows=window)
    count = 3 * ROWS // batch
    raw = _take(build_source(job, True), job, count, batch, step=4)
    wanted = np.concatenate([features["x"] for features, _ in raw]).tolist()
    written = _encoded(job)
    assert written.origin == "text"
    kept = None
    for origin, rows in (("off", _encoded(_job(make, paths, shuffle_rows=window))), ("", written)):
        seen = _take(rows, job, count, batch, step=4)
        assert _x(seen) == wanted, origin
        kept = kept or seen
    later = _encoded(job)
    assert later.origin == "cache"
    again = _take(later, job, count, batch, step=4)
    for one, other, (features, labels) in zip(kept, again, raw):
        for name in ("ids", "numbers", "w"):
            np.testing.assert_array_equal(one[0][name], other[0][name])
        np.testing.assert_array_equal(one[0]["w"], features["w"])
        assert one[1].tolist() == other[1].tolist() == labels.tolist()


def test_ids_are_those_of_the_encoding(make, paths, tmp_path):
    job = _job(make, paths, tmp_path)
    features, _ = next(
        make_eval_input_fn(build_source(job, False), job.schema, ROWS)().take(1).as_numpy_iterator()
    )
    rows = _encoded(job)
    wanted = rows.encoding.encode({name: tf.constant(array) for name, array in features.items()})
    for origin in ("text", "cache"):
        rows = _encoded(job)
        assert rows.origin == origin
        (seen, _), *_ = make_eval_input_fn(rows, job.schema, ROWS)().as_numpy_iterator()
        np.testing.assert_array_equal(seen["ids"], wanted["ids"])
        np.testing.assert_array_equal(seen["numbers"], wanted["numbers"])
        assert seen["ids"].dtype == np.int32 and seen["ids"].min() == -1


def test_several_steps_are_stacked_in_one_element(make, paths, tmp_path):
    job = _job(make, paths, tmp_path, shuffle_rows=50)
    single = _take(_encoded(job), job, 20, 8, step=3)
    # Up to 4 steps, none across step 10, and an end at step 23.
    until = lambda step: min(4, (10 if step < 10 else 23) - step)  # noqa: E731
    stacked = _take(_encoded(job), job, 6, 8, step=3, count_at=until)
    assert [labels.shape for _, labels in stacked] == [(4, 8), (3, 8)] + 3 * [(4, 8)] + [(1, 8)]
    assert {features["ids"].shape[1:] for features, _ in stacked} == {(8, 5)}
    flat = [
        (features["numbers"][each], None)
        for features, _ in stacked
        for each in range(len(features["ids"]))
    ]
    np.testing.assert_array_equal(
        np.stack([each for each, _ in flat]), [one["numbers"] for one, _ in single]
    )


def test_a_size_that_never_changes_is_known(make, paths):
    job = _job(make, paths)
    for size in (None, 20):
        schedule = BatchSchedule(lambda step: 20, count_at=lambda _: 3, size=size)
        begin = build_preparation(job.config, job.schema, job.statistics).begin
        with tf.Graph().as_default():
            data = make_train_input_fn(_encoded(job), job.schema, schedule, (1,), begin)()
            features, labels = tf.nest.map_structure(
                lambda each: each.shape.as_list(), data.element_spec
            )
        assert labels == [None, size]
        by_row = {n: shape for n, shape in features.items() if len(shape) > 1 and PLACES not in n}
        assert len(by_row) > 3
        assert size is None or all(size in shape for shape in by_row.values()), by_row


def test_batches_of_different_sizes_are_not_stacked(make, paths):
    job = _job(make, paths)
    schedule = BatchSchedule(lambda step: 5 if step < 3 else 20, count_at=lambda _: 4)
    input_fn = make_train_input_fn(_encoded(job), job.schema, schedule, (1,))
    shapes = [labels.shape for _, labels in itertools.islice(input_fn().as_numpy_iterator(), 3)]
    assert shapes == [(3, 5), (4, 20), (4, 20)]


@pytest.mark.parametrize("batch", [1, 9, 40, 1000])
def test_evaluation_is_one_pass_in_order(make, paths, tmp_path, batch):
    job = _job(make, paths, tmp_path)
    for origin in ("text", "cache"):
        rows = _encoded(job, training=False)
        assert rows.origin == origin
        batches = list(make_eval_input_fn(rows, job.schema, batch)().as_numpy_iterator())
        assert _x(batches) == list(range(ROWS))
        assert [len(labels) for _, labels in batches[:-1]] == [batch] * (len(batches) - 1)


@pytest.mark.parametrize(
    "column, widths",
    [
        ({"w": {"type": "float"}}, (0, 1)),
        ({"kind": {"type": "string", "vocabulary": ["k1", "k2"]}}, (1, 0)),
    ],
    ids=["no ids", "no numbers"],
)
def test_columns_of_one_kind_alone(make, tmp_path, column, widths):
    path = make.csv(tmp_path / "a.csv", [{next(iter(column)): 1, "y": n} for n in range(ROWS)])
    schema = {"columns": {**column, "y": {"type": "float"}}, "label": {"column": "y"}}
    job = _job(make, [path], tmp_path / "kept", schema)
    batches = list(make_eval_input_fn(_encoded(job), job.schema, 50)().as_numpy_iterator())
    batches += _take(_encoded(job), job, 2, 50)
    for features, labels in batches:
        assert (features["ids"].shape[1], features["numbers"].shape[1]) == widths
        assert len(features["ids"]) == len(features["numbers"]) == len(labels)
    assert [len(labels) for _, labels in batches] == [50, 50, 20, 50, 50]


def test_autotuning_is_off(make, paths):
    job = _job(make, paths)
    for rows in (_encoded(job), build_source(job, True)):
        training = make_train_input_fn(rows, job.schema, BatchSchedule(lambda _: 50), (1,))
        evaluation = make_eval_input_fn(rows, job.schema, 50)
        assert [each().options().autotune.enabled for each in (training, evaluation)] == [False] * 2


def test_evaluation_shares_the_entry_of_training(make, paths, tmp_path):
    job = _job(make, paths, tmp_path)
    _take(_encoded(job), job, 1, 10)
    assert _encoded(job, training=False).origin == "cache"


@pytest.mark.parametrize("label", ["price", "bought", "flag", "grade", "size", "colour"])
def test_labels_and_weight_are_unchanged(make, shop, label, tmp_path):
    job = make.prepare(
        make.config(rows=shop / "train.csv", data={"cache": str(tmp_path)}),
        make.schema(label, weight=True),
    )
    wanted = make_eval_input_fn(build_source(job, False), job.schema, 100)()
    for _ in range(2):
        dataset = make_eval_input_fn(_encoded(job, training=False), job.schema, 100)()
        assert dataset.element_spec[1].dtype == wanted.element_spec[1].dtype
        for (one, labels), (features, expected) in zip(dataset, wanted):
            assert labels.numpy().tolist() == expected.numpy().tolist()
            assert one["w"].numpy().tolist() == features["w"].numpy().tolist()


def test_each_process_caches_its_shard(make, paths, tmp_path):
    spec = {"chief": ["a:1"], "worker": ["b:1", "c:1", "d:1"]}
    job = _job(make, paths, tmp_path)
    seen = []
    for index in range(3):
        cluster = dataclasses.replace(ALONE, spec=spec, role="worker", index=index)
        shares = []
        for origin in ("text", "cache"):
            rows = _encoded(job, cluster=cluster)
            assert rows.origin == origin
            shares.append(sorted(_x(list(_one_epoch(rows, job)))))
        assert shares[0] == shares[1]
        seen += shares[0]
    assert len(seen) == len(set(seen)) and 80 < len(seen) < ROWS


def _one_epoch(rows, job):
    return make_eval_input_fn(rows, job.schema, 50)().as_numpy_iterator()


def test_the_files_of_a_step_are_known(make, paths, tmp_path):
    job = _job(make, paths, tmp_path, shuffle_rows=1)
    for _ in range(2):
        rows = _encoded(job)
        _take(rows, job, 6, 10, step=5, count_at=lambda _: 3)
        assert rows.list_files_at(5) == [paths[0]]
        assert rows.list_files_at(6) == paths[:2]
        assert rows.list_files_at(7) == [paths[1]]
        assert rows.list_files_at(999_999) == []


def test_bad_rows_are_not_cached(make, tmp_path):
    path = tmp_path / "bad.csv"
    rows = [
        {"x": float(number), "city": "c", "kind": "k1", "n": 1, "w": 1, "label": "no"}
        for number in range(30)
    ]
    make.csv(path, rows)
    path.write_text(path.read_text().replace("7.0,c", "seven,c", 1))
    job = _job(make, path, tmp_path / "cache", max_bad_rows=3)
    for origin in ("text", "cache"):
        rows = _encoded(job)
        assert rows.origin == origin and job.train_scan.num_bad_rows == 1
        seen = _x(_one_epoch(rows, job))
        assert seen == [float(number) for number in range(30) if number != 7]


def test_a_file_damaged_during_training_is_recorded_as_the_cause(make, tmp_path):
    path = tmp_path / "a.csv"
    row = {"x": 1.0, "city": "c", "kind": "k1", "n": 1, "w": 1, "label": "no"}
    make.csv(path, [row] * 50)
    job = _job(make, path, tmp_path / "cache", shuffle_rows=10)
    rows = _encoded(job)
    path.write_text(path.read_text().replace("1.0,c", "bad,c"))
    with pytest.raises(tf.errors.OpError):
        _take(rows, job, 3, 10)
    assert "row 2, column x: 'bad'" in str(rows.error)
    assert _encoded(job).origin == "text"
