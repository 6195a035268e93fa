"""Cases of tf.contrib.model_pruning: masked layers and cells, schedules of masks, exports."""

import contextlib
import functools
import os
import shutil
import tempfile

import tensorflow as tf
import tensorflow.contrib.model_pruning as pruning
import values

CASES = {}


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


def collected():
    """Returns the parts of all masked layers of the graph."""
    return {
        "masks": pruning.get_masks(),
        "masked": pruning.get_masked_weights(),
        "thresholds": pruning.get_thresholds(),
        "weights": pruning.get_weights(),
        "sparsity": pruning.get_weight_sparsity(),
        "names": [one.name for one in pruning.get_masked_weights()],
    }


@case("apply_mask", None)
@case("apply_mask, scope", "inner")
@case("apply_mask, float64", None, tf.float64)
def masked(scope, dtype=tf.float32):
    with tf.variable_scope("outer"):
        weights = tf.get_variable("w", [3, 2], dtype)
        found = pruning.apply_mask(weights, scope) if scope else pruning.apply_mask(weights)
    return dict(collected(), found=tf.cast(found, tf.float32))


@case("apply_mask, scope object")
def masked_in_scope():
    with tf.variable_scope("outer") as scope:
        weights = tf.get_variable("w", [3, 2])
        found = pruning.apply_mask(weights, scope)
        # A reused scope has the same mask.
        with tf.variable_scope(scope, reuse=True):
            again = pruning.apply_mask(tf.get_variable("w"), scope)
    return dict(collected(), found=found, again=again)


@case("apply_mask, twice")
def masked_twice():
    pruning.apply_mask(tf.get_variable("a", [2]))
    pruning.apply_mask(tf.get_variable("b", [2]))


DENSE = {
    "": {},
    "scope": {"scope": "fc"},
    "linear": {"activation_fn": None, "biases_initializer": None},
    "options": {
        "weights_initializer": tf.ones_initializer(),
        "weights_regularizer": tf.nn.l2_loss,
        "biases_initializer": tf.ones_initializer(),
        "biases_regularizer": tf.nn.l2_loss,
        "variables_collections": ["mine"],
        "outputs_collections": "outputs",
        "trainable": False,
        "scope": "fc",
    },
    "collections": {"variables_collections": {"weights": ["w"], "mask": ["m"], "biases": ["b"]}},
    "normalized": {"normalizer_fn": tf.contrib.layers.layer_norm, "scope": "fc"},
    "normalizer_params": {
        "normalizer_fn": tf.contrib.layers.batch_norm,
        "normalizer_params": {"is_training": True, "decay": 0.5},
    },
}


def layer(function, shape, *arguments, **options):
    found = function(values.real(*shape), *arguments, **options)
    return dict(collected(), found=found, loss=tf.losses.get_regularization_loss())


for _name, _options in DENSE.items():
    CASES["masked_fully_connected, " + _name] = functools.partial(
        layer, pruning.masked_fully_connected, [3, 4], 2, **_options
    )
    CASES["masked_convolution, " + _name] = functools.partial(
        layer, pruning.masked_convolution, [2, 5, 4, 3], 2, 3, **_options
    )
CASES["masked_fully_connected, rank 3"] = functools.partial(
    layer, pruning.masked_fully_connected, [3, 4, 5], 2
)
CASES["masked_fully_connected, rank 1"] = functools.partial(
    layer, pruning.masked_fully_connected, [3], 2
)
CASES["masked_fully_connected, real size"] = functools.partial(
    layer, pruning.masked_fully_connected, [3, 2], 2.5
)
for _name, _options in {
    "stride": {"stride": 2, "padding": "VALID"},
    "strides": {"stride": [2, 1], "padding": "valid"},
    "rate": {"rate": 2},
    "stride and rate": {"rate": 2, "stride": 2},
    "data_format": {"data_format": "WHAT"},
}.items():
    CASES["masked_conv2d, " + _name] = functools.partial(
        layer, pruning.masked_conv2d, [2, 5, 6, 3], 2, [3, 2], **_options
    )
CASES["masked_conv2d, rank 3"] = functools.partial(layer, pruning.masked_conv2d, [2, 5, 3], 2, 3)


@case("masked_fully_connected, reused")
def reused():
    inputs = values.real(3, 4)
    with tf.contrib.framework.arg_scope([pruning.masked_fully_connected], activation_fn=tf.tanh):
        first = pruning.masked_fully_connected(inputs, 4, scope="fc")
        second = pruning.masked_fully_connected(first, 4, scope="fc", reuse=True)
    return dict(collected(), second=second)


