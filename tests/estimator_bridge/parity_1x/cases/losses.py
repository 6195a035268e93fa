"""Cases of tf.contrib.losses."""

import functools

import numpy as np
import tensorflow as tf
import values

CASES = {}
losses = tf.contrib.losses

# Weights of rank 0 to 2; the column and the row of some functions are errors.
WEIGHTS = {
    "no weights": lambda: 1.0,
    "scalar": lambda: 2.5,
    "zero": lambda: 0.0,
    "scalar tensor": lambda: tf.constant(0.5),
    "per row": lambda: values.given([1.0, 0.0, 2.0, 0.5]),
    "column": lambda: values.given([[1.0], [0.0], [2.0], [0.5]]),
    "per element": lambda: values.real(4, 3, seed=9, low=0),
    "zero elements": lambda: tf.zeros([4, 3]),
    "wrong length": lambda: tf.ones([7]),
    "rank 3": lambda: tf.ones([4, 3, 1]),
}


def predictions(*shape):
    return values.real(*(shape or (4, 3)), seed=2, low=0.05, high=0.95)


def labels(*shape):
    return tf.to_float(values.whole(*(shape or (4, 3)), seed=3))


def one_hot():
    return tf.one_hot(values.whole(4, below=3, seed=3), 3)


LABELS = {
    "absolute_difference": labels,
    "log_loss": labels,
    "mean_pairwise_squared_error": labels,
    "mean_squared_error": labels,
    "sigmoid_cross_entropy": labels,
    "softmax_cross_entropy": one_hot,
}


def weighted(name, weights):
    loss = getattr(losses, name)(predictions(), LABELS[name](), WEIGHTS[weights]())
    return [loss, losses.get_total_loss(), len(losses.get_losses())]


for _name in sorted(LABELS):
    for _weights in sorted(WEIGHTS):
        CASES[f"{_name}, {_weights}"] = functools.partial(weighted, _name, _weights)


def shaped(name, rows, columns):
    return getattr(losses, name)(predictions(*rows), labels(*columns))


SHAPES = {
    "one row": ((1, 3), (1, 3)),
    "no rows": ((0, 3), (0, 3)),
    "rank 1": ((4,), (4,)),
    "rank 3": ((2, 3, 2), (2, 3, 2)),
    "other shapes": ((4, 3), (4, 2)),
    "a column of labels": ((4,), (4, 1)),
}
for _name in sorted(LABELS):
    for _shape in sorted(SHAPES):
        CASES[f"{_name}, {_shape}"] = functools.partial(shaped, _name, *SHAPES[_shape])


def cosine(axis, weights=1.0, by_dim=False):
    unit = tf.nn.l2_normalize(predictions(), 1)
    target = tf.nn.l2_normalize(values.real(4, 3, seed=5), 1)
    options = {"dim": axis} if by_dim else {"axis": axis}
    return losses.cosine_distance(unit, target, weights=weights, **options)


for _name in ("no weights", "scalar", "column", "per row", "wrong length"):
    CASES["cosine_distance, " + _name] = lambda name=_name: cosine(1, WEIGHTS[name]())
CASES["cosine_distance, axis 0"] = lambda: cosine(0)
CASES["cosine_distance, dim"] = lambda: cosine(1, by_dim=True)
CASES["cosine_distance, no axis"] = lambda: losses.cosine_distance(predictions(), labels())
CASES["hinge_loss"] = lambda: losses.hinge_loss(values.real(4, 3, low=-2, high=2), labels())
CASES["hinge_loss, integers"] = lambda: losses.hinge_loss(values.real(4, 1), values.whole(4, 1))
CASES["hinge_loss, other shapes"] = lambda: losses.hinge_loss(predictions(), labels(4, 2))
CASES["log_loss, epsilon"] = lambda: losses.log_loss(labels(), labels(), epsilon=0.01)
CASES["mean_squared_error, no labels"] = lambda: losses.mean_squared_error(predictions())
CASES["absolute_difference, integers"] = lambda: losses.absolute_difference(
    predictions(), values.whole(4, 3)
)
CASES["mean_squared_error, scope"] = lambda: losses.mean_squared_error(
    predictions(), labels(), scope="mine"
)


def smoothed(name, smoothing):
    return getattr(losses, name)(values.real(4, 3), LABELS[name](), label_smoothing=smoothing)


for _name in ("sigmoid_cross_entropy", "softmax_cross_entropy"):
    CASES[_name + ", label_smoothing"] = functools.partial(smoothed, _name, 0.1)
    CASES[_name + ", integer labels"] = lambda name=_name: getattr(losses, name)(
        predictions(), tf.to_int32(one_hot())
    )


