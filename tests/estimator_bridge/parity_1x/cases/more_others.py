"""Cases of names of tf.contrib.nn, crf, losses.metric_learning and estimator."""

import functools

import tensorflow as tf
import values

CASES = {}
contrib = tf.contrib
CLASSES, SIZE = 8, 3


def softmax_inputs(parts=1):
    """Returns weights, biases, labels and inputs of a sampled softmax."""
    weights = [values.real(CLASSES // parts, SIZE, seed=1 + part) for part in range(parts)]
    biases = [values.real(CLASSES // parts, seed=5 + part) for part in range(parts)]
    if parts == 1:
        weights, biases = weights[0], biases[0]
    labels = tf.constant([[1], [2], [7], [0]], tf.int64)
    return weights, biases, labels, values.real(4, SIZE, seed=9)


def drawn(*classes):
    """Returns the classes that a sampler would draw, with expected counts."""
    return (
        tf.constant(classes, tf.int64),
        values.real(4, 1, seed=3, low=0.2, high=0.9),
        values.real(len(classes), seed=4, low=0.2, high=0.9),
    )


def sparse_softmax(parts=1, chosen=(0, 2, 5), **options):
    return contrib.nn.sampled_sparse_softmax_loss(
        *softmax_inputs(parts),
        num_sampled=3,
        num_classes=CLASSES,
        sampled_values=drawn(*chosen) if chosen else None,
        **options,
    )


def rank_softmax(parts=1, resampled=2, chosen=(0, 2, 5, 6), remove=True, **options):
    return contrib.nn.rank_sampled_softmax_loss(
        *softmax_inputs(parts),
        num_sampled=4,
        num_resampled=resampled,
        num_classes=CLASSES,
        num_true=1,
        sampled_values=drawn(*chosen) if chosen else None,
        resampling_temperature=options.pop("temperature", 0.5),
        remove_accidental_hits=remove,
        partition_strategy=options.pop("strategy", "div"),
        **options,
    )


for _name, _function, _options in [
    ("sampled_sparse_softmax_loss", sparse_softmax, {}),
    ("sampled_sparse_softmax_loss, hits", sparse_softmax, {"remove_accidental_hits": False}),
    ("sampled_sparse_softmax_loss, parts", sparse_softmax, {"parts": 2}),
    (
        "sampled_sparse_softmax_loss, div",
        sparse_softmax,
        {"parts": 2, "partition_strategy": "div", "name": "mine"},
    ),
    ("sampled_sparse_softmax_loss, drawn", sparse_softmax, {"chosen": ()}),
    ("rank_sampled_softmax_loss", rank_softmax, {}),
    ("rank_sampled_softmax_loss, hits", rank_softmax, {"remove": False, "name": "mine"}),
    ("rank_sampled_softmax_loss, three", rank_softmax, {"resampled": 3, "temperature": 2.0}),
    ("rank_sampled_softmax_loss, parts", rank_softmax, {"parts": 2, "strategy": "mod"}),
    ("rank_sampled_softmax_loss, drawn", rank_softmax, {"chosen": ()}),
    ("rank_sampled_softmax_loss, too many", rank_softmax, {"resampled": 4}),
]:
    CASES["nn." + _name] = functools.partial(_function, **_options)
for _padding in ("SAME", "VALID"):
    CASES[f"nn.conv1d_transpose, {_padding}"] = functools.partial(
        lambda padding: contrib.nn.conv1d_transpose(
            values.real(2, 3, 2),
            values.real(3, 4, 2, seed=2),
            [2, 6 if padding == "SAME" else 7, 4],
            2,
            padding,
        ),
        _padding,
    )


def forward(steps):
    cell = contrib.crf.CrfDecodeForwardRnnCell(values.real(3, 3, seed=2))
    scores = values.real(2, 4, 3)
    sizes = str([cell.state_size, cell.output_size])
    if steps == 1:
        return {"found": cell(scores[:, 0], scores[:, 1]), "sizes": sizes}
    found = tf.nn.dynamic_rnn(
        cell, scores[:, 1:], [3, 2], initial_state=scores[:, 0], dtype=tf.int32
    )
    return {"found": found, "sizes": sizes}


def backward():
    cell = contrib.crf.CrfDecodeBackwardRnnCell(3)
    before = values.whole(2, 4, 3, below=3, dtype="int32")
    last = tf.constant([[1], [2]])
    return {
        "step": cell(before[:, 0], last),
        "steps": tf.nn.dynamic_rnn(cell, before, initial_state=last, dtype=tf.int32),
        "sizes": str([cell.state_size, cell.output_size]),
    }


CASES["crf.CrfDecodeForwardRnnCell"] = functools.partial(forward, 1)
CASES["crf.CrfDecodeForwardRnnCell, steps"] = functools.partial(forward, 3)
CASES["crf.CrfDecodeBackwardRnnCell"] = backward


def pairs(rank=2, **options):
    """Returns the n-pairs loss of examples with one to three labels."""
    labels = [[0, 2], [1], [1, 2, 3]]
    sparse = [
        tf.SparseTensor(
            [[0, one] if rank == 2 else [one] for one in row],
            [1] * len(row),
            [1, 4] if rank == 2 else [4],
        )
        for row in labels
    ]
    embeddings = [values.real(3, 2, seed=seed) for seed in (1, 2)]
    return contrib.losses.metric_learning.npairs_loss_multilabel(sparse, *embeddings, **options)


CASES["metric_learning.npairs_loss_multilabel"] = pairs
CASES["metric_learning.npairs_loss_multilabel, vectors"] = lambda: pairs(1, reg_lambda=0.5)
CASES["metric_learning.npairs_loss_multilabel, printed"] = lambda: pairs(print_losses=True)
CASES["metric_learning.npairs_loss_multilabel, dense"] = lambda: (
    contrib.losses.metric_learning.npairs_loss_multilabel(
        [tf.constant([1])], values.real(1, 2), values.real(1, 2)
    )
)


def received(as_dataset=False):
    """Returns the placeholders of an input_fn."""

    def input_fn(rows):
        found = (
            {"a": tf.ones([rows, 2]), "b": tf.constant(["x"] * rows)},
            tf.zeros([rows], tf.int32),
        )
        return tf.data.Dataset.from_tensors(found) if as_dataset else found

    receive = contrib.estimator.build_supervised_input_receiver_fn_from_input_fn(input_fn, rows=3)
    receiver = receive()
    return {
        "features": str(sorted((key, str(one.dtype)) for key, one in receiver.features.items())),
        "shapes": str(sorted((key, one.shape.as_list()) for key, one in receiver.features.items())),
        "labels": str([receiver.labels.dtype, receiver.labels.shape.as_list()]),
        "receivers": str(sorted(receiver.receiver_tensors)),
    }


CASES["estimator.build_supervised_input_receiver_fn_from_input_fn"] = received
CASES["estimator.build_supervised_input_receiver_fn_from_input_fn, dataset"] = lambda: received(
    True
)
