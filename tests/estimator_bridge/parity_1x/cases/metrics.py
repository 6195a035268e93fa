"""Cases of tf.contrib.metrics: value and update, before and after two updates."""

import functools

import tensorflow as tf
import values

CASES = {}
metrics = tf.contrib.metrics


def probabilities(rows=6):
    return values.real(rows, seed=2, low=0.05, high=0.95)


def truths(rows=6):
    return values.whole(rows, seed=3)


def streamed(pair):
    """Returns a metric as (fetches, operations)."""
    value, update = pair
    return {"value": value}, [update]


WEIGHTS = {
    "no weights": lambda rows: None,
    "scalar": lambda rows: 2.0,
    "per row": lambda rows: values.real(rows, seed=5, low=0),
    "zero": lambda rows: tf.zeros([rows]),
    "wrong length": lambda rows: tf.ones([9]),
}
# Functions of (predictions, labels), and further arguments of them.
OF_NUMBERS = {
    "streaming_covariance": {},
    "streaming_mean_absolute_error": {},
    "streaming_mean_squared_error": {},
    "streaming_pearson_correlation": {},
    "streaming_root_mean_squared_error": {},
}
OF_CLASSES = {
    "streaming_accuracy": {},
    "streaming_false_negatives": {},
    "streaming_false_positives": {},
    "streaming_mean_iou": {"num_classes": 3},
    "streaming_precision": {},
    "streaming_recall": {},
    "streaming_true_negatives": {},
    "streaming_true_positives": {},
}
THRESHOLDS = [0.2, 0.5, 0.9]
OF_PROBABILITIES = {
    "streaming_auc": {},
    "streaming_false_negatives_at_thresholds": {"thresholds": THRESHOLDS},
    "streaming_false_positives_at_thresholds": {"thresholds": THRESHOLDS},
    "streaming_precision_at_thresholds": {"thresholds": THRESHOLDS},
    "streaming_recall_at_thresholds": {"thresholds": THRESHOLDS},
    "streaming_sensitivity_at_specificity": {"specificity": 0.6},
    "streaming_specificity_at_sensitivity": {"sensitivity": 0.6},
    "streaming_true_negatives_at_thresholds": {"thresholds": THRESHOLDS},
    "streaming_true_positives_at_thresholds": {"thresholds": THRESHOLDS},
}


def predicted(name, rows):
    if name in OF_CLASSES:
        return values.whole(rows, seed=4), truths(rows)
    if name in OF_NUMBERS:
        return probabilities(rows), values.real(rows, seed=6)
    return probabilities(rows), truths(rows)


def paired(name, options, weights="no weights", rows=6, **more):
    predictions, labels = predicted(name, rows)
    more.update(options)
    return streamed(
        getattr(metrics, name)(predictions, labels, weights=WEIGHTS[weights](rows), **more)
    )


for _name, _options in sorted(dict(OF_NUMBERS, **dict(OF_CLASSES, **OF_PROBABILITIES)).items()):
    for _weights in sorted(WEIGHTS):
        CASES[f"{_name}, {_weights}"] = functools.partial(paired, _name, _options, _weights)
    CASES[_name + ", one row"] = functools.partial(paired, _name, _options, rows=1)
    CASES[_name + ", no rows"] = functools.partial(paired, _name, _options, rows=0)
    if not _name.endswith("_at_thresholds") or "recall" in _name or "precision" in _name:
        CASES[_name + ", collections"] = functools.partial(
            paired,
            _name,
            _options,
            metrics_collections=["values"],
            updates_collections=["updates"],
            name="mine",
        )

CASES["streaming_auc, PR"] = lambda: paired("streaming_auc", {"curve": "PR"})
CASES["streaming_auc, num_thresholds"] = lambda: paired("streaming_auc", {"num_thresholds": 11})
CASES["streaming_auc, wrong curve"] = lambda: paired("streaming_auc", {"curve": "XY"})
CASES["f1_score"] = lambda: streamed(metrics.f1_score(truths(), probabilities()))
CASES["f1_score, weights"] = lambda: streamed(
    metrics.f1_score(truths(), probabilities(), weights=WEIGHTS["per row"](6), num_thresholds=20)
)
CASES["accuracy"] = lambda: metrics.accuracy(values.whole(6, seed=4), truths())
CASES["accuracy, weights"] = lambda: metrics.accuracy(
    values.whole(6, seed=4), truths(), WEIGHTS["per row"](6)
)
CASES["accuracy, text"] = lambda: metrics.accuracy(tf.constant(["a", "b"]), tf.constant(["a", "c"]))
CASES["accuracy, other types"] = lambda: metrics.accuracy(probabilities(), truths())
CASES["accuracy, other shapes"] = lambda: metrics.accuracy(truths(5), truths())


