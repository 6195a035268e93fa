"""Cases of tf.contrib.util, input_pipeline, batching and autograph, and of windows of datasets."""

import tensorflow as tf
import values

CASES = {}
contrib = tf.contrib
util, data, obtain_next = contrib.util, contrib.data, contrib.input_pipeline.obtain_next


def graph_def():
    with tf.Graph().as_default() as graph:
        tf.reduce_sum(tf.placeholder(tf.float32, [2]) * [1.0, 2.0])
        return graph.as_graph_def()


def unknown_operation():
    found = tf.GraphDef()
    found.node.add(op="NoSuchOperation", name="a")
    return util.stripped_op_list_for_graph(found)


CASES["util.ops_used_by_graph_def"] = lambda: {
    "found": sorted(util.ops_used_by_graph_def(graph_def()))
}
CASES["util.stripped_op_list_for_graph"] = lambda: {
    "found": [one.name for one in util.stripped_op_list_for_graph(graph_def()).op]
}
CASES["util.stripped_op_list_for_graph, unknown"] = unknown_operation


def strings(start, size=3):
    counter = tf.Variable(tf.constant(start, tf.int64), trainable=False)
    following = obtain_next(tf.constant(["a", "b", "c"][:size]), counter)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(following).decode() for _ in range(5)]
        return {"found": found, "counter": session.run(counter), "shape": str(following.shape)}


CASES["input_pipeline.obtain_next"] = lambda: strings(-1)
CASES["input_pipeline.obtain_next, in the middle"] = lambda: strings(1)
CASES["input_pipeline.obtain_next, one string"] = lambda: strings(-1, 1)
CASES["input_pipeline.obtain_next, no variable"] = lambda: obtain_next(
    tf.constant(["a"]), tf.constant(0, tf.int64)
)


def batched():
    @contrib.batching.batch_function(1, 10, 1000, [5, 10])
    def double(one):
        return one * 2.0

    return double(values.real(3, 2))


CASES["batching.batch_function"] = batched


def elements(dataset):
    """Returns all elements of a dataset as text, and their shapes."""
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
        try:
            while True:
                one = contrib.framework.nest.flatten(session.run(following))
                found.append(str([part.tolist() for part in one]))
        except tf.errors.OutOfRangeError:
            return {"found": found, "shapes": str(tf.data.get_output_shapes(dataset))}


for _options in [
    *({"window_size": 3}, {"window_size": 3, "window_shift": 2}, {"window_size": 3, "stride": 2}),
    *({"window_size": 3, "window_stride": 2}, {"window_size": 9}),
    *({"window_size": 2, "window_shift": 4}, {"window_size": 2, "stride": 2, "window_shift": 2}),
    *({"window_size": 0}, {"window_size": 2, "window_shift": 0}),
    *({"window_size": 2, "window_stride": 0},),
    {"window_size": 3, "window_stride": 2, "window_shift": 2},
]:
    _text = ", ".join(f"{name} {value}" for name, value in _options.items())
    CASES["data.sliding_window_batch, " + _text] = lambda options=_options: elements(
        tf.data.Dataset.range(7).apply(data.sliding_window_batch(**options))
    )


def pairs(*parts):
    dataset = tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])
    return elements(dataset.apply(data.sliding_window_batch(2)))


CASES["data.sliding_window_batch, pairs"] = lambda: pairs(tf.ones([4, 2]), tf.range(4))
CASES["data.sliding_window_batch, dict"] = lambda: pairs({"a": tf.ones([4, 2]), "b": tf.range(4)})
CASES["data.sliding_window_batch, nested"] = lambda: pairs(
    {"a": tf.ones([4, 2])}, (tf.range(4), tf.range(4))
)
CASES["data.sloppy_interleave"] = lambda: {
    # Which dataset is read first, nothing says.
    "found": sorted(
        elements(
            tf.data.Dataset.range(3).apply(
                data.sloppy_interleave(lambda i: tf.data.Dataset.range(i, i + 2), 2, block_length=1)
            )
        )["found"]
    )
}


# tf.contrib.autograph, and old names of tf.contrib.distribute.
autograph, distribute = contrib.autograph, contrib.distribute


@autograph.convert()
def halved(x):
    while tf.reduce_sum(x) > 1.0:
        autograph.set_loop_options(maximum_iterations=10)
        x /= 2.0
    return x


@autograph.convert()
def gathered(number):
    found = []
    autograph.set_element_type(found, tf.float32)
    for one in tf.range(number):
        found.append(tf.cast(one, tf.float32) * 2.0)
    return autograph.stack(found)


@autograph.do_not_convert
def left_alone(x):
    return x if isinstance(x, tf.Tensor) else None


CASES["autograph.convert"] = lambda: halved(values.given([3.0, 2.0]))
CASES["autograph.stack"] = lambda: gathered(tf.constant(3))
CASES["autograph.stack, of a number"] = lambda: autograph.stack(3.0)
CASES["autograph.stack, not strict"] = lambda: {"found": autograph.stack(3.0, strict=False)}
CASES["autograph.do_not_convert"] = lambda: left_alone(values.real(2))
CASES["autograph.Feature"] = lambda: {
    "found": [autograph.Feature.ALL.name, autograph.Feature.LISTS.name],
    "uses": autograph.ConversionOptions(optional_features=autograph.Feature.LISTS).uses(
        autograph.Feature.LISTS
    ),
    "mapper": isinstance(autograph.StackTraceMapper, type),
    "error": issubclass(autograph.AutoGraphError, Exception),
}


def strategies():
    strategy = distribute.OneDeviceStrategy("/cpu:0")
    found = {
        "class": isinstance(strategy, distribute.DistributionStrategy),
        "outside": bool(distribute.has_distribution_strategy()),
        "context": isinstance(distribute.get_replica_context(), distribute.ReplicaContext),
    }
    distribute.require_replica_context(distribute.get_replica_context())
    with strategy.scope():
        found["inside"] = bool(distribute.has_distribution_strategy())
        found["same"] = distribute.get_distribution_strategy() is strategy
        with distribute.UpdateContext(0):
            found["update"] = distribute.get_replica_context() is None
    return found


CASES["distribute, old names"] = strategies
