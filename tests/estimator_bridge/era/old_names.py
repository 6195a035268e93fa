"""A program that uses names of TensorFlow 2.8 which are missing today; prints values as JSON."""

import json

import keras
import numpy as np
import tensorflow as tf
from keras.optimizer_v2 import adam as private_adam
from tensorflow.keras.optimizers import SGD

values = {}

ones = tf.keras.initializers.Constant(0.3)
x = np.linspace(-1, 1, 24).reshape(2, 4, 3).astype(np.float32)
for implementation in (1, 2):
    cell = tf.keras.experimental.PeepholeLSTMCell(
        2, kernel_initializer=ones, recurrent_initializer=ones, implementation=implementation
    )
    layer = tf.keras.layers.RNN(cell)
    values[f"peephole {implementation}"] = layer(x).numpy().tolist()
values["weights"] = [weight.name for weight in layer.weights]

model = keras.Sequential([keras.layers.Dense(1, kernel_initializer=ones)])
model.compile("adam", "mse")
model.fit(x[:, 0], x[:, 0, :1], epochs=2, verbose=0)
values["fitted"] = model.predict(x[:, 0], verbose=0).tolist()
values["slots"] = model.optimizer.get_slot_names()
values["updates"] = len(model.layers[0].get_updates_for(None))

values["same"] = [
    private_adam.Adam is tf.keras.optimizers.Adam,
    tf.optimizers.Adam is tf.keras.optimizers.Adam,
    isinstance(tf.keras.optimizers.get("sgd"), SGD),
    isinstance(SGD(), tf.keras.optimizers.Optimizer),
    issubclass(SGD, tf.compat.v1.keras.optimizers.Optimizer),
]
scaled = tf.keras.mixed_precision.LossScaleOptimizer(SGD(0.5))
values["scaled"] = [float(scaled.initial_scale), float(scaled.learning_rate)]
print(json.dumps(values))
