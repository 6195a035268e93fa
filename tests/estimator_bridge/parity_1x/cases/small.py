"""Cases of the smallest packages of tf.contrib: tpu, distribute, cluster_resolver and others."""

import functools
import importlib
import os
import tempfile

import tensorflow as tf
import values

CASES = {}
contrib, np = tf.contrib, values.np
signal, tpu, distribute = contrib.signal, contrib.tpu, contrib.distribute
rnn, seq2seq, layers = contrib.rnn, contrib.seq2seq, contrib.layers


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


# tf.contrib.tpu, without TPUs.


@case("tpu.CrossShardOptimizer, not on a TPU")
def crossed():
    weight = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
    return {"slots": optimizer.get_slot_names(), "name": optimizer.get_name(), "w": weight}


@case("tpu.bfloat16_scope")
def narrow():
    with tpu.bfloat16_scope():
        weight = tf.get_variable("w", [3], tf.bfloat16, tf.ones_initializer())
    return {"type": weight.dtype.name, "value": tf.cast(weight, tf.float32)}


CASES["tpu.repeat, not on a TPU"] = lambda: tpu.repeat(3, lambda x: [x * 2.0], [values.real(2)])
CASES["tpu.while_loop, not on a TPU"] = lambda: tpu.while_loop(
    lambda i, x: i < 3, lambda i, x: [i + 1, x * 2.0], [tf.constant(0), values.real(2)]
)
CASES["tpu.outside_compilation"] = lambda: tpu.outside_compilation(
    lambda x: x * 2.0, values.real(2)
)
CASES["tpu.core"] = lambda: {"found": tpu.core(2)}
CASES["tpu.InputPipelineConfig"] = lambda: {
    "found": [
        f"{name} {getattr(tpu.InputPipelineConfig, name)}"
        for name in ("PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2", "BROADCAST", "SLICED")
    ]
}
CASES["tpu.TPUConfig"] = lambda: {
    "found": [
        f"{name} {getattr(tpu.TPUConfig(7, 2, per_host_input_for_training=True), name)}"
        for name in (
            *("iterations_per_loop", "num_shards", "num_cores_per_replica", "tpu_job_name"),
            *(
                "per_host_input_for_training",
                "initial_infeed_sleep_secs",
                "eval_training_input_configuration",
            ),
        )
    ]
}
for _name, _options in {
    "iterations": {"iterations_per_loop": 0},
    "shards": {"num_shards": -1},
    "cores": {"num_cores_per_replica": 3},
}.items():
    CASES[f"tpu.TPUConfig, wrong {_name}"] = lambda options=_options: tpu.TPUConfig(**options)
CASES["tpu.RunConfig"] = lambda: {
    "found": [
        str(getattr(tpu.RunConfig(tpu.TPUConfig(3), master="local"), name))
        for name in ("master", "evaluation_master", "save_checkpoints_secs", "cluster")
    ]
}


def built(name, *arguments):
    """Builds a graph for TPUs, which nothing here can run."""
    found = getattr(tpu, name)(*arguments)
    return {"number": len(tf.contrib.framework.nest.flatten(found))}


def squared(x):
    return x * x


for _name, _arguments in {
    "rewrite": lambda: (squared, [values.real(2)]),
    "replicate": lambda: (squared, [[values.real(2)], [values.real(2, seed=2)]]),
    "shard": lambda: (squared, [values.real(4)], 2),
    "batch_parallel": lambda: (squared, [values.real(4)], 2),
}.items():
    CASES["tpu." + _name] = lambda name=_name, arguments=_arguments: built_in_graph(name, arguments)


def built_in_graph(name, arguments):
    with tf.Graph().as_default():
        return built(name, *arguments())


for _name in ("initialize_system", "shutdown_system"):
    CASES["tpu." + _name] = lambda name=_name: {"type": system(name)}
CASES["tpu.cross_replica_sum"] = lambda: {"type": system("cross_replica_sum", [1.0])}


def system(name, *arguments):
    with tf.Graph().as_default():
        found = getattr(tpu, name)(*arguments)
        return getattr(found, "op", found).type


@case("tpu.AsyncCheckpointSaverHook")
def saved_by_hook():
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        tf.get_variable("w", [3], initializer=tf.ones_initializer())
        operation = tf.assign_add(step, 1)
        hook = tpu.AsyncCheckpointSaverHook(folder, save_steps=2)
        with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
            for _ in range(5):
                session.run(operation)
        names = [name for name, _ in tf.train.list_variables(folder)]
    return {"names": names, "newest": os.path.basename(tf.train.latest_checkpoint(folder))}


