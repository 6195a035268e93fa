"""Operations of a graph."""

import numpy as np
import tensorflow as tf


def test_add_is_the_operation_of_1_x():
    # Programs look for it by its type. It was AddV2.
    with tf.Graph().as_default(), tf.Session() as session:
        first, variable = tf.constant([2.0]), tf.Variable([3.0])
        totals = [
            tf.add(first, variable),
            tf.math.add(1.0, first, name="named"),
            tf.add(np.float32(1), np.ones(2, np.float32)),
            tf.add(["a"], "b"),
        ]
        assert [total.op.type for total in totals] == ["Add"] * 4
        assert [total.op.name for total in totals] == ["Add", "named", "Add_1", "Add_2"]
        resource = tf.get_variable("resource", [1], use_resource=True)
        assert tf.add(first, resource).op.type == "Add"
        assert (first + variable).op.type == "AddV2"
        session.run(variable.initializer)
        values = [value.tolist() for value in session.run(totals)]
        assert values == [[5.0], [3.0], [2.0, 2.0], [b"ab"]]
        (gradient,) = tf.gradients(totals[0], variable)
        assert session.run(gradient) == [1.0]
        ragged = tf.ragged.constant([[1], [2, 3]])
        assert session.run(tf.add(ragged, ragged)).to_list() == [[2], [4, 6]]


def test_a_slice_of_the_inputs_of_an_operation_is_a_list(run):
    add = tf.add_n([tf.constant(1.0), tf.constant(2.0), tf.constant(4.0)]).op
    assert run(tf.add_n(add.inputs[1:] + [add.outputs[0]])) == 13.0
    assert add.inputs[0].op.type == "Const" and len(add.inputs) == 3
    assert [add.inputs[0]] + add.inputs[1:] == list(add.inputs)
    assert add._outputs == add.outputs and add.outputs[0]._value_index == 0
    assert add.graph._last_id == add.graph._version == len(add.graph.get_operations())


def test_dependencies_on_an_operation_that_has_run_are_silent(capfd):
    # The core warned that the operation was changed after it was run.
    variable = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        with tf.control_dependencies([variable.initializer]):
            later = tf.constant(3.0)
        assert session.run(later) == 3.0
    assert later.op.control_inputs == [variable.initializer]
    assert "_has_manual_control_dependencies" not in variable.initializer.node_def.attr
    assert "was changed" not in capfd.readouterr().err


def test_a_transposed_convolution_has_the_shape_that_is_given(run):
    # Its batch was unknown where the input's is, so that programs could not reshape to its shape.
    images, kernel = tf.placeholder(tf.float32, [None, 2, 2, 6]), tf.ones([5, 5, 4, 6])
    found = tf.nn.conv2d_transpose(images, kernel, [8, 4, 4, 4], [1, 2, 2, 1])
    assert found.shape.as_list() == [8, 4, 4, 4]
    reshaped = tf.reshape(tf.nn.bias_add(found, tf.zeros([4])), found.get_shape())
    assert run(reshaped, {images: np.ones([8, 2, 2, 6])}).shape == (8, 4, 4, 4)
    widened = tf.nn.atrous_conv2d_transpose(images, tf.ones([3, 3, 4, 6]), [8, 4, 4, 4], 2, "SAME")
    assert widened.shape.as_list() == [8, 4, 4, 4]
    sizes = tf.stack([tf.shape(images)[0], 4, 4, 4])
    unknown = tf.nn.conv2d_transpose(images, kernel, sizes, [1, 2, 2, 1])
    assert unknown.shape.as_list() == [None, 4, 4, 4]
