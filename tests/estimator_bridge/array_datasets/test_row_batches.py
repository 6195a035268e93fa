"""Batches that are gathered at once are those that tf.data makes of rows."""

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.array_datasets import autotuning, row_batches
from estimator_bridge.process import batch_first

pytestmark = pytest.mark.versions

ROWS = 50
ARRAYS = (
    {
        "number": np.arange(ROWS, dtype=np.float32),
        "text": np.array([str(row) for row in range(ROWS)]),
        "vector": np.arange(3 * ROWS).reshape(ROWS, 3),
    },
    np.arange(ROWS) % 2 == 0,
)
V1 = tf.compat.v1


@pytest.fixture(autouse=True)
def pays(monkeypatch):
    """Lets the exchange pay for few rows, too."""
    monkeypatch.setattr(row_batches, "_FEWEST_IN_BATCH", 1)
    monkeypatch.setattr(row_batches, "_FEWEST", 1)


def slices():
    return tf.data.Dataset.from_tensor_slices(ARRAYS)


def slices_of_1x():
    return V1.data.Dataset.from_tensor_slices(ARRAYS)


def gathers(graph):
    return any("estimator_bridge_batches" in one.name for one in graph.get_operations())


def read_all(session, element, most=200):
    """Returns all elements, and what ended them."""
    found = []
    while len(found) < most:
        try:
            found.append([np.asarray(one).tolist() for one in session.run(element)])
        except tf.errors.OpError as error:
            return found, type(error), error.message.partition("[[")[0].partition("\n")[0]
    return found, None, None


def read(make, monkeypatch, is_wanted):
    """Returns all elements of an iterator, what ended them, and whether batches are gathered."""
    monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
    with tf.Graph().as_default() as graph:
        V1.set_random_seed(7)
        made = make()
        following = V1.data.make_initializable_iterator(made)
        element = tf.nest.flatten(following.get_next())
        # The seed of what follows is the same, too.
        later = V1.random_uniform([3])
        with V1.Session() as session:
            session.run(following.initializer)
            found = [str(made.element_spec), *read_all(session, element)]
            session.run(following.initializer)
            return [*found, *read_all(session, element), session.run(later).tolist()], gathers(
                graph
            )


def captured():
    batches = slices().batch(9)
    return tf.data.Dataset.range(3).flat_map(lambda _: batches)


def twice():
    batches = slices().shuffle(9).batch(7)
    return tf.data.Dataset.zip((batches, batches))


