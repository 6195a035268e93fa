"""WALSMatrixFactorization as an Estimator, and WALSModel in a loop of a program."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.contrib.factorization import WALSMatrixFactorization

from estimator_bridge.tf1.contrib.factorization.outer_products import sum_outer_products

ROWS, COLUMNS = 12, 9
RANDOM = np.random.RandomState(0)
MATRIX = RANDOM.normal(size=[ROWS, 2]).dot(RANDOM.normal(size=[2, COLUMNS])).astype(np.float32)


def entries(matrix, numbers):
    """Returns the entries of some rows of a matrix, with the row numbers of the whole matrix."""
    indices = [[row, column] for row in numbers for column in range(matrix.shape[1])]
    values = [matrix[row, column] for row, column in indices]
    return tf.SparseTensor(indices, np.array(values, np.float32), matrix.shape)


def input_fn(batch=5, **more):
    """Returns batches that alternate between rows and columns, forever."""

    def read(matrix):
        batches = [
            list(range(start, len(matrix)))[:batch] for start in range(0, len(matrix), batch)
        ]
        datasets = [tf.data.Dataset.from_tensors(entries(matrix, one)) for one in batches]
        dataset = datasets[0]
        for one in datasets[1:]:
            dataset = dataset.concatenate(one)
        return dataset.repeat().make_one_shot_iterator().get_next()

    features = {
        WALSMatrixFactorization.INPUT_ROWS: read(MATRIX),
        WALSMatrixFactorization.INPUT_COLS: read(MATRIX.T.copy()),
    }
    return dict(features, **{name: tf.constant(value) for name, value in more.items()}), None


@pytest.mark.parametrize("shards", [1, 2])
def test_training_recovers_the_matrix(tmp_path, shards):
    estimator = WALSMatrixFactorization(
        ROWS,
        COLUMNS,
        2,
        unobserved_weight=0.1,
        regularization_coeff=1e-4,
        num_row_shards=shards,
        num_col_shards=shards,
        max_sweeps=16,
        model_dir=str(tmp_path),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    estimator.fit(input_fn=input_fn, steps=1000)
    # A sweep over the rows has 3 batches, a sweep over the columns 2.
    assert estimator.get_variable_value("global_step") == 8 * (3 + 2)
    rows, columns = estimator.get_row_factors(), estimator.get_col_factors()
    assert [len(part) for part in columns] == ([9] if shards == 1 else [5, 4])
    product = np.concatenate(rows).dot(np.concatenate(columns).T)
    np.testing.assert_allclose(product, MATRIX, atol=0.01)
    result = estimator.evaluate(input_fn=input_fn, steps=3)
    # As in 1.15, the weighted error is no metric; the rest of the loss is the regularization.
    assert set(result) == {"loss", "global_step"}
    assert result["loss"] < 0.05

    def one_row():
        row = tf.SparseTensor([[4, column] for column in range(COLUMNS)], MATRIX[4], MATRIX.shape)
        return {WALSMatrixFactorization.INPUT_ROWS: row, "project_row": tf.constant(True)}

    # The input repeats forever, and so do the projections.
    projected = next(estimator.get_projections(one_row))
    np.testing.assert_allclose(projected, np.concatenate(rows)[4], atol=1e-3)


def test_projections_solve_the_equations_of_a_row(tmp_path):
    """Covers partial entries, given weights, and both projections selected by a cond."""
    columns = RANDOM.normal(size=[COLUMNS, 2]).astype(np.float32)
    weights = RANDOM.uniform(size=COLUMNS)
    estimator = WALSMatrixFactorization(
        ROWS,
        COLUMNS,
        2,
        unobserved_weight=0.3,
        regularization_coeff=0.7,
        row_init=np.zeros([ROWS, 2], np.float32),
        col_init=columns,
        row_weights=2.0,
        col_weights=[weights],
        model_dir=str(tmp_path),
    )
    observed = {3: 1.5, 7: -2.0}

    def read():
        row = tf.SparseTensor([[6, c] for c in observed], list(observed.values()), MATRIX.shape)
        return {
            WALSMatrixFactorization.INPUT_ROWS: row,
            WALSMatrixFactorization.INPUT_COLS: row,
            WALSMatrixFactorization.PROJECT_ROW: tf.constant(True),
            WALSMatrixFactorization.PROJECTION_WEIGHTS: tf.constant(0.5),
        }, None

    estimator.fit(input_fn=read, steps=1)

    def best(row_weight):
        weight = np.full(COLUMNS, 0.3)
        target = np.zeros(COLUMNS)
        for column, value in observed.items():
            weight[column] += row_weight * weights[column]
            target[column] = value
        left = (columns.T * weight).dot(columns) + 0.7 * np.eye(2)
        return np.linalg.solve(left, (columns.T * weight).dot(target))

    np.testing.assert_allclose(estimator.get_row_factors()[0][6], best(2.0), rtol=1e-4)
    np.testing.assert_array_equal(estimator.get_col_factors()[0], columns)
    np.testing.assert_allclose(next(estimator.get_projections(read)), best(0.5), rtol=1e-4)
    with pytest.raises(ValueError, match="both or neither must be None"):
        WALSMatrixFactorization(ROWS, COLUMNS, 2, row_weights=None)


def test_export_with_a_1x_serving_function(tmp_path):
    """The rows are built from placeholders and returned in InputFnOps."""
    estimator = WALSMatrixFactorization(ROWS, COLUMNS, 2, model_dir=str(tmp_path / "job"))
    estimator.fit(input_fn=input_fn, steps=3)

    def serving_input_fn():
        user = tf.placeholder(tf.int64, [1], name="user")
        items = tf.range(COLUMNS, dtype=tf.int64)
        indices = tf.stack([user * tf.ones([COLUMNS], tf.int64), items], axis=1)
        row = tf.SparseTensor(indices, tf.fill([COLUMNS], 0.1), (ROWS, COLUMNS))
        features = {
            WALSMatrixFactorization.INPUT_ROWS: row,
            WALSMatrixFactorization.INPUT_COLS: row,
            WALSMatrixFactorization.PROJECT_ROW: tf.equal(user[0], user[0]),
        }
        return tf.contrib.learn.InputFnOps(features, None, {"user": user})

    export = estimator.export_savedmodel(str(tmp_path / "export"), serving_input_fn)
    predict = tf.contrib.predictor.from_saved_model(export)
    assert predict({"user": [3]})["projection"].shape == (1, 2)


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_a_checkpoint_of_an_earlier_version_is_resumed(tmp_path, side):
    """It had the factors, and a sweep's end was the start of the next one."""
    rows, columns = RANDOM.normal(size=[ROWS, 2]), RANDOM.normal(size=[COLUMNS, 2])
    old = {
        "row_factors_shard_0": rows.astype(np.float32),
        "col_factors_shard_0": columns.astype(np.float32),
        "on_rows": np.array(side == "rows"),
        "completed_sweeps": np.array(2 if side == "rows" else 1, np.int32),
        "processed_rows": np.zeros(ROWS, bool),
        "processed_cols": np.zeros(COLUMNS, bool),
        "global_step": np.array(6, np.int64),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        save = tf.raw_ops.SaveV2(
            prefix=str(tmp_path / "model.ckpt-6"),
            tensor_names=list(old),
            shape_and_slices=[""] * len(old),
            tensors=[tf.constant(value) for value in old.values()],
        )
        session.run(save)
    tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "model.ckpt-6"))
    estimator = WALSMatrixFactorization(
        ROWS, COLUMNS, 2, regularization_coeff=1.0, model_dir=str(tmp_path)
    )
    # Without training, the gramians must be those of the factors.
    expected = estimator.evaluate(input_fn=input_fn, steps=1)["loss"]
    estimator.fit(input_fn=lambda: input_fn(batch=20), steps=1)
    found = estimator.get_row_factors()[0], estimator.get_col_factors()[0]
    changed = [not np.allclose(one, old[name]) for one, name in zip(found, list(old)[:2])]
    assert changed == ([True, False] if side == "rows" else [False, True])
    assert estimator.get_variable_value("completed_sweeps") == old["completed_sweeps"] + 1
    if side == "rows":
        # The rows of the first batch were projected in the evaluation.
        result = estimator.evaluate(input_fn=input_fn, steps=1)["loss"]
        np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "places",
    [
        [],
        [0],
        [2, 0, 1, 0, 2, 2],
        [0] * 7 + [1],
        [1, 0, 0, 0, 0, 0, 0, 2, 3, 4],
        list(RANDOM.permutation(np.repeat(np.arange(30), RANDOM.zipf(1.5, 30) % 50 + 1))),
    ],
)
def test_sums_of_outer_products(run, places):
    """The entries of a place need not follow each other, and some places have many more."""
    places = np.array(places, np.int32)
    vectors = RANDOM.normal(size=[len(places), 3]).astype(np.float32)
    weights = RANDOM.uniform(size=len(places)).astype(np.float32)
    count = int(places.max(initial=-1)) + 1
    expected = np.zeros([count, 3, 3])
    for place, vector, weight in zip(places, vectors, weights):
        expected[place] += weight * np.outer(vector, vector)
    found = run(sum_outer_products(vectors, weights, tf.constant(places), tf.constant(count)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_model_is_trained_by_its_operations():
    """As recommenders of 2017 do, which import the module that defines it."""
    from tensorflow.contrib.factorization.python.ops import factorization_ops

    rows, columns = np.nonzero(MATRIX)
    with tf.Graph().as_default():
        matrix = tf.SparseTensor(np.stack([rows, columns], 1), MATRIX[rows, columns], MATRIX.shape)
        model = factorization_ops.WALSModel(
            *MATRIX.shape, 2, regularization=0.01, row_weights=np.ones(MATRIX.shape[0])
        )
        _, by_rows, loss, penalty, _ = model.update_row_factors(sp_input=matrix)
        by_columns = model.update_col_factors(sp_input=matrix)[1]
        losses = []
        with tf.Session() as session:
            session.run(model.initialize_op)
            session.run(model.worker_init)
            for _ in range(20):
                session.run(model.row_update_prep_gramian_op)
                session.run(model.initialize_row_update_op)
                losses.append(sum(session.run([loss, penalty])))
                session.run(by_rows)
                session.run(model.col_update_prep_gramian_op)
                session.run(model.initialize_col_update_op)
                session.run(by_columns)
            factors = session.run([model.row_factors[0], model.col_factors[0]])
    assert all(later <= earlier * 1.001 for earlier, later in zip(losses, losses[1:]))
    assert losses[-1] < losses[0] / 2
    assert [one.shape for one in factors] == [(size, 2) for size in MATRIX.shape]


def test_rows_of_shards_are_written():
    shards = [tf.get_variable(name, initializer=tf.zeros([2, 1])) for name in ("a", "b")]
    write = tf.contrib.factorization.WALSModel.scatter_update

    def by_two(rows):
        return tf.convert_to_tensor(rows) // 2, tf.convert_to_tensor(rows) % 2

    divided = write(shards, [3, 0, 1], [[4.0], [1.0], [2.0]], by_two)
    single = write(shards[:1], [1], [[9.0]], None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(divided)
        assert [one.tolist() for one in session.run(shards)] == [[[1], [2]], [[0], [4]]]
        session.run(single)
        assert session.run(shards[0]).tolist() == [[1], [9]]
