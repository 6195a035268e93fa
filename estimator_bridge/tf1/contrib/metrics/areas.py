"""Areas under curves of `tf.contrib.metrics`: of histograms, and of all examples kept."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.metrics.concatenation import streaming_concat

__all__ = ["auc_using_histogram", "auc_with_confidence_intervals", "streaming_dynamic_auc"]

_EPSILON = 1e-7


def _collected(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        tf.add_to_collections(metrics_collections, value)
    if updates_collections:
        tf.add_to_collections(updates_collections, update)
    return value, update


def auc_using_histogram(
    boolean_labels,
    scores,
    score_range,
    nbins=100,
    collections=None,
    check_shape=True,
    name=None,
):
    """Returns the area under the ROC curve, from histograms of the scores (Bouckaert, 2006).

    The variables are `hist_accumulate/hist_true_acc` and `hist_accumulate/hist_false_acc` [nbins].

    Args:
      boolean_labels: bool tensor [batch].
      scores: numeric tensor [batch].
      score_range: pair of numbers, or tensor [2], of the dtype of the scores: the limits of the
        bins. Scores outside are in the first or the last bin.
      nbins: int, number of bins.
      collections: collections of the variables; None for the local variables.
      check_shape: whether to check, when the graph runs, that labels and scores have rank 1 and the
        same shape.
      name: name of the variable scope.

    Returns:
      float32 scalar, NaN without examples of both labels, and the update operation.
    """
    if collections is None:
        collections = [tf.GraphKeys.LOCAL_VARIABLES]
    with tf.variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        labels, scores = tf.convert_to_tensor(boolean_labels), tf.convert_to_tensor(scores)
        score_range = tf.convert_to_tensor(score_range, scores.dtype)
        if check_shape:
            labels.shape.assert_is_compatible_with(scores.shape)
            checks = [
                tf.assert_rank(labels, 1),
                tf.assert_rank(scores, 1),
                tf.assert_equal(tf.shape(labels), tf.shape(scores)),
            ]
            with tf.control_dependencies([one for one in checks if one is not None]):
                labels, scores = tf.identity(labels), tf.identity(scores)
        kept, updates = [], []
        with tf.variable_scope("hist_accumulate"):
            for kind, chosen in (("true", labels), ("false", tf.logical_not(labels))):
                new = tf.histogram_fixed_width(
                    tf.boolean_mask(scores, chosen), score_range, nbins, tf.int64
                )
                counts = tf.get_variable(
                    *(f"hist_{kind}_acc", [nbins], tf.int64, tf.zeros_initializer()),
                    collections=collections,
                    trainable=False,
                )
                kept.append(counts)
                updates.append(tf.assign_add(counts, new))
            update = tf.group(*updates, name="update_op")
        # From the highest score on, the rates rise by the shares of the bins.
        rises = [tf.reverse(one / tf.reduce_sum(one), [0]) for one in kept]
        up, right = (tf.cast(one, tf.float32) for one in rises)
        heights = tf.cumsum(up)
        before = tf.cumsum(up, exclusive=True)
        return tf.reduce_sum(right * (heights + before) / 2, name="auc"), update


def _check(labels, predictions, weights):
    """Returns flat predictions, labels and weights, checked when the graph runs.

    Args:
      labels: numeric tensor, 0 and 1.
      predictions: numeric tensor of the same shape.
      weights: list of tensors of the same shape; empty without weights.
    """
    labels, predictions = tf.convert_to_tensor(labels), tf.convert_to_tensor(predictions)
    for one in (predictions, *weights):
        one.shape.assert_is_compatible_with(labels.shape)
    labels = tf.reshape(tf.cast(labels, tf.int64), [-1])
    checks = [
        tf.assert_greater_equal(labels, tf.zeros_like(labels), message="labels must be 0 or 1"),
        tf.assert_less_equal(labels, tf.ones_like(labels), message="labels must be 0 or 1"),
    ]
    with tf.control_dependencies(checks):
        labels = tf.identity(labels)
    flat = [tf.reshape(tf.cast(predictions, tf.float64), [-1]), labels]
    return [*flat, *(tf.reshape(one, [-1]) for one in weights)]


def _keep(tensors):
    """Returns all values of tensors until now, and the updates.

    Args:
      tensors: tensors [batch] of predictions, labels and perhaps weights.
    """
    names = ("concat_preds", "concat_labels", "concat_weights")
    pairs = [streaming_concat(one, name=name) for one, name in zip(tensors, names)]
    return [value for value, _ in pairs], [update for _, update in pairs]


def streaming_dynamic_auc(
    labels,
    predictions,
    curve="ROC",
    metrics_collections=(),
    updates_collections=(),
    name=None,
    weights=None,
):
    """Returns the area under a curve by trapezoids, whose thresholds are all predictions.

    All predictions, labels and weights are kept, in variables of `concat_preds`, `concat_labels`
    and `concat_weights`.

    Args:
      labels: numeric tensor, 0 and 1.
      predictions: numeric tensor of the same shape.
      curve: `ROC` or `PR`.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.
      weights: numeric tensor of the same shape, 0 or more; None for 1 each.

    Returns:
      float64 scalar, 0 if all labels are equal; and the update operation.

    Raises:
      ValueError: the curve is unknown, or the shapes differ.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with tf.variable_scope(name, "dynamic_auc"):
        given = [] if weights is None else [tf.cast(weights, tf.float64)]
        kept, updates = _keep(_check(labels, predictions, given))
        predictions, labels = kept[:2]
        weights = kept[2] if given else tf.ones_like(predictions)
        positives = tf.where(labels > 0, weights, tf.zeros_like(weights))
        total, positive = tf.reduce_sum(weights), tf.reduce_sum(positives)

        def area():
            order = tf.nn.top_k(predictions, tf.size(predictions)).indices
            ends = tf.cumsum(tf.unique_with_counts(tf.gather(predictions, order)).count)
            ends = tf.concat([[0], ends], 0)
            # The weights of the examples above each threshold, from the highest one on.
            above, above_positive = (
                tf.gather(tf.concat([[0.0], tf.cumsum(tf.gather(one, order))], 0), ends)
                for one in (weights, positives)
            )
            recall = above_positive / positive
            if curve == "ROC":
                across, heights = (above - above_positive) / (total - positive), recall
            else:
                precision = above_positive / above
                across, heights = recall, tf.where(ends > 0, precision, tf.ones_like(precision))
            widths = tf.abs(across[1:] - across[:-1])
            return tf.reduce_sum((heights[1:] + heights[:-1]) / 2.0 * widths)

        one_class = tf.logical_or(tf.equal(positive, 0), tf.equal(positive, total))
        value = tf.cond(one_class, lambda: tf.constant(0, tf.float64), area)
        return _collected(value, tf.group(*updates), metrics_collections, updates_collections)


