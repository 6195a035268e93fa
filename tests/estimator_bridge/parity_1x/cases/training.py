"""Cases of tf.contrib.training."""

import functools
import os
import tempfile

import tensorflow as tf
import values

CASES = {}
training = tf.contrib.training
np = values.np


def case(name, **options):
    def adder(function):
        CASES[name] = functools.partial(function, **options)
        return function

    return adder


def parameters(**more):
    return training.HParams(rate=0.1, layers=3, name="net", flag=True, sizes=[1, 2], **more)


def described(found):
    values_of = found.values()
    return {
        "values": {name: str(values_of[name]) for name in values_of},
        "types": {name: type(values_of[name]).__name__ for name in values_of},
    }


for _name, _text in {
    "": "rate=0.5,layers=7",
    "list": "sizes=[4,5,6],flag=false",
    "index": "sizes[1]=9",
    "text": "name=other",
    "spaces": "rate=1e-3, name = two words",
    "integer for float": "rate=3",
    "float for integer": "layers=3.5",
    "one value for a list": "sizes=4",
    "list for a value": "layers=[1,2]",
    "unknown": "other=3",
    "twice": "rate=1,rate=2",
    "no value": "rate=",
    "no name": "=3",
    "wrong text": "rate=abc",
    "yes": "flag=yes",
    "1": "flag=1",
    "empty": "",
    "empty list": "sizes=[]",
}.items():
    CASES[f"HParams.parse, {_name}"] = lambda text=_text: described(parameters().parse(text))
    CASES[f"parse_values, {_name}"] = lambda text=_text: {
        name: str(one)
        for name, one in training.parse_values(
            text, {"rate": float, "layers": int, "name": str, "flag": bool, "sizes": int}
        ).items()
    }
CASES["HParams.override_from_dict"] = lambda: described(
    parameters().override_from_dict({"rate": 2, "sizes": [5]})
)
CASES["HParams.override_from_dict, unknown"] = lambda: described(
    parameters().override_from_dict({"other": 2})
)
CASES["HParams.override_from_dict, wrong type"] = lambda: described(
    parameters().override_from_dict({"layers": "three"})
)
CASES["HParams.parse_json"] = lambda: described(
    parameters().parse_json('{"rate": 2.5, "flag": false, "sizes": [7, 8]}')
)
CASES["HParams.parse_json, wrong"] = lambda: described(parameters().parse_json('{"rate": "a"}'))
CASES["HParams.to_json"] = lambda: {"text": parameters().to_json(sort_keys=True)}
CASES["HParams.to_json, indent"] = lambda: {
    "text": parameters().to_json(indent=1, separators=(",", ":"), sort_keys=True)
}
CASES["HParams.set_hparam"] = lambda: set_one("layers", 5)
CASES["HParams.set_hparam, wrong type"] = lambda: set_one("layers", "a")
CASES["HParams.set_hparam, None"] = lambda: set_one("layers", None)
CASES["HParams.set_hparam, list"] = lambda: set_one("sizes", 3)
CASES["HParams.add_hparam, twice"] = lambda: parameters().add_hparam("rate", 1)
CASES["HParams.add_hparam, reserved"] = lambda: parameters().add_hparam("parse", 1)
CASES["HParams.add_hparam, empty list"] = lambda: parameters().add_hparam("more", [])
CASES["HParams.get"] = lambda: {
    "found": [parameters().get("rate"), parameters().get("layers", 5), "rate" in parameters()],
    "none": str(parameters().get("other")),
    "default": parameters().get("other", 4),
}
CASES["HParams.get, wrong default"] = lambda: parameters().get("rate", "text")
CASES["HParams.get, list"] = lambda: {"found": parameters().get("sizes", [3])}
CASES["HParams.get, scalar default of a list"] = lambda: {"found": parameters().get("sizes", 3)}
CASES["HParams, text"] = lambda: {"text": str(parameters()), "repr": str(parameters().rate)}


