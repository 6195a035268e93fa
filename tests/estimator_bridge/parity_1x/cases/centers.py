"""Cases of the optimizers of tf.contrib.opt whose workers have a center of the variables."""

import functools
import importlib
import shutil
import tempfile

import tensorflow as tf
import values

CASES = {}
opt = tf.contrib.opt
KINDS = ("ModelAverage", "ElasticAverage", "AGN")
INNER = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.03125),
    "momentum": lambda: tf.train.MomentumOptimizer(0.03125, 0.5),
    "Adam": lambda: tf.train.AdamOptimizer(0.03125),
}


def getter_of(kind):
    makers = {
        "ModelAverage": opt.ModelAverageCustomGetter,
        "ElasticAverage": opt.ElasticAverageCustomGetter,
        "AGN": opt.AGNCustomGetter,
    }
    return makers[kind]("/cpu:0")


def optimizer_of(kind, getter, inner, period=2, **options):
    if kind == "ModelAverage":
        return opt.ModelAverageOptimizer(inner, 1, True, getter, period, **options)
    if kind == "AGN":
        return opt.AGNOptimizer(inner, 1, getter, period, **options)
    if isinstance(inner, tf.train.AdamOptimizer):
        options["rho"] = 0.25
    return opt.ElasticAverageOptimizer(inner, 1, getter, period, **options)


def hook_of(kind, optimizer):
    arguments = () if kind == "ModelAverage" else (True, 0)
    return optimizer.make_session_run_hook(*arguments)


def init_of(kind, optimizer):
    return optimizer.get_init_op(*(() if kind == "ModelAverage" else (0,)))


def model(getter, resource=False, sparse=False):
    """Returns the loss of a model whose variables a getter makes."""
    with tf.variable_scope("", custom_getter=getter, use_resource=resource):
        table = tf.get_variable("w", [4, 2], initializer=tf.ones_initializer())
        with tf.variable_scope("part"):
            bias = tf.get_variable("b", initializer=tf.constant([0.5, -0.25]))
        tf.get_variable("kept", [1], trainable=False, collections=["variables"])
        tf.get_variable("local", [1], trainable=False, collections=["local_variables"])
    read = tf.nn.embedding_lookup(table, tf.constant([1, 2, 1])) if sparse else table
    return tf.reduce_sum(tf.square(read + bias - 2) * (values.array(2, seed=3) + 2))


def stepped(kind, inner, resource=False, sparse=False, **options):
    getter = getter_of(kind)
    step = tf.train.get_or_create_global_step()
    loss = model(getter, resource, sparse)
    optimizer = optimizer_of(kind, getter, INNER[inner](), **options)
    gradients = optimizer.compute_gradients(loss)
    train = optimizer.apply_gradients(gradients, step, "mine")
    return {
        "loss": loss,
        "local": {one.op.name: one for one in tf.local_variables() if one.op.name != "local"},
        "gradients": [getattr(one, "values", one) for one, _ in gradients],
        "names": [one.name for _, one in gradients],
        "slots": optimizer.get_slot_names(),
        "name": optimizer.get_name(),
    }, [train]


for _kind in KINDS:
    for _inner in INNER:
        for _sparse in (False, True):
            _name = f"{_kind}, {_inner}" + ", sparse" * _sparse
            CASES[_name] = functools.partial(stepped, _kind, _inner, sparse=_sparse)
    CASES[f"{_kind}, every step"] = functools.partial(stepped, _kind, "momentum", period=1)
    CASES[f"{_kind}, named"] = functools.partial(stepped, _kind, "descent", name="other")
    CASES[f"{_kind}, resource"] = functools.partial(stepped, _kind, "momentum", resource=True)
CASES["ElasticAverage, moving_rate"] = lambda: stepped("ElasticAverage", "descent", moving_rate=0.5)
CASES["ElasticAverage, rho"] = lambda: stepped("ElasticAverage", "descent", rho=0.5)


def started(kind):
    """Returns what the operation that starts a worker from the center does."""
    getter = getter_of(kind)
    model(getter)
    optimizer = optimizer_of(kind, getter, INNER["descent"]())
    start = init_of(kind, optimizer)
    return {one.op.name: one for one in tf.local_variables() if one.op.name != "local"}, [start]


def resumed(kind, inner, own_hook, sessions=3):
    """Returns the variables when three sessions begin and end, with one folder of checkpoints.

    Args:
      kind: of the optimizer.
      inner: of the wrapped optimizer.
      own_hook: whether the program runs the operation that starts a worker from the center itself.
      sessions: their number.
    """
    folder = tempfile.mkdtemp()
    found = []
    try:
        for _ in range(sessions):
            with tf.Graph().as_default():
                getter = getter_of(kind)
                step = tf.train.get_or_create_global_step()
                loss = model(getter)
                optimizer = optimizer_of(kind, getter, INNER[inner]())
                train = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
                start = init_of(kind, optimizer)
                kept = [
                    one
                    for one in tf.global_variables() + tf.local_variables()
                    if one.op.name not in ("kept", "local")
                ]
                kept.sort(key=lambda one: one.op.name)
                with tf.train.MonitoredTrainingSession(
                    hooks=[hook_of(kind, optimizer)],
                    checkpoint_dir=folder,
                    save_checkpoint_steps=1,
                    save_summaries_steps=None,
                    log_step_count_steps=None,
                    config=values.one_thread(),
                ) as session:
                    if own_hook:
                        session.run(start)
                    found.append({one.op.name: session.run(one) for one in kept})
                    for _ in range(5):
                        session.run(train)
                    found.append({one.op.name: session.run(one) for one in kept})
        names = [name for name, _ in tf.train.list_variables(folder)]
    finally:
        shutil.rmtree(folder)
    return {"found": found, "checkpoint": names}


