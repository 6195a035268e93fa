"""Cases of the random choices of tf.contrib.training, and of queues that are fed."""

import functools

import tensorflow as tf
import values

CASES = {}
training = tf.contrib.training


def copied(rates, **options):
    """Returns copies of examples at given rates; the draws of a seed are those of 1.15."""
    inputs = [values.real(4, 2), tf.constant([10, 20, 30, 40])]
    return training.resample_at_rate(inputs, tf.constant(rates), seed=1, **options)


for _name, _rates in {
    "": [3.0, 1.0, 0.5, 0.0],
    ", no copies": [0.0, 0.0, 0.0, 0.0],
    ", many copies": [20.0, 0.0, 30.0, 5.0],
}.items():
    CASES["resample_at_rate" + _name] = functools.partial(copied, _rates)
CASES["resample_at_rate, gradients"] = lambda: copied([3.0, 1.0, 0.5, 0.0], back_prop=True)


def weighted(overall_rate=2.0, **options):
    inputs = [values.real(4, 2), tf.constant([10, 20, 30, 40])]
    copies, rates = training.weighted_resample(
        inputs, tf.constant([3.0, 1.0, 0.5, 0.0]), overall_rate, seed=1, **options
    )
    with tf.control_dependencies([rates]):
        mean = tf.identity(tf.local_variables()[0])
    return {"copies": copies, "rates": rates, "mean": mean}


CASES["weighted_resample"] = weighted
CASES["weighted_resample, scope"] = lambda: weighted(scope="mine", mean_decay=0.5)


def batches(build, count=2):
    """Returns some batches of queues, which are fed until they have been read."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = build()
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            read = [session.run(found) for _ in range(count)]
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)
        return {
            "batches": read,
            "names": str([one.name for one in found]),
            "runners": str([one.name for one in tf.get_collection("queue_runners")]),
            "static": str([one.shape.as_list() for one in found]),
        }


def rejected(many=False, accept=None, **options):
    """Returns batches of examples of which those that `accept` refuses are missing."""

    def build():
        data, labels = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([0, 1])
        tensors = [data, labels] if many else [data[1], labels[1]]
        chosen = accept or (lambda _: tf.constant(1.0))
        return training.rejection_sample(tensors, chosen, 3, enqueue_many=many, **options)

    return batches(build)


CASES["rejection_sample"] = rejected
CASES["rejection_sample, many"] = lambda: rejected(many=True, prebatch_capacity=8)
CASES["rejection_sample, only ones"] = lambda: rejected(
    many=True, accept=lambda tensors: tf.to_float(tensors[1]), name="mine"
)
CASES["rejection_sample, checked"] = lambda: rejected(
    accept=lambda tensors: tf.to_float(tensors[1]), runtime_checks=True
)
CASES["rejection_sample, above 1"] = lambda: rejected(
    accept=lambda tensors: tf.constant(2.0), runtime_checks=True
)
CASES["rejection_sample, other lengths"] = lambda: training.rejection_sample(
    [tf.ones([2, 3]), tf.ones([3])], lambda tensors: tf.constant(1.0), 2, enqueue_many=True
)


def fed():
    """Returns what a queue has received from functions of fed values."""
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, [tf.int32], shapes=[[]])
        placeholder = tf.placeholder(tf.int32, [])
        left = [1, 2, 3]

        def feed():
            if not left:
                raise tf.errors.OutOfRangeError(None, None, "no more")
            return {placeholder: left.pop(0)}

        runner = training.FeedingQueueRunner(
            queue=queue, enqueue_ops=[queue.enqueue([placeholder])], feed_fns=[feed]
        )
        tf.train.add_queue_runner(runner)
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        value = queue.dequeue()
        read = [session.run(value) for _ in range(3)]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=30)
        return {"read": read, "name": runner.name}


CASES["FeedingQueueRunner"] = fed
CASES["FeedingQueueRunner, wrong number"] = lambda: training.FeedingQueueRunner(
    queue=tf.FIFOQueue(10, [tf.int32]), enqueue_ops=[tf.no_op()], feed_fns=[]
)
