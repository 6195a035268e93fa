"""Reads checkpoints of every format: of objects, and those without an index."""

import importlib.metadata

import numpy as np
import pytest
from conversions import assert_same, convert, make_rows, train

KERAS = importlib.metadata.version("keras")


def test_the_step_of_a_checkpoint(tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.convert.read.checkpoint import open_checkpoint

    def step_of(**objects):
        checkpoint = tf.train.Checkpoint(weight=tf.Variable([1.0]), **objects)
        return open_checkpoint(checkpoint.save(str(tmp_path / "model.ckpt"))).stored_step

    def counter(value):
        return tf.Variable(value, dtype=tf.int64)

    # Of model_to_estimator that saves by objects; its save_counter counts checkpoints, not steps.
    optimizer = tf.Module()
    optimizer.iter = counter(12)
    assert step_of(estimator_global_step=counter(30), optimizer=optimizer) == 30
    assert step_of(optimizer=optimizer) == 12
    assert step_of() is None


@pytest.mark.skipif(KERAS.startswith("2."), reason=f"installed: Keras {KERAS}")
@pytest.mark.parametrize("is_sharded", [False, True])
def test_partitioned_variables_in_the_format_v1(is_sharded, tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.convert.read.checkpoint import open_checkpoint

    v1 = tf.compat.v1
    features, labels = make_rows()
    column = tf.feature_column.categorical_column_with_hash_bucket("color", 20)
    built = v1.estimator.DNNClassifier(
        [4],
        [tf.feature_column.embedding_column(column, 3)],
        str(tmp_path),
        input_layer_partitioner=v1.fixed_size_partitioner(3),
    )
    train(tf, built, features, labels)
    newest = open_checkpoint(str(tmp_path))
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(f"{newest.path}.meta").restore(session, newest.path)
        saver = v1.train.Saver(write_version=v1.train.SaverDef.V1, sharded=is_sharded)
        saver.save(session, str(tmp_path / "old.ckpt"), global_step=9)
    assert not (tmp_path / "old.ckpt-9.index").exists()
    found = open_checkpoint(str(tmp_path / "old.ckpt-9"))
    assert found.path == open_checkpoint(str(tmp_path)).path
    assert found.path.endswith("-?????-of-00001") == is_sharded
    assert (found.names, found.step) == (newest.names, newest.step)
    for name in newest.names:
        if not name.endswith("/Adagrad"):
            np.testing.assert_array_equal(found.get(name), newest.get(name))
        elif not name.endswith(("t_1/Adagrad", "t_2/Adagrad")):
            np.testing.assert_array_equal(found.get_slot(name), newest.get_slot(name))
    plan, converted = convert(built)
    assert converted.notes == []
    assert assert_same(built, converted, plan, features, labels, steps=20) < 1e-5


def test_damaged_values_are_one_line(tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.convert.read.checkpoint import open_checkpoint
    from estimator_bridge.errors import BridgeError

    path = tf.train.Checkpoint(weight=tf.Variable([1.0, 2.0])).save(str(tmp_path / "model.ckpt"))
    (shard,) = tmp_path.glob("*.data-*")
    shard.write_bytes(b"\xff" * len(shard.read_bytes()))
    with pytest.raises(BridgeError, match=r"weight/.* cannot be read .*; copy the files again"):
        open_checkpoint(path).get("weight/.ATTRIBUTES/VARIABLE_VALUE")
