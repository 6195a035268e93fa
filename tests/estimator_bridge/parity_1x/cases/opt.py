"""Cases of tf.contrib.opt: two steps over dense and sparse gradients."""

import functools

import tensorflow as tf
import values

CASES = {}
opt = tf.contrib.opt
WAYS = ("dense", "sparse", "resource", "resource sparse")


def decays():
    """Returns the module of the decays of AddSign and PowerSign."""
    from tensorflow.contrib.opt.python.training import sign_decay

    return sign_decay


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
    "AddSignOptimizer": lambda: opt.AddSignOptimizer(),
    "AddSignOptimizer, options": lambda: opt.AddSignOptimizer(
        0.05, 0.5, 0.8, decays().get_linear_decay_fn(3), True, "signs"
    ),
    "PowerSignOptimizer": lambda: opt.PowerSignOptimizer(),
    "PowerSignOptimizer, options": lambda: opt.PowerSignOptimizer(
        0.05, 3.0, 0.8, decays().get_cosine_decay_fn(4)
    ),
    "AdamGSOptimizer": lambda: opt.AdamGSOptimizer(tf.train.get_or_create_global_step(), 0.1),
    "AdamGSOptimizer, no step": lambda: opt.AdamGSOptimizer(learning_rate=0.1, beta1=0.5),
    "LazyAdamGSOptimizer": lambda: opt.LazyAdamGSOptimizer(
        tf.train.get_or_create_global_step(), 0.1
    ),
    "RegAdagradOptimizer": lambda: opt.RegAdagradOptimizer(0.1),
    "DropStaleGradientOptimizer": lambda: opt.DropStaleGradientOptimizer(
        tf.train.MomentumOptimizer(0.1, 0.9), 0
    ),
    "MultitaskOptimizerWrapper": lambda: opt.MultitaskOptimizerWrapper(
        tf.train.MomentumOptimizer(0.1, 0.9)
    ),
}


def stepped(name, way):
    resource = way.startswith("resource")
    table = tf.get_variable("w", [4, 2], use_resource=resource)
    bias = tf.get_variable("b", [2], use_resource=resource)
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


def clipped(way, dims):
    """Two steps with clipped norms, which repeated rows of a sparse gradient shrink again."""
    resource = way.startswith("resource")
    table = tf.get_variable("w", [4, 2], use_resource=resource)
    unclipped = tf.get_variable("b", [2], use_resource=resource)
    read = tf.nn.embedding_lookup(table, tf.constant([1, 2, 1])) if "sparse" in way else table
    loss = tf.reduce_sum(tf.square(read + unclipped) * values.array(2, seed=3))
    inner = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer = opt.VariableClippingOptimizer(
        inner, {table: dims}, 0.2, colocate_clip_ops_with_vars=way == "dense"
    )
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return {
        "loss": loss,
        "slots": optimizer.get_slot_names(),
        "slot": optimizer.get_slot(table, "momentum"),
    }, [train]


for _way in ("dense", "sparse", "resource", "resource sparse"):
    for _dims in ([0], [1], [0, 1]):
        CASES[f"VariableClippingOptimizer, {_dims}, {_way}"] = functools.partial(
            clipped, _way, _dims
        )


def decayed(name, *arguments, **options):
    decay = getattr(decays(), name)(*arguments, **options)
    return {"found": [decay(tf.constant(step)) for step in (0, 1, 4, 7, 10, 13)]}


for _name in ("get_cosine_decay_fn", "get_linear_decay_fn", "get_restart_decay_fn"):
    CASES[_name] = functools.partial(decayed, _name, 10)
for _name in ("get_cosine_decay_fn", "get_restart_decay_fn"):
    CASES[_name + ", zero"] = functools.partial(decayed, _name, 10, num_periods=3, zero_after=2)


def regularized(resource):
    """Steps that do not change the accumulators, and one that does."""
    names = ("dense", "sparse", "other")
    dense, sparse, other = (tf.get_variable(n, [4, 2], use_resource=resource) for n in names)
    optimizer = opt.RegAdagradOptimizer(0.1, 0.2)
    rows = tf.nn.embedding_lookup(sparse, tf.constant([1, 2, 1]))
    with optimizer.avoid_updating_slots():
        train = [optimizer.minimize(tf.reduce_sum(tf.square(one))) for one in (dense, rows)]
    train.append(optimizer.minimize(tf.reduce_sum(tf.square(other))))
    return {
        "slots": [optimizer.get_slot(one, "accumulator") for one in (dense, sparse, other)]
    }, train


CASES["RegAdagradOptimizer.avoid_updating_slots"] = lambda: regularized(False)
CASES["RegAdagradOptimizer.avoid_updating_slots, resource"] = lambda: regularized(True)
CASES["DropStaleGradientOptimizer, no global step"] = lambda: opt.DropStaleGradientOptimizer(
    tf.train.GradientDescentOptimizer(0.1), 1
).minimize(tf.get_variable("w", []))


def dropped():
    """Gradients that are stale because the step grows before they are there."""
    weight = tf.get_variable("w", [2])
    step = tf.train.get_or_create_global_step()

    @tf.custom_gradient
    def slow(x):
        def backward(up):
            with tf.control_dependencies([step.assign_add(2)]):
                return tf.identity(up)

        return tf.identity(x), backward

    optimizer = opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
    train = optimizer.minimize(tf.reduce_sum(slow(weight * 2.0)), step)
    return {"slots": optimizer.get_slot_names(), "w": weight}, [train]


CASES["DropStaleGradientOptimizer, stale"] = dropped
CASES["MultitaskOptimizerWrapper, no optimizer"] = lambda: opt.MultitaskOptimizerWrapper(3)


def several(sparse, resource):
    """Two tasks, of which the batches have one after the other."""
    first = tf.get_variable("first", [4, 2], use_resource=resource)
    second = tf.get_variable("second", [4, 2], use_resource=resource)
    step = tf.train.get_or_create_global_step()
    present = tf.one_hot(tf.cast(step % 2, tf.int32), 2)
    reads = [
        tf.nn.embedding_lookup(one, tf.constant([1, 2, 1])) if sparse else one
        for one in (first, second)
    ]
    loss = sum(tf.reduce_sum(one**2) * present[place] for place, one in enumerate(reads))
    optimizer = opt.MultitaskOptimizerWrapper(tf.train.AdamOptimizer(0.1))
    gradients = optimizer.compute_gradients(loss)
    outputs = {"name": optimizer.get_name()}
    if not sparse:
        gradients, outputs["norm"] = opt.clip_gradients_by_global_norm(gradients, 0.5)
        outputs["clipped"] = [one for one, _ in gradients]
    return outputs, [optimizer.apply_gradients(gradients, step)]


for _sparse in (False, True):
    for _resource in (False, True):
        CASES[f"MultitaskOptimizerWrapper, tasks, sparse {_sparse}, resource {_resource}"] = (
            functools.partial(several, _sparse, _resource)
        )


def clipped_gradients(**options):
    variables = [tf.get_variable(name, [2]) for name in "abc"]
    gradients = [values.real(2), None, tf.zeros([2])]
    found, norm = opt.clip_gradients_by_global_norm(list(zip(gradients, variables)), **options)
    return {
        "clipped": [one for one, _ in found],
        "none": [one is None for one, _ in found],
        "names": [variable.name for _, variable in found],
        "norm": norm,
    }


CASES["clip_gradients_by_global_norm"] = clipped_gradients
CASES["clip_gradients_by_global_norm, small"] = lambda: clipped_gradients(clip_norm=0.1)