def set_one(name, value):
    found = parameters()
    found.set_hparam(name, value)
    return described(found)


@case("HParams.del_hparam")
def deleted():
    found = parameters()
    found.del_hparam("rate")
    return described(found)


def gradients_and_variables():
    first = tf.get_variable("a", [2, 3], initializer=tf.ones_initializer())
    second = tf.get_variable("b", [4, 2], initializer=tf.ones_initializer())
    sparse = tf.IndexedSlices(values.real(2, 2), tf.constant([3, 1]), tf.constant([4, 2]))
    return [(values.real(2, 3, seed=2), first), (sparse, second)]


def kept(pairs):
    return [gradient for gradient, _ in pairs]


CASES["clip_gradient_norms"] = lambda: kept(
    training.clip_gradient_norms(gradients_and_variables(), 0.5)
)
CASES["clip_gradient_norms_fn"] = lambda: kept(
    training.clip_gradient_norms_fn(0.5)(gradients_and_variables())
)
CASES["multiply_gradients"] = lambda: kept(
    training.multiply_gradients(gradients_and_variables(), {"a": 0.5, "b": tf.constant(2.0)})
)
CASES["multiply_gradients, by variable"] = lambda: multiplied_by_variable()
CASES["multiply_gradients, none"] = lambda: training.multiply_gradients(
    gradients_and_variables(), {}
)
CASES["multiply_gradients, no list"] = lambda: training.multiply_gradients("ab", {"a": 1.0})
CASES["add_gradients_summaries"] = lambda: {
    "number": len(training.add_gradients_summaries(gradients_and_variables()))
}


def multiplied_by_variable():
    pairs = gradients_and_variables()
    return kept(training.multiply_gradients(pairs, {pairs[0][1]: 3.0}))


@case("create_train_op")
@case("create_train_op, clipped", transform_grads_fn=training.clip_gradient_norms_fn(0.1))
@case("create_train_op, summaries", summarize_gradients=True)
@case("create_train_op, without step", global_step=None)
@case("create_train_op, without check", check_numerics=False)
@case("create_train_op, some variables", chosen="a")
@case("create_train_op, own updates", own=True)
@case("create_train_op, missing updates", own=False)
def create_train_op(chosen=None, own=None, **options):
    first = tf.get_variable("a", [3], initializer=tf.ones_initializer())
    second = tf.get_variable("b", [3], initializer=tf.ones_initializer())
    counter = tf.get_variable("count", [], trainable=False, initializer=tf.zeros_initializer())
    update = tf.assign_add(counter, 1.0)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    if own is not None:
        options["update_ops"] = [update] if own else []
    if chosen:
        options["variables_to_train"] = [first]
    tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(first * second * values.real(3))
    operation = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1), **options)
    return {"loss": loss}, [operation]


@case("get_or_create_eval_step")
def eval_step():
    return [training.get_or_create_eval_step(), training.get_or_create_eval_step()]


@case("GreedyLoadBalancingStrategy")
@case("GreedyLoadBalancingStrategy, load of one", load=lambda op: 1.0)
def greedy(load=training.byte_size_load_fn):
    strategy = training.GreedyLoadBalancingStrategy(3, load)
    shapes = [(5,), (2, 2), (9,), (1,), (4,), (3,), (2,)]
    tensors = [tf.placeholder(tf.float32, shape) for shape in shapes]
    return {"tasks": [strategy(one.op) for one in tensors]}


CASES["byte_size_load_fn"] = lambda: {
    "sizes": [
        training.byte_size_load_fn(tf.placeholder(dtype, shape).op)
        for dtype, shape in [(tf.float32, (2, 3)), (tf.float64, ()), (tf.int8, (4,))]
    ]
}
CASES["byte_size_load_fn, unknown shape"] = lambda: {
    "size": training.byte_size_load_fn(tf.placeholder(tf.float32, (None, 3)).op)
}


