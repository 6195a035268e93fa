"""Preprocessing layers as programs of TensorFlow 2.4 use them; prints values as JSON.

python old_layers.py                          (TensorFlow 2.4.4, for stored/layers.json)
python -m estimator_bridge run --as=2.4 old_layers.py
"""

import json

import numpy as np
import tensorflow as tf

layers = tf.keras.layers.experimental.preprocessing
words = np.array([["a"], ["b"], ["c"], [""]])
numbers = np.array([[1], [2], [0], [5]])
text = np.array([["the cat. sat"], ["THE dog"]])
rows = np.array([[1.0], [2.0], [4.0]], np.float32)
x = np.linspace(-1, 1, 12).reshape(1, 4, 3).astype(np.float32)


def adapted(layer, data):
    layer.adapt(data)
    return layer


def with_words(layer):
    layer.set_vocabulary(vocab=["the", "cat"])
    return layer


class Updating(tf.keras.layers.Layer):
    def call(self, inputs):
        self.add_update(tf.constant(1), inputs=inputs)
        return inputs


def sparse(values):
    return tf.sparse.from_dense(values)


VALUES = {
    "words": lambda: layers.StringLookup(vocabulary=["a", "b"])(words),
    "words by place": lambda: layers.StringLookup(9, 1, "m", "[UNK]", ["a", "b"])(words),
    "words without mask": lambda: layers.StringLookup(vocabulary=["a"], mask_token=None)(words),
    "adapted words": lambda: adapted(layers.StringLookup(), words)(words),
    "numbers": lambda: layers.IntegerLookup(vocabulary=[1, 2])(numbers),
    "named": lambda: layers.IntegerLookup(
        vocabulary=[1, 2], mask_value=0, oov_value=-1, max_values=10
    )(numbers),
    "adapted numbers": lambda: adapted(layers.IntegerLookup(), numbers)(numbers),
    "encoding": lambda: layers.CategoryEncoding(max_tokens=6)(numbers),
    "encoded pairs": lambda: layers.CategoryEncoding(max_tokens=6, output_mode="binary")(
        np.array([[1, 2], [3, 3]])
    ),
    "encoded vector": lambda: layers.CategoryEncoding(max_tokens=6)(np.array([1, 2])),
    "buckets": lambda: layers.Discretization(bins=[0.0, 1.0, 2.0])(
        np.array([[-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]])
    ),
    "sparse buckets": lambda: tf.sparse.to_dense(
        layers.Discretization(bins=[1.0, 2.0])(sparse([[0.5, 0.0, 2.0]]))
    ),
    "hashes": lambda: layers.Hashing(num_bins=10)(words),
    "salted": lambda: layers.Hashing(10, 3)(words),
    "normalized": lambda: adapted(layers.Normalization(), rows)(rows),
    "text": lambda: adapted(layers.TextVectorization(output_sequence_length=4), text)(text),
    "binary text": lambda: adapted(
        layers.TextVectorization(max_tokens=10, output_mode="binary"), text
    )(text),
    "given words": lambda: with_words(layers.TextVectorization())(text),
    "causal": lambda: tf.keras.layers.Attention(causal=True)([x, x]),
    "updates": lambda: Updating()(x),
}


if __name__ == "__main__":
    print(json.dumps({name: np.asarray(value()).tolist() for name, value in VALUES.items()}))
