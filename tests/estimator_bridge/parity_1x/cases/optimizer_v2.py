"""Cases of tf.contrib.optimizer_v2: two steps over dense and sparse gradients."""

import functools

import tensorflow as tf
import values

CASES = {}
v2 = tf.contrib.optimizer_v2
WAYS = ("dense", "sparse", "resource", "resource sparse")
OPTIMIZERS = {
    "AdadeltaOptimizer": lambda: v2.AdadeltaOptimizer(),
    "AdadeltaOptimizer, options": lambda: v2.AdadeltaOptimizer(1.0, 0.8, 1e-3, True, "delta"),
    "AdagradOptimizer": lambda: v2.AdagradOptimizer(0.1),
    "AdagradOptimizer, options": lambda: v2.AdagradOptimizer(lambda: 0.2, 0.3, True, "grad"),
    "AdamOptimizer": lambda: v2.AdamOptimizer(),
    "AdamOptimizer, options": lambda: v2.AdamOptimizer(
        lambda: tf.constant(0.2), tf.constant(0.5), lambda: 0.8, 1e-3, True, "moments"
    ),
    "GradientDescentOptimizer": lambda: v2.GradientDescentOptimizer(0.1),
    "GradientDescentOptimizer, function": lambda: v2.GradientDescentOptimizer(
        lambda: 0.1 / tf.cast(tf.train.get_global_step() + 1, tf.float32), True, "descent"
    ),
    "MomentumOptimizer": lambda: v2.MomentumOptimizer(0.1, 0.9),
    "MomentumOptimizer, options": lambda: v2.MomentumOptimizer(
        tf.constant(0.1), lambda: 0.8, True, "speed", True
    ),
    "RMSPropOptimizer": lambda: v2.RMSPropOptimizer(0.01),
    "RMSPropOptimizer, options": lambda: v2.RMSPropOptimizer(
        lambda: 0.01, 0.8, tf.constant(0.5), 0.1, True, False, "roots"
    ),
    "RMSPropOptimizer, centered": lambda: v2.RMSPropOptimizer(
        0.01, momentum=0.5, epsilon=0.5, centered=True
    ),
}


def describe(optimizer, *variables):
    """Returns the names and values of what an optimizer holds."""
    names = optimizer.get_slot_names()
    return {
        "slot_names": names,
        "name": optimizer.get_name(),
        "variables": [one.name for one in optimizer.variables()],
        "slots": [optimizer.get_slot(one, name) for name in names for one in variables],
    }


def stepped(name, way, dtype=tf.float32):
    resource = way.startswith("resource")
    table = tf.get_variable("w", [4, 2], dtype, use_resource=resource)
    bias = tf.get_variable("b", [2], dtype, use_resource=resource)
    read = tf.nn.embedding_lookup(table, tf.constant([1, 2, 1])) if "sparse" in way else table
    numbers = values.array(2, seed=3, dtype=values.np.dtype(dtype.as_numpy_dtype))
    loss = tf.reduce_sum(tf.square(read + bias) * numbers)
    step = tf.train.get_or_create_global_step()
    optimizer = OPTIMIZERS[name]()
    train = optimizer.minimize(loss, step, name="train")
    return dict(describe(optimizer, table, bias), loss=loss), [train]


for _name in OPTIMIZERS:
    for _way in WAYS:
        CASES[f"{_name}, {_way}"] = functools.partial(stepped, _name, _way)
    if "centered" not in _name:
        CASES[_name + ", float64"] = functools.partial(stepped, _name, "dense", tf.float64)


class Halving(v2.OptimizerV2):
    """An optimizer of a program: subtracts the gradient, less in each step."""

    def __init__(self, rate, name="Halving"):
        super().__init__(False, name)
        self._set_hyper("rate", rate)

    def _create_vars(self, var_list, state):
        state.create_non_slot(initial_value=1.0, name="share", colocate_with=var_list[0])
        state.create_non_slot(state.get_hyper("rate") * 3.0, "tripled")
        for var in var_list:
            state.zeros_slot(var, "sum")
            state.create_slot(var, tf.ones_like(var) * 2.0, "twos", "second")
            shape, dtype = var.shape, var.dtype.base_dtype
            initializer = tf.constant_initializer(3.0)
            state.create_slot_with_initializer(var, initializer, shape, dtype, "threes")

    def _prepare(self, state):
        self.prepared = getattr(self, "prepared", 0) + 1

    def _apply_dense(self, grad, var, state):
        rate = state.get_hyper("rate", var.dtype.base_dtype) * state.get_non_slot("share")
        total = state.get_slot(var, "sum").assign_add(grad)
        return tf.group(var.assign_sub(rate * grad), total)

    _resource_apply_dense = _apply_dense

    def _apply_sparse(self, grad, var, state):
        rate = state.get_hyper("rate", var.dtype.base_dtype)
        return tf.scatter_sub(var, grad.indices, rate * grad.values)

    def _resource_apply_sparse(self, grad, var, indices, state):
        rate = state.get_hyper("rate", var.dtype.base_dtype)
        return tf.scatter_sub(var, indices, rate * grad)

    def _finish(self, state):
        share = state.get_non_slot("share")
        return share.assign(share * 0.5)


