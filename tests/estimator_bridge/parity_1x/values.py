"""Inputs of the cases: the same numbers in every TensorFlow, moved by a rounding step or not."""

import sys
import traceback

import numpy as np
import tensorflow as tf

# Collection of the inputs that gradients are taken of.
INPUTS = "parity_inputs"

# Direction in which every real input moves by one rounding step: 0, or 1 to measure how far results
# move with it.
nudge = 0


def nudged(array):
    """Returns a real array, moved by one rounding step when that is measured."""
    return np.nextafter(array, array.dtype.type(10)) if nudge else array


def array(*shape, **options):
    """Returns a float32 array of uniform numbers; options: seed, low, high, dtype."""
    random = np.random.RandomState(options.get("seed", 1))
    low, high = options.get("low", -1.0), options.get("high", 1.0)
    numbers = random.uniform(low, high, shape).astype(options.get("dtype", np.float32))
    # A few bits only, so that no result depends on how the numbers were made.
    return np.asarray(np.round(numbers * 1024) / 1024, options.get("dtype", np.float32))


def real(*shape, **options):
    """Returns a tensor of `array`, of which gradients are taken."""
    tensor = tf.constant(nudged(array(*shape, **options)))
    tf.add_to_collection(INPUTS, tensor)
    return tensor


def whole(*shape, **options):
    """Returns a tensor of integers below `below`; options: seed, below, dtype."""
    random = np.random.RandomState(options.get("seed", 1))
    numbers = random.randint(options.get("below", 2), size=shape)
    return tf.constant(numbers.astype(options.get("dtype", np.int64)))


def given(numbers, dtype=np.float32):
    """Returns a tensor of the numbers, of which gradients are taken."""
    tensor = tf.constant(nudged(np.asarray(numbers, dtype)))
    tf.add_to_collection(INPUTS, tensor)
    return tensor


def one_thread():
    """Returns a configuration of sessions in which the order of additions is fixed."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    # Optimizing a graph takes longer than running it a few times.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def show_error():
    """Prints the traceback of the error that is handled, if `-v` is among the arguments."""
    if "-v" in sys.argv:
        traceback.print_exc()
