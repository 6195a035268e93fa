"""`tf.keras.experimental.export_saved_model`, which exported Keras models for servers until 2.0.

In `tf.contrib.saved_model` of 1.x, its name is `save_keras_model`. The folder is a SavedModel with
a graph for the tag `serve`, a checkpoint of the model, and the architecture in assets/. As in 1.15,
`load_from_saved_model` builds the model from the last two.
"""

import os

import tensorflow.compat.v1 as tf

from ..private_tf import checkpoint_util, graph_view

__all__ = ["export_saved_model", "load_from_saved_model"]

_ARCHITECTURE = "saved_model.json"
_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def export_saved_model(
    model,
    saved_model_path,
    custom_objects=None,
    as_text=False,
    input_signature=None,
    serving_only=False,
):
    """Writes a model as a SavedModel.

    TensorFlow 1.15 also writes graphs for the tags `train` and `eval` of a compiled model. They are
    left out.

    Args:
      model: functional or sequential Keras model; its input shapes must be known.
      saved_model_path: folder, which must be new or empty.
      custom_objects: name -> class or function that the architecture uses.
      as_text: whether the graph is written as text.
      input_signature: ignored: the signature is that of the model's inputs.
      serving_only: ignored: the architecture is written in any case.

    Raises:
      AssertionError: the folder has contents.
      NotImplementedError: the model is a subclass of tf.keras.Model with a `call` of its own.
      ValueError: the input shapes of a sequential model are not known.
    """
    del input_signature, serving_only
    _check(model)
    builder = tf.saved_model.Builder(saved_model_path)
    variables, assets = (os.path.join(saved_model_path, name) for name in ("variables", "assets"))
    for folder in (variables, assets):
        tf.io.gfile.makedirs(folder)
    model.save_weights(os.path.join(variables, "variables"), save_format="tf")
    with tf.io.gfile.GFile(os.path.join(assets, _ARCHITECTURE), "w") as file:
        file.write(model.to_json())
    backend = tf.keras.backend
    with tf.Graph().as_default():
        backend.set_learning_phase(0)
        with tf.keras.utils.custom_object_scope(custom_objects or {}):
            clone = tf.keras.models.clone_model(model)
        inputs = {one.op.name: one for one in clone.inputs}
        outputs = dict(zip(clone.output_names, clone.outputs))
        signature = tf.saved_model.predict_signature_def(inputs, outputs)
        # The variables have been saved above, by the paths of their objects.
        builder._has_saved_variables = True
        builder.add_meta_graph(
            [tf.saved_model.tag_constants.SERVING],
            signature_def_map={_SIGNATURE: signature},
            saver=tf.train.Saver(_by_path(clone)),
            main_op=tf.tables_initializer(),
        )
    builder.save(as_text)


def load_from_saved_model(saved_model_path, custom_objects=None):
    """Returns the model that `export_saved_model` has written; it is not compiled.

    Args:
      saved_model_path: the folder.
      custom_objects: name -> class or function that the architecture uses.
    """
    path = os.path.join(saved_model_path, "assets", _ARCHITECTURE)
    with tf.io.gfile.GFile(path) as file:
        model = tf.keras.models.model_from_json(file.read(), custom_objects)
    read = model.load_weights(os.path.join(saved_model_path, "variables", "variables"))
    # The checkpoint also has the state of the optimizer.
    read.expect_partial()
    return model


def _check(model):
    if isinstance(model, tf.keras.Sequential):
        if not model.built or not model.inputs:
            raise ValueError(
                "export_saved_model: the input shape of the sequential model is not known; give "
                "its first layer an input_shape, or call fit first"
            )
    elif not model._is_graph_network:
        raise NotImplementedError(
            "export_saved_model: a subclassed model has no architecture that can be written; use "
            "model.save(folder, save_format='tf')"
        )


def _by_path(model):
    """Returns key in the checkpoint of a model -> its variable."""
    *_, names = checkpoint_util.objects_ids_and_slot_variables_and_paths(
        graph_view.ObjectGraphView(model)
    )
    return {f"{names[one]}/.ATTRIBUTES/VARIABLE_VALUE": one for one in model.weights}