SAME = {
    "plain": lambda: slices().batch(7),
    "dropped": lambda: slices().batch(7, drop_remainder=True).repeat(3),
    "parallel": lambda: slices().repeat(2).batch(7, num_parallel_calls=2).skip(1),
    "unordered": lambda: slices().batch(50, num_parallel_calls=2, deterministic=False),
    "shuffled": lambda: slices().shuffle(20, seed=3).repeat(2).batch(7),
    "same order": lambda: (
        slices().shuffle(20, 3, reshuffle_each_iteration=False).repeat(2).batch(7)
    ),
    "graph seed": lambda: slices().shuffle(ROWS).repeat(2).take(33).batch(4).prefetch(1),
    "shuffled batches": lambda: slices().batch(7).shuffle(5).repeat(2),
    "options": lambda: slices().skip(3).shard(2, 1).batch(7).with_options(tf.data.Options()),
    "1.x": lambda: slices_of_1x().shuffle(20, 5).repeat(2).batch(6),
    "mapped": lambda: slices().shuffle(9).batch(6).map(lambda x, y: (x["text"], y)).prefetch(2),
    "filtered": lambda: slices().batch(4).filter(lambda _, y: tf.size(y) == 4).unbatch().batch(3),
    "batches of batches": lambda: slices().batch(5).batch(3),
    "zipped": lambda: tf.data.Dataset.zip((slices().batch(9), slices().shuffle(9).batch(7))),
    "concatenated": lambda: slices().batch(9).concatenate(slices().shuffle(9).batch(7)),
    "interleaved": lambda: (
        slices().batch(9).interleave(lambda *rows: tf.data.Dataset.from_tensors(rows), 2)
    ),
    "captured": captured,
    "twice": twice,
    "wrapped": lambda: slices().repeat(3).batch(7),
    "wrapped and cut": lambda: slices().skip(3).repeat(3).skip(50).take(61).prefetch(1).batch(7),
    "cut, and without end": lambda: slices().take(9).repeat().skip(5).repeat(2).take(99).batch(4),
    "without end": lambda: slices().repeat().batch(40).take(9),
    "all taken": lambda: slices().take(-1).repeat(1).take(80).batch(7, drop_remainder=True),
    "all skipped": lambda: slices().skip(-1).batch(7).concatenate(slices().skip(60).batch(7)),
    "nothing": lambda: slices().repeat(0).repeat().batch(7).concatenate(slices().batch(9)),
    "other types": lambda: tf.data.Dataset.from_tensor_slices(
        tuple(np.ones(9, t) for t in (np.float16, np.uint8, np.int16, np.complex64, np.float64))
    ).batch(2),
    "a random array": lambda: tf.data.Dataset.from_tensor_slices(V1.random_uniform([20])).batch(3),
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_the_elements_are_the_same(make, monkeypatch):
    expected, was_gathered = read(make, monkeypatch, False)
    found, is_gathered = read(make, monkeypatch, True)
    assert found == expected
    assert is_gathered and not was_gathered


def rows_of_one_shuffle():
    shuffled = slices().shuffle(9)
    return tf.data.Dataset.zip((shuffled.batch(7), shuffled.batch(7)))


OTHERS = {
    "mapped before": lambda: slices().map(lambda *row: row).batch(7),
    "no batches": slices,
    "one element": lambda: tf.data.Dataset.from_tensors(ARRAYS).batch(1),
    "padded": lambda: slices().padded_batch(7),
    "one generator for two": rows_of_one_shuffle,
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_datasets_stay_as_they_are(make, monkeypatch):
    expected, _ = read(make, monkeypatch, False)
    assert read(make, monkeypatch, True) == (expected, False)


def test_sparse_and_ragged_rows_stay_as_they_are(monkeypatch):
    def sparse():
        values = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        return tf.data.Dataset.from_tensor_slices((values, [1, 2])).batch(2).map(lambda x, y: y)

    def ragged():
        values = tf.ragged.constant([[1], [2, 3]])
        return tf.data.Dataset.from_tensor_slices(values).batch(2).map(lambda x: (x.flat_values,))

    for make in (sparse, ragged):
        assert not read(make, monkeypatch, True)[1]


@pytest.mark.parametrize(
    ("rows", "batch", "repeat", "pays"),
    [
        (40_000, 100, 1, True),
        (20_000, 100, 1, False),
        (20_000, 100, 2, True),
        (100, 100, -1, True),
        (100_000, 43, -1, True),
        (100_000, 42, -1, False),
    ],
)
def test_few_rows_and_small_batches_stay_as_they_are(rows, batch, repeat, pays, monkeypatch):
    monkeypatch.undo()
    with tf.Graph().as_default() as graph:
        arrays = tuple(np.zeros(rows, np.int8) for _ in range(3))
        dataset = tf.data.Dataset.from_tensor_slices(arrays).repeat(repeat).batch(batch)
        V1.data.make_initializable_iterator(dataset)
        assert gathers(graph) == pays


@pytest.mark.parametrize("shape", [None, [None], [None, 2]])
@pytest.mark.parametrize("drop_remainder", [True, False])
def test_arrays_that_are_fed(shape, drop_remainder, monkeypatch):
    def run(is_wanted):
        monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
        with tf.Graph().as_default() as graph:
            fed = (V1.placeholder(tf.int64, shape), V1.placeholder(tf.string, [None]))
            size = V1.placeholder(tf.int64, [])
            made = tf.data.Dataset.from_tensor_slices(fed).shuffle(5, seed=1)
            made = made.batch(size, drop_remainder=drop_remainder)
            following = V1.data.make_initializable_iterator(made)
            element = following.get_next()
            assert gathers(graph) == is_wanted
            found = [str(one.shape) for one in element]

            def start(rows, texts, batch=4):
                values = np.arange(rows) if shape == [None] else np.ones([rows, 2])
                feed = {fed[0]: values, fed[1]: np.array(["x"] * texts, object), size: batch}
                session.run(following.initializer, feed)
                return read_all(session, element)

            with V1.Session() as session:
                found += [start(rows, rows) for rows in (9, 4, 0)]
                for wrong in ((4, 5), (4, 4, 0)):
                    with pytest.raises(tf.errors.InvalidArgumentError) as error:
                        start(*wrong)
                    found.append(error.value.message.partition("\n\t [[")[0].splitlines()[-1])
                return found

    assert run(True) == run(False)


def test_one_shot_iterators_and_those_of_a_structure(monkeypatch):
    def run(is_wanted):
        monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
        with tf.Graph().as_default() as graph:
            V1.set_random_seed(3)
            first, second = slices().shuffle(9).batch(7), slices().repeat(2).shuffle(9).batch(8)
            once = V1.data.make_one_shot_iterator(first.map(lambda x, y: x["text"])).get_next()
            chosen = tf.constant([[1], [2], [3]]), tf.constant([True, False, True])
            # The number of rows is not known before the session.
            masked = tf.data.Dataset.from_tensor_slices(tf.boolean_mask(*chosen)).batch(2)
            masked = V1.data.make_one_shot_iterator(masked).get_next()
            of_both = V1.data.Iterator.from_structure(
                V1.data.get_output_types(first), V1.data.get_output_shapes(first)
            )
            starts = [of_both.make_initializer(one) for one in (first, second)]
            element = tf.nest.flatten(of_both.get_next())
            assert gathers(graph) == is_wanted
            with V1.Session() as session:
                found = [read_all(session, [once]), read_all(session, [masked])]
                for start in starts * 2:
                    session.run(start)
                    found.append(read_all(session, element))
        return found

    assert run(True) == run(False)


def test_two_iterators_share_one_generator_of_random_numbers(monkeypatch):
    def run(is_wanted):
        monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
        with tf.Graph().as_default():
            dataset = slices().shuffle(50, seed=2).batch(50)
            both = [V1.data.make_initializable_iterator(dataset) for _ in range(2)]
            elements = [one.get_next()[1] for one in both]
            with V1.Session() as session:
                session.run([one.initializer for one in both])
                # Which of them is the first to draw is a matter of chance.
                return sorted(session.run(elements), key=lambda one: one.tolist())

    assert np.array_equal(run(True), run(False))
    assert not np.array_equal(*run(True))


@pytest.mark.parametrize("is_mapped", [True, False])
def test_the_place_in_the_rows_is_saved_and_restored(is_mapped, monkeypatch, tmp_path):
    def run(is_wanted):
        monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
        path = str(tmp_path / f"place-{is_wanted}")
        with tf.Graph().as_default():
            dataset = slices().shuffle(20, seed=2).repeat(2).batch(7)
            if is_mapped:
                dataset = dataset.map(lambda x, y: (x["text"], y))
            following = V1.data.make_initializable_iterator(dataset)
            element = tf.nest.flatten(following.get_next())
            place = tf.data.experimental.make_saveable_from_iterator(following)
            V1.add_to_collection(V1.GraphKeys.SAVEABLE_OBJECTS, place)
            saver = V1.train.Saver([place])
            with V1.Session() as session:
                session.run(following.initializer)
                for _ in range(4):
                    session.run(element)
                saver.save(session, path, write_meta_graph=False)
                expected = read_all(session, element)
            with V1.Session() as session:
                session.run(following.initializer)
                saver.restore(session, path)
                assert read_all(session, element) == expected
        return expected

    assert run(True) == run(False)


def test_an_estimator_trains_with_them_and_says_so_once(monkeypatch, capsys):
    batch_first.announce.cache_clear()

    def run(is_wanted):
        monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
        rows = ({"x": np.arange(64, dtype=np.float32) / 64}, np.arange(64) % 2)
        model = V1.estimator.LinearClassifier(
            [tf.feature_column.numeric_column("x")],
            config=tf.estimator.RunConfig(tf_random_seed=1),
        )
        model.train(
            lambda: tf.data.Dataset.from_tensor_slices(rows).shuffle(64).repeat().batch(8), steps=20
        )
        return model.get_variable_value("linear/linear_model/x/weights").tolist()

    expected = run(False)
    assert "gathered" not in capsys.readouterr().err
    assert [run(True), run(True)] == [expected, expected]
    assert capsys.readouterr().err.count("gathered at once") == 1


def tuned(is_enabled):
    options = tf.data.Options()
    options.autotune.enabled = is_enabled
    return slices().batch(7).with_options(options)


@pytest.mark.parametrize(
    ("make", "is_off", "prefetched"),
    [
        (lambda: slices().shuffle(9).repeat().batch(7), True, [2]),
        (lambda: slices().batch(7).repeat().prefetch(1), True, [1]),
        (lambda: slices().batch(7).prefetch(3).with_options(tf.data.Options()), True, [3]),
        (lambda: slices().batch(7).map(lambda x, y: y).prefetch(1), False, [1]),
        (lambda: slices().batch(7).batch(3), False, []),
        (lambda: tuned(True), False, []),
        (lambda: tuned(False), True, []),
    ],
)
def test_no_thread_tunes_what_only_gathers(make, is_off, prefetched, recwarn):
    from tensorflow.core.framework import dataset_options_pb2

    with tf.Graph().as_default() as graph:
        operation = V1.data.make_initializable_iterator(make()).initializer.inputs[0].op
        assert gathers(graph) and not recwarn.list
        sizes, enabled = [], None
        while operation.inputs and operation.inputs[0].dtype == tf.variant:
            if operation.type == "PrefetchDataset":
                sizes.append(int(tf.get_static_value(operation.inputs[1])))
            if operation.type == "OptionsDataset" and enabled is None:
                options = dataset_options_pb2.Options()
                options.ParseFromString(operation.get_attr("serialized_options"))
                if options.autotune_options.WhichOneof("optional_enabled"):
                    enabled = options.autotune_options.enabled
            operation = operation.inputs[0].op
        assert (enabled is False) == is_off and sizes == prefetched


def test_no_thread_tunes_how_the_numbers_of_rows_are_made():
    with tf.Graph().as_default():
        found = row_batches.number(slices().shuffle(9).repeat().batch(7).prefetch(1))
        assert autotuning.is_chosen(found.rows)
