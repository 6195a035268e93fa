"""Cases of tf.contrib.opt: two steps over dense and sparse gradients."""

import functools

import tensorflow as tf
import values

CASES = {}
opt = tf.contrib.opt
WAYS = ("dense", "sparse", "resource")
OPTIMIZERS = {
    "AdaMaxOptimizer": lambda: opt.AdaMaxOptimizer(0.1),
    "AdamWOptimizer": lambda: opt.AdamWOptimizer(0.1, 0.1),
    "LARSOptimizer": lambda: opt.LARSOptimizer(0.1, skip_list=["b"]),
    "LARSOptimizer, nesterov": lambda: opt.LARSOptimizer(
        0.1, momentum=0.8, weight_decay=0.01, use_nesterov=True
    ),
    "LazyAdamOptimizer": lambda: opt.LazyAdamOptimizer(0.1),
    "MomentumWOptimizer": lambda: opt.MomentumWOptimizer(0.1, 0.1, 0.9),
    "MomentumWOptimizer, nesterov": lambda: opt.MomentumWOptimizer(
        0.1, 0.1, 0.9, use_nesterov=True
    ),
    "NadamOptimizer": lambda: opt.NadamOptimizer(0.1),
    "MovingAverageOptimizer": lambda: opt.MovingAverageOptimizer(
        tf.train.GradientDescentOptimizer(0.1), 0.9
    ),
    "extended RMSProp": lambda: opt.extend_with_decoupled_weight_decay(tf.train.RMSPropOptimizer)(
        0.1, 0.1
    ),
    "extended Adagrad": lambda: opt.extend_with_decoupled_weight_decay(tf.train.AdagradOptimizer)(
        weight_decay=0.1, learning_rate=0.1
    ),
}


def stepped(name, way):
    table = tf.get_variable("w", [4, 2], use_resource=way == "resource")
    bias = tf.get_variable("b", [2], use_resource=way == "resource")
    read = table if way == "dense" else tf.nn.embedding_lookup(table, tf.constant([1, 2, 1]))
    loss = tf.reduce_sum(tf.square(read + bias) * values.array(2, seed=3))
    step = tf.train.get_or_create_global_step()
    train = OPTIMIZERS[name]().minimize(loss, step)
    return {"loss": loss}, [train]


for _name in sorted(OPTIMIZERS):
    for _way in WAYS:
        CASES[f"{_name}, {_way}"] = functools.partial(stepped, _name, _way)


def minimized(**options):
    value = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    train = opt.AdamWOptimizer(0.1).minimize(tf.reduce_sum(value**2), None, [value], **options)
    return {"loss": value}, [train]


CASES["AdamWOptimizer.minimize, by position"] = minimized
CASES["AdamWOptimizer.minimize, decay_var_list"] = lambda: minimized(decay_var_list=[])