CELLS = {
    "MaskedBasicLSTMCell": lambda: pruning.MaskedBasicLSTMCell(4),
    "MaskedBasicLSTMCell, options": lambda: pruning.MaskedBasicLSTMCell(
        4, 0.5, False, tf.nn.relu, None, "named"
    ),
    "MaskedLSTMCell": lambda: pruning.MaskedLSTMCell(4),
    "MaskedLSTMCell, options": lambda: pruning.MaskedLSTMCell(
        *(4, True, 0.3, tf.ones_initializer()), forget_bias=0.5, activation=tf.nn.relu
    ),
    "MaskedLSTMCell, one state": lambda: pruning.MaskedLSTMCell(4, state_is_tuple=False),
    "MaskedLSTMCell, shards": lambda: pruning.MaskedLSTMCell(4, num_unit_shards=2),
    "MaskedLSTMCell, projected": lambda: pruning.MaskedLSTMCell(4, num_proj=3, proj_clip=0.2),
}


def stepped(name, way):
    cell = CELLS[name]()
    inputs = values.real(2, 3, 3)
    if way == "dynamic":
        outputs, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    else:
        parts = tf.unstack(inputs, axis=1)
        outputs, state = tf.nn.static_rnn(cell, parts, dtype=tf.float32)
    return {
        "outputs": outputs,
        "state": state,
        "sizes": [str(cell.state_size), str(cell.output_size)],
        "masks": pruning.get_masks(),
        "trained": [one.name for one in cell.trainable_variables],
        # In 1.15 a kernel in parts is one of the variables.
        "weights": [one.name for one in cell.variables if "kernel" not in one.name],
    }


for _name in CELLS:
    for _way in ("static", "dynamic"):
        CASES[f"{_name}, {_way}"] = functools.partial(stepped, _name, _way)
CASES["MaskedBasicLSTMCell, unknown size"] = lambda: pruning.MaskedBasicLSTMCell(4).build(
    tf.TensorShape([None, None])
)


@case("get_pruning_hparams")
def defaults():
    found = pruning.get_pruning_hparams().values()
    return {"found": sorted(f"{name} {value}" for name, value in found.items())}


def weights_of(*shapes):
    """Creates masked weights without ties."""
    for place, shape in enumerate(shapes):
        with tf.variable_scope(f"layer_{place}") as scope:
            numbers = values.array(*shape, seed=place + 1)
            initial = tf.constant_initializer(numbers + 0.01 * values.np.sign(numbers))
            weights = tf.get_variable("weights", shape, initializer=initial)
            pruning.apply_mask(weights, scope)


def updated(text, *shapes, **options):
    """Runs the update of the masks twice, at steps 0 and 5."""
    weights_of(*(shapes or [(4, 6), (5,)]))
    step = tf.train.get_or_create_global_step()
    hparams = pruning.get_pruning_hparams().parse(text)
    given = options.get("sparsity")
    method = options.get("method", "mask_update_op")
    sparsity = None if given is None else tf.constant(given)
    pruner = pruning.Pruning(hparams, step, sparsity=sparsity)
    pruner.print_hparams()
    pruner.add_pruning_summaries()
    outputs = collected()
    with tf.control_dependencies([getattr(pruner, method)()]):
        return outputs, [step.assign_add(5)]


FAST = "sparsity_function_end_step=10,initial_sparsity=0.25,target_sparsity=0.75"
for _name, _text in {
    "defaults": "",
    "fast": FAST,
    "linear": FAST + ",sparsity_function_exponent=1.0,sparsity_function_begin_step=2",
    "decay": FAST + ",threshold_decay=0.5,name=pruned",
    "blocks": FAST + ",block_height=2,block_width=2",
    "uneven blocks": FAST + ",block_height=3,block_width=4",
    "maximum": FAST + ",block_height=2,block_width=2,block_pooling_function=MAX",
    "rows": FAST + ",block_height=1,block_width=-1",
    "columns": FAST + ",block_height=-1",
    "one block": FAST + ",block_height=-1,block_width=-1",
    "block_dims_map": FAST + ",block_dims_map=[layer_0:2x3]",
    "other block_dims_map": FAST + ",block_dims_map=[layer_7:2x3]",
    "weight_sparsity_map": FAST + ",weight_sparsity_map=[layer_0:0.5,layer_1.*:0.25]",
    "ambiguous map": FAST + ",weight_sparsity_map=[layer_0:0.5,layer.*:0.25]",
    "ambiguous dims": FAST + ",block_dims_map=[layer_0:2x2,layer.*:1x1]",
    "use_tpu": FAST + ",use_tpu=true",
    "none kept": "initial_sparsity=0.99,target_sparsity=0.99",
}.items():
    CASES["Pruning.mask_update_op, " + _name] = functools.partial(updated, _text)
CASES["Pruning.mask_update_op, sparsity"] = functools.partial(updated, "", sparsity=0.6)
CASES["Pruning.mask_update_op, kernel"] = functools.partial(
    updated, FAST + ",block_height=2,block_width=2", (1, 1, 4, 6), (3, 3, 2, 2), (1, 4)
)
for _name, _text in {
    "defaults": "",
    "fast": FAST + ",pruning_frequency=5",
    "begin": FAST + ",begin_pruning_step=5,pruning_frequency=1",
    "end": FAST + ",end_pruning_step=4,pruning_frequency=0",
    "frequency": FAST + ",pruning_frequency=6",
}.items():
    CASES["Pruning.conditional_mask_update_op, " + _name] = functools.partial(
        updated, _text, method="conditional_mask_update_op"
    )
