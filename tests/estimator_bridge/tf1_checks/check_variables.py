"""Variables of a graph, and the losses of their regularizers."""

import pytest
import tensorflow as tf

LOSS = "w/Regularizer/l2_regularizer:0"


def _l2():
    return tf.contrib.layers.l2_regularizer(0.5)


def test_the_loss_of_a_regularizer_is_a_tensor(graph, run):
    # It was an object that added the operations again with each use.
    variable = tf.get_variable("w", [2], initializer=tf.ones_initializer(), regularizer=_l2())
    (loss,) = tf.losses.get_regularization_losses()
    assert loss is graph.get_tensor_by_name(LOSS) and loss == loss
    assert loss.op.colocation_groups() == variable.op.colocation_groups() == [b"loc:@w"]
    before = len(graph.get_operations())
    total = tf.add_n([loss + 1.0, loss * 2.0])
    assert len(graph.get_operations()) == before + 5
    assert [user.name for user in loss.consumers()] == ["add", "mul"]
    with tf.control_dependencies([loss]):
        tf.group(loss)
    tf.train.ExponentialMovingAverage(0.9).apply([loss])
    assert run([loss, total]) == [0.5, 2.5]


def test_a_regularizer_is_applied_once_to_each_new_variable():
    given = []

    def regularize(variable):
        given.append(variable.op.name)
        return tf.identity(1.0, name="loss") if len(given) < 4 else None

    with tf.variable_scope("a", regularizer=regularize):
        tf.get_variable("whole", [2])
        tf.get_variable("resource", [2], use_resource=True)
    with tf.variable_scope("a", regularizer=regularize, reuse=tf.AUTO_REUSE):
        tf.get_variable("whole", [2])
        partitioner = tf.fixed_size_partitioner(2)
        tf.get_variable("parts", [2], partitioner=partitioner)
        tf.get_variable("parts", [2], partitioner=partitioner)
        tf.get_variable("without", [2], regularizer=tf.no_regularizer)
    assert given == ["a/whole", "a/resource", "a/parts/part_0", "a/parts/part_1"]
    names = [loss.name for loss in tf.losses.get_regularization_losses()]
    assert names == [f"{name}/Regularizer/loss:0" for name in given[:3]]


def test_the_loss_of_a_variable_that_a_loop_makes_is_outside_of_the_loop(run):
    def body(count):
        ones = tf.ones_initializer()
        return count + tf.get_variable(
            "w", [], initializer=ones, regularizer=_l2(), use_resource=True
        )

    with tf.control_dependencies([tf.constant(0)]):
        tf.while_loop(lambda count: count < 3.0, body, [0.0])
    (loss,) = tf.losses.get_regularization_losses()
    assert not loss.op.control_inputs
    # A session cannot fetch what is in a loop.
    assert run(loss) == 0.25


def test_the_initialized_value_of_a_resource_variable():
    # It raised NotImplementedError.
    given = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    value = given.initialized_value()
    assert value.name == "cond/Merge:0" and value.shape == [2]
    other = tf.Variable(value * 2.0)
    with tf.Session() as session:
        session.run(other.initializer)
        assert session.run(other).tolist() == [2.0, 4.0]
        session.run(given.initializer)
        session.run(given.assign([5.0, 6.0]))
        assert session.run(value).tolist() == [5.0, 6.0]


def test_replicas_share_the_loss_of_a_regularizer(tmp_path):
    # 1.15.5 computes the loss from the copy of the first replica for all of them.
    def model_fn(features, labels, mode):
        ones = tf.ones_initializer()
        weights = tf.get_variable("w", [3, 1], initializer=ones, regularizer=_l2())
        loss = tf.reduce_mean(tf.matmul(features, weights) - labels)
        loss += tf.add_n(tf.losses.get_regularization_losses())
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def input_fn():
        return tf.data.Dataset.from_tensors((tf.ones([4, 3]), tf.zeros([4, 1]))).repeat()

    config = tf.estimator.RunConfig(
        train_distribute=tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
        session_config=tf.ConfigProto(device_count={"CPU": 2}),
    )
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), config)
    estimator.train(input_fn, steps=2)
    assert estimator.get_variable_value("w").ravel().tolist() == pytest.approx([0.753125] * 3)