def sparse(labels_shape, weights=None, dtype=np.int64, rows=4):
    ids = values.whole(*labels_shape, below=3, dtype=dtype)
    weights = 1.0 if weights is None else weights
    return losses.sparse_softmax_cross_entropy(values.real(rows, 3), ids, weights)


CASES["sparse_softmax_cross_entropy"] = lambda: sparse((4,))
CASES["sparse_softmax_cross_entropy, column"] = lambda: sparse((4, 1))
CASES["sparse_softmax_cross_entropy, int32"] = lambda: sparse((4,), dtype=np.int32)
CASES["sparse_softmax_cross_entropy, other rows"] = lambda: sparse((3,))
CASES["sparse_softmax_cross_entropy, no rows"] = lambda: sparse((0,), rows=0)
for _name in ("scalar", "per row", "column", "zero", "wrong length"):
    CASES["sparse_softmax_cross_entropy, weights " + _name] = lambda name=_name: sparse(
        (4,), WEIGHTS[name]()
    )


def computed(shape, weights):
    return losses.compute_weighted_loss(values.real(*shape), weights())


for _name in sorted(WEIGHTS):
    CASES["compute_weighted_loss, " + _name] = functools.partial(computed, (4, 3), WEIGHTS[_name])
CASES["compute_weighted_loss, rank 1"] = lambda: computed((4,), WEIGHTS["per row"])
CASES["compute_weighted_loss, rank 3"] = lambda: computed((4, 3, 2), WEIGHTS["per row"])
CASES["compute_weighted_loss, scalar loss"] = lambda: computed((), WEIGHTS["scalar"])
CASES["compute_weighted_loss, no weights given"] = lambda: computed((4,), lambda: None)


def totals():
    losses.add_loss(values.given(2.0))
    losses.add_loss(tf.constant(3.0), loss_collection="mine")
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, values.given(0.5))
    with tf.name_scope("inner"):
        losses.mean_squared_error(predictions(), labels())
    return {
        "total": losses.get_total_loss(),
        "without": losses.get_total_loss(add_regularization_losses=False, name="alone"),
        "inner": losses.get_losses("inner"),
        "mine": losses.get_losses(loss_collection="mine"),
        "regularization": losses.get_regularization_losses(),
        "regularization inner": losses.get_regularization_losses("inner"),
    }


CASES["totals"] = totals
CASES["get_total_loss, none"] = lambda: losses.get_total_loss()

IDS = [0, 1, 0, 2, 1, 0]


def metric(name, ids=IDS, width=4, **options):
    ids = tf.constant(ids, tf.int32)
    embeddings = values.real(len(ids.shape) and int(ids.shape[0]), width, seed=7)
    return getattr(losses.metric_learning, name)(ids, embeddings, **options)


def pairs(name, **options):
    given = {"labels": tf.constant([1, 0, 1, 1])}
    one, two = values.real(4, 3, seed=1), values.real(4, 3, seed=2)
    return getattr(losses.metric_learning, name)(given["labels"], one, two, **options)


CASES["metric_learning.contrastive_loss"] = lambda: pairs("contrastive_loss")
CASES["metric_learning.contrastive_loss, margin"] = lambda: pairs("contrastive_loss", margin=2.5)
CASES["metric_learning.triplet_semihard_loss"] = lambda: metric("triplet_semihard_loss")
CASES["metric_learning.triplet_semihard_loss, margin"] = lambda: metric(
    "triplet_semihard_loss", margin=0.3
)
CASES["metric_learning.triplet_semihard_loss, all different"] = lambda: metric(
    "triplet_semihard_loss", ids=[0, 1, 2, 3]
)
CASES["metric_learning.triplet_semihard_loss, all equal"] = lambda: metric(
    "triplet_semihard_loss", ids=[5, 5, 5]
)
CASES["metric_learning.lifted_struct_loss"] = lambda: metric("lifted_struct_loss")
CASES["metric_learning.lifted_struct_loss, margin"] = lambda: metric(
    "lifted_struct_loss", margin=0.3
)


def npairs(**options):
    ids = tf.constant([0, 1, 0])
    anchor, positive = values.real(3, 4, seed=1), values.real(3, 4, seed=2)
    return losses.metric_learning.npairs_loss(ids, anchor, positive, **options)


CASES["metric_learning.npairs_loss"] = npairs
CASES["metric_learning.npairs_loss, reg_lambda"] = lambda: npairs(reg_lambda=0.1)
CASES["metric_learning.npairs_loss, print_losses"] = lambda: npairs(print_losses=False)