def trained(folder, steps=3, **options):
    weight = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.square(weight * values.array(2, seed=4)))
    tf.summary.scalar("loss", loss)
    operation = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    hooks = [tf.train.StopAtStepHook(num_steps=steps), *options.pop("hooks", [])]
    return training.train(operation, folder, hooks=hooks, **options)


def checkpoint_of(folder):
    reader = tf.train.load_checkpoint(folder)
    return {name: reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())}


def event_tags(folder):
    found = set()
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                found.update(f"{event.step} {one.tag}" for one in event.summary.value)
    return sorted(tag for tag in found if "sec" not in tag)


@case("train")
@case("train, no checkpoints", save_checkpoint_secs=None)
@case("train, summaries", save_summaries_steps=1)
@case("train, chief's hook", counted=True)
def train(counted=False, **options):
    folder = tempfile.mkdtemp()
    if counted:
        options["chief_only_hooks"] = [tf.train.StopAtStepHook(last_step=2)]
    loss = trained(folder, **options)
    files = sorted(one.partition(".out")[0] for one in os.listdir(folder))
    found = {"loss": loss, "tags": event_tags(folder)}
    found["files"] = [one for one in files if "tfevents" not in one]
    if tf.train.latest_checkpoint(folder):
        found.update(checkpoint_of(folder))
    return found


CASES["train, no folder"] = lambda: trained(None)
CASES["train, no folder but nothing to write"] = lambda: {
    "loss": trained(None, save_checkpoint_secs=None, save_summaries_steps=None)
}


@case("evaluate_once", once=True)
@case("evaluate_once, without operations", once=True, without=True)
@case("evaluate_repeatedly")
@case("evaluate_repeatedly, summaries", summaries=True)
def evaluated(once=False, without=False, summaries=False):
    folder, logs = tempfile.mkdtemp(), tempfile.mkdtemp()
    with tf.Graph().as_default():
        trained(folder)
    with tf.Graph().as_default():
        weight = tf.get_variable("w", [2])
        tf.train.get_or_create_global_step()
        mean, update = tf.metrics.mean(tf.reduce_sum(weight))
        tf.summary.scalar("mean", mean)
        hooks = [training.StopAfterNEvalsHook(2)]
        if summaries:
            hooks.append(training.SummaryAtEndHook(logs))
        options = {
            "eval_ops": None if without else update,
            "final_ops": {"mean": mean, "evals": training.get_or_create_eval_step()},
            "hooks": hooks,
        }
        if once:
            found = training.evaluate_once(tf.train.latest_checkpoint(folder), **options)
        else:
            found = training.evaluate_repeatedly(
                folder, max_number_of_evaluations=1, eval_interval_secs=0, **options
            )
    return dict(found, tags=event_tags(logs) if summaries else [])


CASES["SummaryAtEndHook, two writers"] = lambda: {
    "hook": isinstance(training.SummaryAtEndHook("a", "b"), tf.train.SessionRunHook)
}
CASES["SummaryAtEndHook, no writer"] = lambda: training.SummaryAtEndHook()
CASES["wait_for_new_checkpoint, none"] = lambda: {
    "found": str(training.wait_for_new_checkpoint(tempfile.mkdtemp(), None, 0.01, timeout=0.05))
}
CASES["checkpoints_iterator, none"] = lambda: {
    "found": str(list(training.checkpoints_iterator(tempfile.mkdtemp(), timeout=0.05)))
}


def queued(build):
    """Returns the batches of a queue until the input ends, in an order of their own.

    The session of a case starts no queue runners, and its input would never end: the batches are
    read here. Each bucket has a thread; which of them comes first is not fixed.
    """
    counter = tf.train.range_input_producer(9, 1, shuffle=False, capacity=1).dequeue()
    batch = build(counter)
    found = {"shapes": [str(one.shape) for one in tf.nest.flatten(batch)]}
    with tf.Session(config=values.one_thread()) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        batches = []
        try:
            while True:
                batches.append(session.run(batch, options=tf.RunOptions(timeout_in_ms=60000)))
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
    batches.sort(key=lambda one: str(tf.nest.flatten(one)))
    return dict(found, batches=batches)