AucData = collections.namedtuple("AucData", ["auc", "lower", "upper"])


def auc_with_confidence_intervals(
    labels,
    predictions,
    weights=None,
    alpha=0.95,
    logit_transformation=True,
    metrics_collections=(),
    updates_collections=(),
    name=None,
):
    """Returns the area under the ROC curve and its confidence interval.

    The area and its variance are those of DeLong, DeLong and Clarke-Pearson (1988): the placement
    of a positive example is the share of the negative ones with lower predictions, equal ones
    counting half, and vice versa. The interval is that of a normal distribution.

    All predictions, labels and weights are kept, in variables of `concat_preds`, `concat_labels`
    and `concat_weights`.

    Args:
      labels: numeric tensor, 0 and 1.
      predictions: numeric tensor of the same shape.
      weights: scalar, or numeric tensor of the same shape; None for 1 each.
      alpha: number in (0, 1), the confidence level.
      logit_transformation: whether the interval is that of the logit of the area, so that it is
        within [0, 1].
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      Named tuple of float32 scalars `auc`, `lower` and `upper`, all 0 if the batch does not have
      both labels or the sum of its weights is below 1, as in 1.x; and the update operation.

    Raises:
      ValueError: alpha is not in (0, 1), or the shapes differ.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.2f}")
    weights = tf.to_float(1.0 if weights is None else weights)
    weights = weights + tf.zeros_like(predictions, tf.float32)
    with tf.variable_scope(name, "auc_with_confidence_intervals", [labels, predictions, weights]):
        batch = _check(labels, predictions, [weights])
        kept, updates = _keep(batch)
        area, deviation = _placed_area(*kept)
        interval = _interval(area, deviation, alpha, logit_transformation)
        both = tf.logical_and(
            tf.equal(tf.reduce_min(batch[1]), 0), tf.equal(tf.reduce_max(batch[1]), 1)
        )
        valid = tf.logical_and(both, tf.reduce_sum(weights) >= 1.0)
        found = (tf.where(valid, one, tf.zeros_like(one)) for one in (area, *interval))
        with tf.control_dependencies(updates):
            update = tf.identity(True)
        return _collected(AucData(*found), update, metrics_collections, updates_collections)


def _placed_area(predictions, labels, weights):
    """Returns the area under the ROC curve and its standard deviation, float32 scalars.

    Args:
      predictions: float64 tensor [examples].
      labels: int64 tensor [examples].
      weights: float32 tensor [examples].
    """
    order = tf.reverse(tf.nn.top_k(predictions, tf.size(predictions)).indices, [0])
    groups = tf.unique(tf.gather(predictions, order)).idx
    positive = tf.to_float(tf.gather(labels, order))
    weights = tf.gather(weights, order)
    sides = [weights * (1 - positive), weights * positive]
    totals = [tf.reduce_sum(side) for side in sides]
    below = []
    for side, total in zip(sides, totals):
        sums = tf.segment_sum(side, groups)
        shares = (tf.cumsum(sums, exclusive=True) + sums / 2) / (total + _EPSILON)
        below.append(tf.gather(shares, groups))
    # Of a negative example, the share of the positive ones above it.
    placements = [1 - below[1], below[0]]
    areas, variance = [], 0.0
    for side, total, placement in zip(sides, totals, placements):
        mean = tf.reduce_sum(side * placement) / (total + _EPSILON)
        spread = tf.reduce_sum(side * tf.squared_difference(placement, mean))
        variance += spread / (total - 1 + _EPSILON) / (total + _EPSILON)
        areas.append(mean)
    return tf.where(totals[0] < totals[1], areas[1], areas[0]), tf.sqrt(variance)


def _interval(area, deviation, alpha, logit_transformation):
    """Returns the limits of a confidence interval, float32 scalars.

    Args:
      area: float32 scalar.
      deviation: float32 scalar, its standard deviation.
      alpha: number, the confidence level.
      logit_transformation: whether the interval is that of the logit.
    """
    # Negative, so that the lower limit is first.
    quantile = tf.math.ndtri(tf.constant((1 - alpha) / 2, tf.float32))
    if not logit_transformation:
        return area + quantile * deviation, area - quantile * deviation
    logit = tf.log(area / (1 - area + _EPSILON))
    step = quantile * deviation / (area * (1 - area + _EPSILON))
    extreme = tf.logical_or(tf.equal(area, 0), tf.equal(area, 1))
    limits = (1 / (1 + tf.exp(-one) + _EPSILON) for one in (logit + step, logit - step))
    return [tf.where(extreme, area, one) for one in limits]
