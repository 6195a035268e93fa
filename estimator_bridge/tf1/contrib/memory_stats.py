"""`tf.contrib.memory_stats`: the memory of the GPU on which an operation would run."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import device_lib as _devices

__all__ = ["BytesInUse", "BytesLimit", "MaxBytesInUse"]


def BytesInUse():
    """Returns a scalar int64 tensor: the bytes in use now.

    Only GPUs count their memory; running it for another device is an InvalidArgumentError.
    """
    return _measured("BytesInUse", lambda device: _memory("BytesInUse", device, "current"))


def MaxBytesInUse():
    """Returns a scalar int64 tensor: the most bytes that were in use at once.

    Only GPUs count their memory; running it for another device is an InvalidArgumentError.
    """
    return _measured("MaxBytesInUse", lambda device: _memory("MaxBytesInUse", device, "peak"))


def BytesLimit():
    """Returns a scalar int64 tensor: the bytes that TensorFlow may use; -1 for a CPU."""
    return _measured("BytesLimit", _limit)


def _memory(name, device, key):
    if device.device_type != "GPU":
        raise ValueError(f"tf.contrib.memory_stats.{name}: only GPUs count their memory")
    return tf.config.experimental.get_memory_info(f"GPU:{device.device_index}")[key]


def _limit(device):
    if device.device_type != "GPU":
        return -1
    places = {one.name: one.memory_limit for one in _devices.list_local_devices()}
    return places[f"/device:GPU:{device.device_index}"]


def _measured(name, read):
    """Returns the tensor of a number.

    Args:
      name: name of the operation.
      read: function from a tf.DeviceSpec to the number of bytes.
    """
    # An operation that computes nothing tells the device that the program asks for.
    device = tf.DeviceSpec.from_string(tf.no_op(f"{name}Device").device)
    kind = device.device_type or ("GPU" if tf.config.list_physical_devices("GPU") else "CPU")
    device = device.replace(device_type=kind, device_index=device.device_index or 0)
    with tf.device("/cpu:0"):
        found = tf.py_func(lambda: np.int64(read(device)), [], tf.int64, name=name)
    found.set_shape([])
    return found