def example(number):
    """Returns the tensors of an example: as many numbers as its number modulo 4, plus one."""
    return {"n": number, "row": tf.fill([number % 4 + 1], tf.cast(number, tf.float32))}


for _name, _options in {
    "": {},
    ", smaller at the end": {"allow_smaller_final_batch": True},
    ", sizes": {"batch_size": [3, 1], "allow_smaller_final_batch": True},
    ", capacities": {"bucket_capacities": [4, 3], "capacity": 2},
    ", some kept": {"keep_input": True, "allow_smaller_final_batch": True},
    ", named": {"name": "mine", "shared_name": "shared"},
    ", one bucket": {"num_buckets": 1},
    ", sizes of another number": {"batch_size": [3]},
    ", capacities of another number": {"bucket_capacities": [4]},
}.items():
    CASES["bucket" + _name] = lambda options=_options: queued(
        lambda number: training.bucket(
            {"n": number}, number % 2, **dict({"batch_size": 2, "num_buckets": 2}, **options)
        )
    )
CASES["bucket, padded"] = lambda: queued(
    lambda number: training.bucket(
        example(number), number % 2, 2, 2, dynamic_pad=True, allow_smaller_final_batch=True
    )
)
CASES["bucket, list"] = lambda: queued(
    lambda number: training.bucket([number, number * 2], number % 2, 2, 2)
)
CASES["bucket, dropped"] = lambda: queued(
    lambda number: training.bucket([number], number % 2, 2, 2, keep_input=number < 5)
)
for _name, _options in {
    "": {},
    ", smaller at the end": {"allow_smaller_final_batch": True},
    ", sizes": {"batch_size": [1, 2, 1], "allow_smaller_final_batch": True},
    ", no boundaries": {"bucket_boundaries": []},
    ", falling boundaries": {"bucket_boundaries": [3, 2]},
    ", real boundaries": {"bucket_boundaries": [2.0, 3.0]},
}.items():
    CASES["bucket_by_sequence_length" + _name] = lambda options=_options: queued(
        lambda number: training.bucket_by_sequence_length(
            number % 4 + 1,
            example(number),
            **dict({"batch_size": 2, "bucket_boundaries": [2, 4], "dynamic_pad": True}, **options),
        )
    )


def saved_states(steps=3, save=None, count=5, **options):
    """Returns what batches of sequences of 2, 4 and 6 steps have, of which segments have three.

    As many sequences are kept as a batch has, so their order is fixed. More steps than there are
    whole batches would meet a race between the last one and the end of the input.
    """
    number = tf.train.range_input_producer(count, 1, shuffle=False, capacity=1).dequeue()
    rows = tf.fill(tf.stack([2 * (number % 3 + 1), 1]), tf.to_float(number))
    given = {
        "input_key": tf.as_string(number),
        "input_sequences": {"x": rows},
        "input_context": {"c": tf.to_float(number)},
        "input_length": None,
        "initial_states": {"a": tf.zeros([1]), "b": np.ones(2, np.float32)},
        "num_unroll": 3,
        "batch_size": 2,
        "num_threads": 1,
        "capacity": 2,
    }
    batch = training.batch_sequences_with_states(**dict(given, **options))
    names = ["batch_size", "insertion_index", "key", "length", "next_key", "sequence"]
    names += ["sequence_count", "total_length", "context", "sequences"]
    found = {name: getattr(batch, name) for name in names}
    found["states"] = {name: batch.state(name) for name in "ab"}
    total = tf.reduce_sum(batch.sequences["x"], [1, 2]) if "x" in batch.sequences else 1.0
    changed = {
        name: tf.transpose(tf.transpose(one) + total) for name, one in found["states"].items()
    }
    changed.update(save or {})
    saved = [batch.save_state(name, changed[name]) for name in sorted(changed)]
    dense = [one for one in tf.nest.flatten(found) if isinstance(one, tf.Tensor)]
    shapes = [str(one.shape) for one in dense]
    summaries = [one.op.name for one in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    runners = [one.name for one in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)]
    # With one thread, an operation that waits would stop all others.
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=4)
    with tf.Session(config=config) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        # The threads end with the session; a coordinator would wait for them in vain.
        tf.train.start_queue_runners(session)
        batches = []
        for _ in range(steps):
            options = tf.RunOptions(timeout_in_ms=60000)
            batches.append(session.run([found, saved], options=options)[0])
    tf.get_default_graph().clear_collection(tf.GraphKeys.SUMMARIES)
    return {"batches": batches, "shapes": shapes, "summaries": summaries, "runners": runners}


