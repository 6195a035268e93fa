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


def with_scipy(**options):
    """Minimizes with SciPy. The method in `options` and bounds decide the number of evaluations."""
    pair = tf.get_variable("pair", initializer=tf.constant([7.0, 5.0]))
    single = tf.get_variable("single", initializer=tf.constant(2.0))
    unused = tf.get_variable("unused", initializer=tf.constant([3.0]))
    goal = tf.placeholder(tf.float32)
    loss = tf.reduce_sum(tf.square(pair)) + tf.square(single - goal)
    if options.pop("constrained", False):
        options.update(equalities=[pair[1] - 1], inequalities=[pair[0] - 2], method="SLSQP")
    if options.pop("bounded", False):
        options["var_to_bounds"] = {pair: ([1, -1], float("inf"))}
    optimizer = opt.ScipyOptimizerInterface(loss, **options)
    losses, steps = [], []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(
            session,
            {goal: 1.0},
            fetches=[loss],
            loss_callback=losses.append,
            step_callback=lambda vector: steps.append(vector.copy()),
        )
        found = session.run([pair, single, unused])
    return {"found": found, "losses": losses, "steps": steps}


CASES["ScipyOptimizerInterface"] = with_scipy
CASES["ScipyOptimizerInterface, BFGS"] = lambda: with_scipy(method="BFGS", options={"gtol": 1e-3})
CASES["ScipyOptimizerInterface, bounds"] = lambda: with_scipy(bounded=True)
CASES["ScipyOptimizerInterface, constraints"] = lambda: with_scipy(constrained=True)