# tf.contrib.distribute, in one process.
def stepped(make):
    with tf.Graph().as_default():
        strategy = make()
        with strategy.scope():
            inside = [bool(distribute.has_strategy()), bool(distribute.in_cross_replica_context())]
            weight = tf.get_variable("w", [2], initializer=tf.ones_initializer())
            per_replica = strategy.experimental_run_v2(lambda: tf.reduce_sum(weight * 2.0))
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)
        with tf.Session(config=values.one_thread()) as session:
            session.run(tf.global_variables_initializer())
            total = session.run(total)
        return {
            "total": total,
            "inside": inside,
            "outside": bool(distribute.has_strategy()),
            "replicas": strategy.num_replicas_in_sync,
            "default": distribute.get_strategy().num_replicas_in_sync,
            "names": [one.name for one in tf.global_variables()],
        }


CASES["distribute.OneDeviceStrategy"] = lambda: stepped(
    lambda: distribute.OneDeviceStrategy("/cpu:0")
)
CASES["distribute.MirroredStrategy"] = lambda: stepped(
    lambda: distribute.MirroredStrategy(["/cpu:0"])
)
CASES["distribute.MirroredStrategy, no GPUs"] = lambda: stepped(
    lambda: distribute.MirroredStrategy(num_gpus=0)
)
CASES["distribute.MirroredStrategy, reduction"] = lambda: stepped(
    lambda: distribute.MirroredStrategy(
        ["/cpu:0"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
)
CASES["distribute.AllReduceCrossDeviceOps"] = lambda: {
    "is": isinstance(
        distribute.AllReduceCrossDeviceOps("hierarchical_copy"), distribute.CrossDeviceOps
    )
}
CASES["distribute.get_loss_reduction"] = lambda: {"found": str(distribute.get_loss_reduction())}
CASES["distribute.DistributeConfig"] = lambda: {
    "found": [str(one) for one in distribute.DistributeConfig(eval_distribute=3)]
}
CASES["distribute.get_cross_replica_context"] = lambda: {
    "found": distribute.get_cross_replica_context() is None,
    "replica": distribute.get_replica_context().num_replicas_in_sync,
}

# tf.contrib.cluster_resolver.
resolver = contrib.cluster_resolver
CLUSTER = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}


def resolved(made):
    spec = made.cluster_spec()
    return {
        "cluster": spec.as_dict() if hasattr(spec, "as_dict") else str(spec),
        "master": made.master(),
        "is": isinstance(made, resolver.ClusterResolver),
        "task": [str(getattr(made, name)) for name in ("task_type", "task_id")],
    }


CASES["cluster_resolver.SimpleClusterResolver"] = lambda: resolved(
    resolver.SimpleClusterResolver(tf.train.ClusterSpec(CLUSTER), "grpc://a:1", "worker", 1)
)
CASES["cluster_resolver.UnionClusterResolver"] = lambda: resolved(
    resolver.UnionClusterResolver(
        resolver.SimpleClusterResolver(tf.train.ClusterSpec(CLUSTER), task_type="ps", task_id=0),
        resolver.SimpleClusterResolver(tf.train.ClusterSpec({"chief": ["d:4"]})),
    )
)


def with_environment(variables, make):
    kept = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        return resolved(make())
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


TF_CONFIG = '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}'
CASES["cluster_resolver.TFConfigClusterResolver"] = lambda: with_environment(
    {"TF_CONFIG": TF_CONFIG}, lambda: resolver.TFConfigClusterResolver()
)
CASES["cluster_resolver.TFConfigClusterResolver, given"] = lambda: with_environment(
    {"TF_CONFIG": TF_CONFIG}, lambda: resolver.TFConfigClusterResolver("ps", 0, "grpc+x")
)
# tf.contrib.autograph, staging, util, stateless, framework and the like.


def sign(x):
    if x > 0:
        return x * 2.0
    return -x


CASES["autograph.to_graph"] = lambda: [
    contrib.autograph.to_graph(sign)(tf.constant(one)) for one in (1.5, -1.5)
]
CASES["autograph.to_code"] = lambda: {"text": "sign" in contrib.autograph.to_code(sign)}


@case("staging.StagingArea")
@case("staging.StagingArea, names", names=["a", "b"])
@case("staging.StagingArea, sizes", shapes=[[2], []], capacity=3, memory_limit=1000)
def staged(names=None, **options):
    area = contrib.staging.StagingArea([tf.float32, tf.int32], names=names, **options)
    given = [tf.constant([1.0, 2.0]), tf.constant(3)]
    put = area.put(dict(zip(names, given)) if names else given)
    size, got = area.size(), area.get()
    with tf.Session() as session:
        session.run(put)
        counted = session.run(size)
        return {"size": counted, "got": session.run(got), "shapes": str(area.shapes)}


CASES["staging.StagingArea, wrong type"] = lambda: contrib.staging.StagingArea([tf.float32]).put(
    [tf.constant(1)]
)
util = contrib.util
CASES["util.constant_value"] = lambda: {
    "found": util.constant_value(tf.fill([2], 3)),
    "none": str(util.constant_value(tf.placeholder(tf.float32))),
}
CASES["util.make_tensor_proto"] = lambda: {
    "array": util.make_ndarray(util.make_tensor_proto([[1.0, 2.0]], tf.float64)),
    "filled": util.make_ndarray(util.make_tensor_proto(3, shape=[2, 2])),
    "text": str(util.make_tensor_proto(["a"])),
}
CASES["util.make_tensor_proto, other shape"] = lambda: util.make_tensor_proto(
    [1.0, 2.0], shape=[3], verify_shape=True
)
CASES["stateless.multinomial"] = lambda: contrib.stateless.stateless_multinomial(
    values.real(2, 3), 6, [1, 2]
)
CASES["stateless.multinomial, type"] = lambda: contrib.stateless.stateless_multinomial(
    values.real(2, 3), 6, seed=[1, 2], output_dtype=tf.int32
)
CASES["framework.TensorSpec"] = lambda: {
    "found": [
        str(contrib.framework.TensorSpec([2, None])),
        contrib.framework.TensorSpec.from_tensor(values.real(2)).name,
    ]
}
CASES["framework.current_arg_scope"] = lambda: {
    "found": str(contrib.framework.current_arg_scope()),
    "inside": inside_scope(),
}


def inside_scope():
    with contrib.framework.arg_scope([layers.fully_connected], activation_fn=None):
        return len(contrib.framework.current_arg_scope())


@case("framework.add_model_variable")
def of_the_model():
    weight = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    contrib.framework.add_model_variable(weight)
    contrib.framework.add_model_variable(weight)
    return {"names": contrib.framework.get_variable_full_name(weight), "w": weight}


CASES["framework.nest"] = lambda: {
    "flat": contrib.framework.nest.flatten({"b": [1, 2], "a": (3,)}),
    "packed": str(contrib.framework.nest.pack_sequence_as([1, (2,)], [5, 6])),
    "mapped": str(contrib.framework.nest.map_structure(lambda x: x + 1, [1, (2,)])),
}
for _name, _package in {"cloud": "configure_gcs", "compiler": "xla"}.items():
    CASES[_name + ", imported"] = lambda name=_name, inner=_package: {
        "found": hasattr(importlib.import_module("tensorflow.contrib." + name), inner)
    }
CASES["cloud.BlockCacheParams"] = lambda: {
    "found": [
        contrib.cloud.BlockCacheParams().block_size,
        contrib.cloud.BlockCacheParams(max_bytes=5, max_staleness=2).max_bytes,
    ]
}


@case("deprecated.merge_summary")
def merged():
    one = contrib.deprecated.scalar_summary("a", 1.0)
    other = contrib.deprecated.scalar_summary(["b", "c"], [2.0, 3.0])
    contrib.deprecated.audio_summary("d", tf.zeros([1, 20]), 10.0, max_outputs=1)
    found = {}
    with tf.Session() as session:
        for name, operation in [
            ("two", contrib.deprecated.merge_summary([one, other])),
            ("all", contrib.deprecated.merge_all_summaries()),
        ]:
            content = tf.Summary.FromString(session.run(operation))
            found[name] = sorted(value.tag for value in content.value)
    return found


CASES["deprecated.merge_all_summaries, none"] = lambda: {
    "found": str(contrib.deprecated.merge_all_summaries())
}
CASES["mixed_precision.LossScaleManager"] = lambda: {
    "is": isinstance(
        contrib.mixed_precision.FixedLossScaleManager(2.0),
        contrib.mixed_precision.LossScaleManager,
    )
}


@case("opt.DecoupledWeightDecayExtension")
def decayed():
    class Mine(contrib.opt.DecoupledWeightDecayExtension, tf.train.GradientDescentOptimizer):
        def __init__(self, decay, rate):
            super().__init__(decay, learning_rate=rate)

    weight = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    operation = Mine(0.1, 0.5).minimize(tf.reduce_sum(weight * [1.0, 2.0, 3.0]))
    return {"w": weight}, [operation]


CASES["crf.CrfForwardRnnCell"] = lambda: contrib.crf.CrfForwardRnnCell(values.real(3, 3))(
    values.real(2, 3, seed=2), values.real(2, 3, seed=3)
)
lookup = contrib.lookup


def hashed(spec):
    table = lookup.index_table_from_tensor(["a"], num_oov_buckets=5, hasher_spec=spec)
    found = table.lookup(tf.constant(["a", "b", "c", "d"]))
    return {
        "found": found,
        "spec": [spec.hasher, str(spec.key)],
        "is": [isinstance(spec, lookup.HasherSpec), isinstance(table, lookup.LookupInterface)],
    }


CASES["lookup.FastHashSpec"] = lambda: hashed(lookup.FastHashSpec)
CASES["lookup.StrongHashSpec"] = lambda: hashed(lookup.StrongHashSpec([1, 2]))
CASES["lookup.InitializableLookupTableBase"] = lambda: {
    "is": issubclass(lookup.HashTable, lookup.InitializableLookupTableBase)
}