def sparse_steps():
    places, words = [[0, 0], [1, 0], [1, 1], [3, 0]], list("abcd")
    return tf.SparseTensor(places, words, [5, 2])


for _name, _options in {
    "": {},
    ", unique keys": {"make_keys_unique": True, "make_keys_unique_seed": 5},
    ", whole batches": {"allow_small_batch": False},
    ", named": {"name": "mine"},
    ", length": {"input_length": 1},
    ", batch size of a tensor": {"batch_size": tf.int32.as_numpy_dtype(2)},
    ", no step": {"num_unroll": 0},
    ", half a step": {"num_unroll": 2.5},
    ", negative steps": {"num_unroll": -1},
    ", list of sequences": {"input_sequences": [1]},
    ", list of context": {"input_context": [1]},
    ", list of states": {"initial_states": [1]},
    ", no sequences": {"input_sequences": {}},
    ", no states": {"initial_states": {}},
    ", key of an integer": {"input_key": 3},
    ", keys": {"input_key": ["a"]},
    ", no threads": {"num_threads": 0},
    ", small capacity": {"capacity": 1},
    ", colon in a state": {"initial_states": {"a:": np.zeros(1, np.float32)}},
    ", colon in a sequence": {"input_sequences": {"a:": np.zeros([3, 1], np.float32)}},
    ", colon in a context": {"input_context": {"a:": np.zeros(1, np.float32)}},
    ", number of a sequence": {"input_sequences": {4: np.zeros([3, 1], np.float32)}},
    ", number of a context": {"input_context": {4: np.zeros(1, np.float32)}},
    ", length of a real number": {"input_length": 3.0},
    ", no length": {"pad": False},
    ", unknown state": {"save": {"q": 1.0}},
}.items():
    CASES["batch_sequences_with_states" + _name] = functools.partial(saved_states, **_options)
CASES["batch_sequences_with_states, sparse"] = lambda: saved_states(
    input_sequences={"s": sparse_steps(), "t": tf.constant(list("vwxyz"))},
    input_context={"r": tf.SparseTensor([[1], [3]], [2, 7], [5]), "c": tf.zeros([2])},
)
CASES["batch_sequences_with_states, sparse alone"] = lambda: saved_states(
    input_sequences={"s": sparse_steps()}, input_context={}
)
CASES["batch_sequences_with_states, unknown shape"] = lambda: saved_states(
    input_sequences={"x": tf.placeholder_with_default(values.array(3, 1), [None, None])}
)
CASES["batch_sequences_with_states, unequal lengths"] = lambda: saved_states(
    input_sequences={"x": tf.zeros([3, 1]), "y": tf.zeros([4, 1])}
)
CASES["batch_sequences_with_states, whole segments"] = lambda: saved_states(
    input_length=tf.constant(1), num_unroll=2, pad=False
)