for _text in (
    *("begin_pruning_step=-1", "begin_pruning_step=20,end_pruning_step=10", "end_pruning_step=-2"),
    *("sparsity_function_begin_step=-1", "sparsity_function_begin_step=100"),
    *("threshold_decay=1.0", "target_sparsity=1.0", "target_sparsity=-0.1", "initial_sparsity=1.0"),
    *("weight_sparsity_map=[a:1.0]", "weight_sparsity_map=[a]", "weight_sparsity_map=[a:b]"),
    *("block_dims_map=[a:4]", "block_dims_map=[a:4x4x4]", "block_dims_map=[a]"),
    *("block_pooling_function=SUM,block_width=2", "block_dims_map=[a:1.5x2]"),
):
    CASES["Pruning, " + _text] = functools.partial(updated, _text)


@case("Pruning, no global step")
def without_step():
    return pruning.Pruning()


@case("Pruning, global step of the graph")
def of_graph():
    tf.train.get_or_create_global_step()
    weights_of((2, 2))
    return {}, [pruning.Pruning().conditional_mask_update_op()]


@case("Pruning, partitioned")
def partitioned():
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)) as scope:
        pruning.apply_mask(tf.get_variable("w", [4, 3]), scope)
    step = tf.train.get_or_create_global_step()
    pruner = pruning.Pruning(global_step=step, sparsity=tf.constant(0.5))
    return {"names": [one.name for one in pruning.get_masks()]}, [pruner.mask_update_op()]


def trained(folder):
    """Trains a layer for four steps."""
    with tf.Graph().as_default():
        inputs = tf.constant(values.array(6, 4))
        tf.identity(inputs, name="inputs")
        outputs = pruning.masked_fully_connected(
            inputs, 3, scope="fc", weights_initializer=tf.constant_initializer(values.array(4, 3))
        )
        tf.identity(outputs, name="outputs")
        loss = tf.reduce_mean(tf.square(outputs - values.array(6, 3, seed=2)))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train_op = tf.contrib.slim.learning.create_train_op(loss, optimizer, step)
        hparams = pruning.get_pruning_hparams().parse(FAST + ",pruning_frequency=1")
        update = pruning.Pruning(hparams, step).conditional_mask_update_op()
        options = {"session_config": values.one_thread(), "save_summaries_secs": 0}
        # 1.15 trains and then fails to return the loss.
        with contextlib.suppress(TypeError):
            pruning.train(
                train_op, folder, update, number_of_steps=4, log_every_n_steps=10, **options
            )


@case("train")
def looped():
    folder = tempfile.mkdtemp()
    try:
        trained(folder)
        reader = tf.train.load_checkpoint(folder)
        names = sorted(reader.get_variable_to_shape_map())
        found = {name: reader.get_tensor(name) for name in names}
    finally:
        shutil.rmtree(folder)
    return {"names": names, "values": found}


@case("graph_def_from_checkpoint, strip_pruning_vars_fn")
def stripped():
    folder = tempfile.mkdtemp()
    try:
        trained(folder)
        # 1.15 reads the graph into the default one.
        with tf.Graph().as_default():
            frozen = pruning.graph_def_from_checkpoint(folder, ["outputs"])
    finally:
        shutil.rmtree(folder)
    small = pruning.strip_pruning_vars_fn(frozen, ["outputs"])
    found = {"nodes": sorted(f"{node.op} {node.name}" for node in small.node)}
    for name, graph_def in (("frozen", frozen), ("stripped", small)):
        with tf.Graph().as_default(), tf.Session(config=values.one_thread()) as session:
            tf.import_graph_def(graph_def, name="")
            found[name] = session.run("outputs:0")
    return found


@case("graph_def_from_checkpoint, no checkpoint")
def without_checkpoint():
    return pruning.graph_def_from_checkpoint(os.path.join(tempfile.gettempdir(), "none"), ["a"])


@case("strip_pruning_vars_fn, no output")
def without_output():
    return pruning.strip_pruning_vars_fn(tf.GraphDef(), ["a"])


@case("private paths")
def private():
    from tensorflow.contrib.model_pruning.python import learning
    from tensorflow.contrib.model_pruning.python import pruning as private_pruning
    from tensorflow.contrib.model_pruning.python.layers import layers, rnn_cells

    same = [
        learning.train is pruning.train,
        private_pruning.apply_mask is pruning.apply_mask,
        private_pruning.Pruning is pruning.Pruning,
        layers.masked_conv2d is pruning.masked_conv2d,
        rnn_cells.MaskedLSTMCell is pruning.MaskedLSTMCell,
    ]
    return {"same": same}