def of_values(name, weights="no weights", shape=(6,), **options):
    tensor = values.real(*shape, seed=2)
    return streamed(getattr(metrics, name)(tensor, weights=WEIGHTS[weights](shape[0]), **options))


for _name, _options in [
    ("count", {}),
    ("streaming_mean", {}),
    ("streaming_mean_tensor", {}),
    ("streaming_percentage_less", {"threshold": 0.1}),
]:
    for _weights in sorted(WEIGHTS):
        CASES[f"{_name}, {_weights}"] = functools.partial(of_values, _name, _weights, **_options)
    CASES[_name + ", rank 2"] = functools.partial(of_values, _name, shape=(2, 3), **_options)
    CASES[_name + ", no rows"] = functools.partial(of_values, _name, shape=(0,), **_options)

CASES["streaming_mean_relative_error"] = lambda: streamed(
    metrics.streaming_mean_relative_error(
        probabilities(), values.real(6, seed=6), normalizer=values.real(6, seed=7, low=0.5)
    )
)
CASES["streaming_mean_cosine_distance"] = lambda: streamed(
    metrics.streaming_mean_cosine_distance(values.real(4, 3), values.real(4, 3, seed=2), 1)
)
CASES["streaming_mean_cosine_distance, weights"] = lambda: streamed(
    metrics.streaming_mean_cosine_distance(
        values.real(4, 3), values.real(4, 3, seed=2), 1, weights=values.real(4, 1, low=0)
    )
)


def concatenated(axis=0, shape=(2, 3), **options):
    return streamed(metrics.streaming_concat(values.real(*shape), axis=axis, **options))


CASES["streaming_concat"] = concatenated
CASES["streaming_concat, axis 1"] = lambda: concatenated(axis=1)
CASES["streaming_concat, axis -1"] = lambda: concatenated(axis=-1)
CASES["streaming_concat, max_size"] = lambda: concatenated(max_size=3)
CASES["streaming_concat, scalar"] = lambda: concatenated(shape=())
CASES["streaming_concat, wrong axis"] = lambda: concatenated(axis=2)


def kappa(weights="no weights", num_classes=3):
    ids, labels = values.whole(6, below=3, seed=4), values.whole(6, below=3, seed=3)
    return streamed(metrics.cohen_kappa(labels, ids, num_classes, WEIGHTS[weights](6)))


CASES["cohen_kappa"] = kappa
CASES["cohen_kappa, weights"] = lambda: kappa("per row")
CASES["cohen_kappa, one class"] = lambda: kappa(num_classes=1)
CASES["confusion_matrix"] = lambda: metrics.confusion_matrix(truths(), values.whole(6, seed=4))
CASES["confusion_matrix, options"] = lambda: metrics.confusion_matrix(
    truths(), values.whole(6, seed=4), 4, tf.float32, "mine", values.real(6, low=0)
)


def at_k(name, by_position=False, **options):
    scores, ids = values.real(4, 5), values.whole(4, 1, below=5, seed=3)
    if name == "streaming_recall_at_k":
        ids = tf.squeeze(ids, [1])
    if by_position:
        return streamed(getattr(metrics, name)(scores, ids, 2))
    return streamed(getattr(metrics, name)(predictions=scores, labels=ids, k=2, **options))


for _name in (
    "streaming_recall_at_k",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_recall_at_k",
):
    CASES[_name] = functools.partial(at_k, _name)
    CASES[_name + ", by position"] = functools.partial(at_k, _name, by_position=True)
    CASES[_name + ", weights"] = lambda name=_name: at_k(name, weights=values.real(4, low=0))
for _name in ("streaming_sparse_precision_at_k", "streaming_sparse_recall_at_k"):
    CASES[_name + ", class_id"] = functools.partial(at_k, _name, class_id=1)


def aggregated():
    names, updates = metrics.aggregate_metric_map(
        {
            "mean": metrics.streaming_mean(values.real(4)),
            "accuracy": metrics.streaming_accuracy(truths(4), values.whole(4, seed=4)),
        }
    )
    return names, [updates[name] for name in sorted(updates)]


def aggregated_list():
    found, updates = metrics.aggregate_metrics(
        metrics.streaming_mean(values.real(4)), metrics.streaming_mean(values.real(3))
    )
    return {str(place): one for place, one in enumerate(found)}, list(updates)


CASES["aggregate_metric_map"] = aggregated
CASES["aggregate_metrics"] = aggregated_list
CASES["aggregate_metrics, none"] = lambda: metrics.aggregate_metrics()