OPTIMIZERS["OptimizerV2, extended"] = lambda: Halving(0.1)
OPTIMIZERS["OptimizerV2, extended, function"] = lambda: Halving(lambda: 0.1, "other")
for _name in ("OptimizerV2, extended", "OptimizerV2, extended, function"):
    for _way in WAYS:
        CASES[f"{_name}, {_way}"] = functools.partial(stepped, _name, _way)


class Nothing(v2.OptimizerV2):
    """An optimizer without any method."""


def weight():
    return tf.get_variable("w", [2])


CASES["OptimizerV2, no method"] = lambda: Nothing(False, "n").minimize(tf.reduce_sum(weight()))
CASES["OptimizerV2, no name"] = lambda: Nothing(False, "")
CASES["minimize, no gradient"] = lambda: v2.GradientDescentOptimizer(0.1).minimize(
    tf.constant(1.0), var_list=[weight()]
)
CASES["compute_gradients, no variable"] = lambda: v2.AdamOptimizer().compute_gradients(
    tf.reduce_sum(weight()), []
)
CASES["compute_gradients, gate_gradients"] = lambda: v2.AdamOptimizer().compute_gradients(
    tf.reduce_sum(weight()), gate_gradients=7
)
CASES["compute_gradients, integers"] = lambda: v2.AdamOptimizer().compute_gradients(
    tf.constant(3), [weight()]
)
CASES["apply_gradients, empty"] = lambda: v2.AdamOptimizer().apply_gradients([])
CASES["apply_gradients, object"] = lambda: v2.AdamOptimizer().apply_gradients(
    [(object(), weight())]
)
CASES["apply_gradients, tensor"] = lambda: v2.AdamOptimizer().apply_gradients(
    [(tf.ones([2]), tf.ones([2]))]
)
CASES["AdagradOptimizer, no initial value"] = lambda: v2.AdagradOptimizer(0.1, 0.0)


def differentiated(**options):
    first, second = weight(), tf.get_variable("v", [2])
    loss = tf.reduce_sum(tf.square(tf.identity(first)) * first * second)
    optimizer = v2.GradientDescentOptimizer(0.1)
    if options.pop("stops", False):
        options["stop_gradients"] = [first]
    found = optimizer.compute_gradients(loss, **options)
    return {"gradients": [grad for grad, _ in found], "names": [var.name for _, var in found]}


CASES["compute_gradients"] = differentiated
CASES["compute_gradients, options"] = lambda: differentiated(
    gate_gradients=v2.OptimizerV2.GATE_GRAPH, grad_loss=tf.constant(2.0)
)
CASES["compute_gradients, stop_gradients"] = lambda: differentiated(stops=True)
CASES["compute_gradients, scaled"] = lambda: differentiated(scale_loss_by_num_replicas=True)


def separate():
    first, second, third = (tf.get_variable(name, [2]) for name in "abc")
    optimizer = v2.AdamOptimizer(0.1)
    trains = [
        optimizer.minimize(tf.reduce_sum(tf.square(one)), var_list=[one]) for one in (first, second)
    ]
    outputs = describe(optimizer, first, second)
    outputs["none"] = [
        str(optimizer.get_slot(first, "other")),
        str(optimizer.get_slot(third, "m")),
        str(optimizer.get_slot_names()),
    ]
    return outputs, [trains[0]]


CASES["minimize, one variable after the other"] = separate

CASES["variables, before a step"] = lambda: describe(v2.AdamOptimizer())


def in_two_graphs():
    """One optimizer in two graphs."""
    optimizer = v2.MomentumOptimizer(0.1, 0.9)
    names = []
    for name in ("first", "second"):
        with tf.Graph().as_default():
            optimizer.minimize(tf.reduce_sum(tf.get_variable(name, [2])))
            names.append([one.name for one in optimizer.variables()])
    return {"names": names, "here": len(optimizer.variables())}


CASES["variables, two graphs"] = in_two_graphs


def private():
    from tensorflow.contrib.optimizer_v2.adam import AdamOptimizer
    from tensorflow.contrib.optimizer_v2.optimizer_v2 import OptimizerV2
    from tensorflow.contrib.optimizer_v2.rmsprop import RMSPropOptimizer

    same = [
        AdamOptimizer is v2.AdamOptimizer,
        RMSPropOptimizer is v2.RMSPropOptimizer,
        OptimizerV2 is v2.OptimizerV2,
        issubclass(AdamOptimizer, tf.train.Optimizer),
    ]
    return {"same": same}


CASES["private paths"] = private