for _kind in KINDS:
    CASES[f"{_kind}, get_init_op"] = functools.partial(started, _kind)
    for _inner in ("descent", "momentum"):
        CASES[f"{_kind}, {_inner}, sessions"] = functools.partial(resumed, _kind, _inner, False)
CASES["ModelAverage, sessions of the hook and the program"] = lambda: resumed(
    "ModelAverage", "momentum", True
)
CASES["ModelAverage, first session"] = lambda: resumed("ModelAverage", "Adam", False, 1)


def saved():
    """Returns the names of a swapping Saver, and what it restores."""
    getter = getter_of("ElasticAverage")
    step = tf.train.get_or_create_global_step()
    loss = model(getter)
    optimizer = optimizer_of("ElasticAverage", getter, INNER["descent"]())
    train = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
    savers = {
        "default": optimizer.swapping_saver(),
        "all": optimizer.swapping_saver(tf.global_variables()[:3], "mine", max_to_keep=2),
        "dictionary": optimizer.swapping_saver({"x": tf.trainable_variables()[0]}),
    }
    folder = tempfile.mkdtemp()
    found = {}
    try:
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            for _ in range(2):
                session.run(train)
            for name, saver in savers.items():
                prefix = saver.save(session, folder + "/" + name)
                found[name] = {
                    key: tf.train.load_variable(prefix, key)
                    for key, _ in tf.train.list_variables(prefix)
                    if key != "kept"
                }
    finally:
        shutil.rmtree(folder)
    return found


CASES["ElasticAverage.swapping_saver"] = saved


def variables_of(kind, partitioned=False, again=False):
    """Returns the variables that a getter makes, in a scope."""
    getter = getter_of(kind)
    splits = tf.fixed_size_partitioner(2) if partitioned else None
    with tf.variable_scope("scope", custom_getter=getter, partitioner=splits):
        tf.get_variable("w", [4, 2], initializer=tf.ones_initializer())
        tf.layers.dense(tf.zeros([2, 3]), 2, kernel_initializer=tf.ones_initializer())
    if again:
        with tf.variable_scope("scope", custom_getter=getter, reuse=True):
            tf.get_variable("w", [4, 2])
    return {"sum": tf.constant(0.0)}


def untrained(kind):
    with tf.variable_scope("", custom_getter=getter_of(kind)):
        return {"found": tf.get_variable("w", [2], trainable=False).name}


def failing(kind, what):
    getter = getter_of(kind)
    loss = model(getter)
    optimizer = optimizer_of(kind, getter, INNER["descent"]())
    if what == "no global step":
        return {"type": optimizer.apply_gradients(optimizer.compute_gradients(loss)).dtype.name}
    if what == "no gradients":
        gradients = [(None, tf.trainable_variables()[0])]
    elif what == "no variables":
        gradients = []
    else:
        with tf.variable_scope("other"):
            other = tf.get_variable("v", [2])
        gradients = [(tf.ones([2]), other)]
    return optimizer.apply_gradients(gradients, tf.train.get_or_create_global_step())


for _kind in KINDS:
    CASES[f"{_kind}CustomGetter"] = functools.partial(variables_of, _kind)
    CASES[f"{_kind}CustomGetter, reused"] = functools.partial(variables_of, _kind, again=True)
    CASES[f"{_kind}CustomGetter, untrained"] = functools.partial(untrained, _kind)
    for _what in ("no global step", "no gradients", "no variables", "a foreign variable"):
        CASES[f"{_kind}, {_what}"] = functools.partial(failing, _kind, _what)
for _kind in KINDS[1:]:
    CASES[f"{_kind}CustomGetter, partitioned"] = functools.partial(variables_of, _kind, True)


def foreign_gradients(**options):
    getter = getter_of("ElasticAverage")
    loss = model(getter)
    tf.get_variable("v", [2])
    optimizer = optimizer_of("ElasticAverage", getter, INNER["descent"]())
    return {"found": optimizer.compute_gradients(loss, **options)[0][0]}


CASES["ElasticAverage.compute_gradients, a foreign variable"] = foreign_gradients
CASES["ElasticAverage.compute_gradients, options"] = lambda: foreign_gradients(
    var_list=tf.trainable_variables()[:1], gate_gradients=2, grad_loss=tf.constant(2.0)
)
CASES["ElasticAverage, no learning rate"] = lambda: opt.ElasticAverageOptimizer(
    tf.train.AdamOptimizer(0.1), 1, getter_of("ElasticAverage")
)


def constant_of(module, name):
    module = importlib.import_module("tensorflow.contrib.opt.python.training." + module)
    return {"found": getattr(module, name)}


for _module, _names in (
    ("model_average_optimizer", ["GLOBAL_VARIABLE_NAME"]),
    ("elastic_average_optimizer", ["GLOBAL_VARIABLE_NAME", "LOCAL_VARIABLE_NAME", "GLOBAL_STEP"]),
    ("agn_optimizer", ["GLOBAL_VARIABLE_NAME", "GRAD_VARIABLE_NAME"]),
):
    for _name in _names:
        CASES[f"{_module}.{_name}"] = functools.partial(constant_of, _module, _name)
