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