# Curves, rates and rankings.
RATES = {
    "streaming_false_negative_rate": {},
    "streaming_false_positive_rate": {},
}
RATES_AT = {
    "streaming_false_negative_rate_at_thresholds": {"thresholds": THRESHOLDS},
    "streaming_false_positive_rate_at_thresholds": {"thresholds": THRESHOLDS},
}
for _name, _options in sorted(dict(RATES, **RATES_AT).items()):
    for _weights in sorted(WEIGHTS):
        CASES[f"{_name}, {_weights}"] = functools.partial(paired, _name, _options, _weights)
    CASES[_name + ", no rows"] = functools.partial(paired, _name, _options, rows=0)
    CASES[_name + ", collections"] = functools.partial(
        paired,
        _name,
        _options,
        metrics_collections=["values"],
        updates_collections=["updates"],
        name="mine",
    )


def curve(name, weights="no weights", rows=12, given=None, **options):
    """Returns a metric whose first arguments are labels and predictions."""
    labels = values.whole(rows, seed=3) if given is None else tf.constant(given)
    options = dict(options, weights=WEIGHTS[weights](rows))
    argument = options.pop("argument", ())
    return streamed(getattr(metrics, name)(labels, probabilities(rows), *argument, **options))


for _name, _options in {
    "precision_at_recall": {"argument": [0.6], "num_thresholds": 11},
    "recall_at_precision": {"argument": [0.6], "num_thresholds": 11},
    "streaming_curve_points": {"num_thresholds": 7},
    "streaming_dynamic_auc": {},
    "auc_with_confidence_intervals": {},
}.items():
    for _weights in sorted(WEIGHTS):
        CASES[f"{_name}, {_weights}"] = functools.partial(curve, _name, _weights, **_options)
    CASES[_name + ", collections"] = functools.partial(
        *(curve, _name),
        metrics_collections=["values"],
        updates_collections=["updates"],
        name="mine",
        **_options,
    )
    CASES[_name + ", defaults"] = functools.partial(
        curve, _name, argument=_options.get("argument", ())
    )
    CASES[_name + ", one class"] = functools.partial(curve, _name, given=[1] * 12, **_options)
    CASES[_name + ", two rows"] = functools.partial(curve, _name, rows=2, given=[1, 0], **_options)
for _target in (0.0, 1.0, 1.5):
    CASES[f"precision_at_recall, {_target}"] = functools.partial(
        curve, "precision_at_recall", argument=[_target]
    )
    for _strict in (False, True):
        CASES[f"recall_at_precision, {_target}, strict {_strict}"] = functools.partial(
            curve, "recall_at_precision", argument=[_target], strict_mode=_strict
        )
for _target in (0.3, 0.5, 0.6, 0.7, 0.9):
    CASES[f"recall_at_precision, {_target}, strict"] = functools.partial(
        curve, "recall_at_precision", argument=[_target], strict_mode=True, num_thresholds=11
    )
for _name in ("streaming_curve_points", "streaming_dynamic_auc"):
    for _weights in ("no weights", "per row"):
        CASES[f"{_name}, PR, {_weights}"] = functools.partial(curve, _name, _weights, curve="PR")
    CASES[_name + ", wrong curve"] = functools.partial(curve, _name, curve="XY")
CASES["streaming_dynamic_auc, other labels"] = lambda: curve(
    "streaming_dynamic_auc", given=[0, 1, 2] * 4
)


def tied(name, **options):
    """Returns a metric of predictions of which some are equal."""
    labels = tf.constant([0, 1, 1, 0, 1, 0, 1, 1])
    scores = values.given([0.1, 0.5, 0.5, 0.5, 0.9, 0.1, 0.1, 0.7])
    return streamed(getattr(metrics, name)(labels, scores, **options))


CASES["streaming_dynamic_auc, equal predictions"] = lambda: tied("streaming_dynamic_auc")
CASES["streaming_dynamic_auc, PR, equal predictions"] = lambda: tied(
    "streaming_dynamic_auc", curve="PR"
)
CASES["auc_with_confidence_intervals, equal predictions"] = lambda: tied(
    "auc_with_confidence_intervals"
)
for _alpha in (0.5, 0.99, 1.0):
    CASES[f"auc_with_confidence_intervals, {_alpha}"] = functools.partial(
        tied, "auc_with_confidence_intervals", alpha=_alpha
    )
