"""A regression head whose model computes the normalised label."""

from typing import Any


def scaled_regression_head(
    mean: float,
    std: float,
    *,
    normalized_loss: bool = False,
    second_derivative: bool = False,
    **options: Any,
) -> Any:
    """Returns an estimator.RegressionHead for logits in units of (label - mean) / std.

    Predictions, loss and metrics are in the label's unit. Only the gradients are those of the loss
    in normalised units, so that a learning rate suits labels of any size.

    Args:
      mean: mean of the labels.
      std: standard deviation of the labels, above 0.
      normalized_loss: whether the loss is in normalised units too.
      second_derivative: whether the second derivative is that of the loss in normalised units too,
        as boosted trees need it; their gradients then differ by rounding.
      **options: other arguments of estimator.RegressionHead: weight_column, label_dimension,
        loss_reduction, name.

    Returns:
      The head. Its labels and predictions are float32 [batch, label_dimension].
    """
    from estimator_bridge import estimator, tf

    @tf.custom_gradient
    def scale(logits: Any) -> Any:
        # The squared error in normalised units is smaller by std². With y = mean + std z, its
        # derivative by z is that of the error by y, times std, divided by std².
        return logits * std + mean, lambda upstream: upstream / std

    class _ScaledRegressionHead(estimator.RegressionHead):
        def predictions(self, logits: Any) -> Any:
            predictions = super().predictions(logits)
            # Without the logits, which nobody needs in normalised units.
            return {"predictions": predictions["predictions"]}

    @tf.custom_gradient
    def show(normalized: Any, shown: Any) -> Any:
        return shown, lambda upstream: (upstream, tf.zeros_like(upstream))

    def loss_fn(labels: Any, logits: Any) -> Any:
        normalized = tf.math.squared_difference(logits, (labels - mean) / std)
        if normalized_loss:
            return normalized
        shown = tf.math.squared_difference(scale(logits), labels)
        return show(normalized, shown) if second_derivative else shown

    return _ScaledRegressionHead(
        loss_fn=loss_fn,
        inverse_link_fn=scale,
        **options,
    )
