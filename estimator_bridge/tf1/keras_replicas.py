"""`tf.keras.utils.multi_gpu_model`, which TensorFlow had until 2.3."""

import collections

import tensorflow.compat.v1 as tf

__all__ = ["multi_gpu_model", "replicate"]


def multi_gpu_model(model, gpus, cpu_merge=True, cpu_relocation=False):
    """Returns a model that divides each batch among GPUs and joins the outputs.

    Args:
      model: functional or sequential Keras model; its weights are shared by all GPUs.
      gpus: int, the number of GPUs, or a list of their numbers; at least two.
      cpu_merge: whether the outputs are joined on the CPU; else on the first GPU.
      cpu_relocation: whether the model is made anew on the CPU, with weights of its own.

    Raises:
      ValueError: there are fewer than two GPUs, or not these.
    """
    is_list = isinstance(gpus, (list, tuple))
    if (len(gpus) if is_list else gpus) <= 1:
        raise ValueError(
            "multi_gpu_model needs at least two GPUs: give `gpus >= 2`, or a list of at least two "
            f"numbers. Received: `gpus={gpus}`"
        )
    numbers = [*gpus] if is_list else [*range(gpus)]
    found = ["/gpu:{}".format(one.name.rpartition(":")[2]) for one in _list_gpus()]
    devices = [f"/gpu:{number}" for number in numbers]
    missing = [one for one in devices if one not in found]
    if missing:
        raise ValueError(
            f"multi_gpu_model with `gpus={gpus}` needs {', '.join(devices)}; this machine has "
            f"{', '.join(found) or 'no GPU'}. Give fewer `gpus`."
        )
    if cpu_relocation:
        with tf.device("/cpu:0"):
            model = tf.keras.models.clone_model(model)
    return replicate(model, devices, "/cpu:0" if cpu_merge else devices[0])


def _list_gpus():
    return tf.config.list_logical_devices("GPU")


def replicate(model, devices, merge_device):
    """Returns a model that divides each batch among devices and joins the outputs.

    Args:
      model: Keras model with inputs and outputs.
      devices: list of names; the last one gets the remainder of a batch, too.
      merge_device: where the outputs are joined.
    """
    parts = []
    for number, device in enumerate(devices):
        with tf.device(device), tf.name_scope(f"replica_{number}"):
            inputs = [
                tf.keras.layers.Lambda(
                    _take_part,
                    output_shape=lambda shape: shape,
                    arguments={"number": number, "count": len(devices)},
                )(one)
                for one in model.inputs
            ]
            outputs = model(inputs[0] if len(inputs) == 1 else inputs)
            parts.append(outputs if isinstance(outputs, (list, tuple)) else [outputs])
    with tf.device(merge_device):
        joined = [
            tf.keras.layers.concatenate([*same], axis=0, name=name)
            for name, same in zip(_name_outputs(model), zip(*parts))
        ]
    return tf.keras.Model(model.inputs, joined)


def _name_outputs(model):
    """Returns the names of the outputs, each with a number if a layer has several."""
    times, names = collections.Counter(), []
    for name in model.output_names:
        names.append(f"{name}_{times[name]}" if times[name] else name)
        times[name] += 1
    return names


def _take_part(rows, number, count):
    # Keras stores the code of a function in the model's file, without the names of this module.
    import tensorflow as tf

    step = tf.shape(rows)[0] // count
    return rows[number * step :] if number == count - 1 else rows[number * step :][:step]