CASES["auc_with_confidence_intervals, not transformed"] = lambda: tied(
    "auc_with_confidence_intervals", logit_transformation=False
)
CASES["auc_with_confidence_intervals, perfect"] = lambda: streamed(
    metrics.auc_with_confidence_intervals(
        tf.constant([0, 0, 1, 1]), tf.constant([0.1, 0.2, 0.3, 0.4])
    )
)


def binned(limits=(0.0, 1.0), labels=None, **options):
    labels = values.whole(12, seed=3) if labels is None else tf.constant(labels)
    value, update = metrics.auc_using_histogram(
        tf.cast(labels, tf.bool), probabilities(12), list(limits), **options
    )
    return {"value": value}, [update]


CASES["auc_using_histogram"] = binned
CASES["auc_using_histogram, bins"] = lambda: binned(nbins=5)
CASES["auc_using_histogram, limits"] = lambda: binned((0.3, 0.6), nbins=7, check_shape=False)
CASES["auc_using_histogram, collections"] = lambda: binned(
    collections=["mine", tf.GraphKeys.LOCAL_VARIABLES], name="own"
)
CASES["auc_using_histogram, one class"] = lambda: binned(labels=[1] * 12)
CASES["auc_using_histogram, other shapes"] = lambda: binned(labels=[1, 0])


def equal_thresholds(labels=None, weights=None, **options):
    labels = tf.cast(values.whole(12, seed=3), tf.bool) if labels is None else labels
    found, update = metrics.precision_recall_at_equal_thresholds(
        labels, probabilities(12), weights, **options
    )
    return dict(found._asdict()), [update]


CASES["precision_recall_at_equal_thresholds"] = lambda: equal_thresholds(num_thresholds=11)
CASES["precision_recall_at_equal_thresholds, defaults"] = equal_thresholds
CASES["precision_recall_at_equal_thresholds, weights"] = lambda: equal_thresholds(
    weights=values.real(12, seed=5, low=0), num_thresholds=6, name="mine"
)
CASES["precision_recall_at_equal_thresholds, one threshold"] = lambda: equal_thresholds(
    num_thresholds=1
)
CASES["precision_recall_at_equal_thresholds, integers"] = lambda: equal_thresholds(
    values.whole(12, seed=3)
)
CASES["precision_recall_at_equal_thresholds, other shapes"] = lambda: equal_thresholds(
    tf.constant([True, False])
)
CASES["precision_recall_at_equal_thresholds, locking"] = lambda: equal_thresholds(
    num_thresholds=6, use_locking=False
)


def ranked(name, labels_first=False, width=2, **options):
    best = tf.nn.top_k(values.real(4, 5, seed=2), 3)[1]
    labels = values.whole(4, width, below=5, seed=3)
    given = (labels, best) if labels_first else (best, labels)
    return streamed(getattr(metrics, name)(*given, **options))


for _name, _first in {
    "sparse_recall_at_top_k": True,
    "streaming_sparse_average_precision_at_top_k": False,
    "streaming_sparse_precision_at_top_k": False,
}.items():
    CASES[_name] = functools.partial(ranked, _name, _first)
    CASES[_name + ", one label"] = functools.partial(ranked, _name, _first, width=1)
    CASES[_name + ", weights"] = functools.partial(
        lambda name, first: ranked(name, first, weights=values.real(4, seed=5, low=0)),
        *(_name, _first),
    )
    CASES[_name + ", collections"] = functools.partial(
        ranked,
        *(_name, _first),
        metrics_collections=["values"],
        updates_collections=["updates"],
        name="mine",
    )
    if "average" not in _name:
        CASES[_name + ", class"] = functools.partial(ranked, _name, _first, class_id=2)
        CASES[_name + ", no such class"] = functools.partial(ranked, _name, _first, class_id=9)


def sets():
    one = tf.SparseTensor(
        [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], tf.constant([1, 2, 3, 4, 5]), [3, 2]
    )
    other = tf.SparseTensor([[0, 0], [1, 0], [2, 0]], tf.constant([2, 9, 5]), [3, 1])
    return one, other


for _name in ("set_difference", "set_intersection", "set_union"):
    CASES[_name] = functools.partial(lambda name: getattr(metrics, name)(*sets()), _name)
    CASES[_name + ", dense"] = functools.partial(
        lambda name: getattr(metrics, name)(
            tf.constant([[1, 2], [3, 4]]), tf.constant([[2, 5], [3, 4]])
        ),
        _name,
    )
CASES["set_difference, other way"] = lambda: metrics.set_difference(*sets(), aminusb=False)
CASES["set_size"] = lambda: metrics.set_size(sets()[0])
CASES["set_size, dense"] = lambda: metrics.set_size(tf.constant([[1, 2]]))
