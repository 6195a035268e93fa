"""`tf.contrib.layers.optimize_loss`."""

import numbers

import tensorflow.compat.v1 as tf

__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "optimize_loss"]

OPTIMIZER_CLS_NAMES = {
    "Adagrad": tf.train.AdagradOptimizer,
    "Adam": tf.train.AdamOptimizer,
    "Ftrl": tf.train.FtrlOptimizer,
    "Momentum": lambda learning_rate: tf.train.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": tf.train.RMSPropOptimizer,
    "SGD": tf.train.GradientDescentOptimizer,
}

OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]


def optimize_loss(
    loss,
    global_step,
    learning_rate,
    optimizer,
    gradient_noise_scale=None,
    gradient_multipliers=None,
    clip_gradients=None,
    learning_rate_decay_fn=None,
    update_ops=None,
    variables=None,
    name=None,
    summaries=None,
    colocate_gradients_with_ops=False,
    increment_global_step=True,
):
    """Returns the loss as a tensor that applies one training step when it is evaluated.

    Creates the variable `OptimizeLoss/learning_rate` if the rate is a number, and the optimizer's
    variables in the scope `OptimizeLoss`.

    Args:
      loss: scalar tensor.
      global_step: scalar variable; None for the graph's global step, which may be missing.
      learning_rate: number, scalar tensor, or None if the optimizer has its own rate.
      optimizer: name from OPTIMIZER_CLS_NAMES, tf.train.Optimizer, its class, or a function of the
        learning rate (without arguments if the rate is None) that returns an optimizer.
      gradient_noise_scale: standard deviation of the noise added to the gradients, or None.
      gradient_multipliers: {variable or its name: factor}, or None.
      clip_gradients: maximum global norm; or a function from [(gradient, variable)] to a new list.
      learning_rate_decay_fn: function of (learning_rate, global_step), or None.
      update_ops: operations to run before the loss; None for the collection UPDATE_OPS.
      variables: variables to train; None for all trainable variables.
      name: name of the variable scope.
      summaries: names from OPTIMIZER_SUMMARIES; None for loss, learning_rate and
        global_gradient_norm.
      colocate_gradients_with_ops: whether to place gradients on the devices of their operations.
      increment_global_step: whether a step increments the global step.

    Returns:
      Scalar tensor.

    Raises:
      ValueError: an argument has the wrong type, or an optimizer or a summary is unknown.
    """
    loss = tf.convert_to_tensor(loss)
    if loss.shape.ndims not in (0, None):
        raise ValueError(f"loss: expected a scalar, got shape {loss.shape}")
    if global_step is None:
        global_step = tf.train.get_global_step()
    else:
        tf.train.assert_global_step(global_step)
    if summaries is None:
        summaries = ["loss", "learning_rate", "global_gradient_norm"]
    _check_summaries(summaries)
    with tf.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        loss = _after_updates(
            loss, tf.get_collection(tf.GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        )
        rate = _learning_rate(learning_rate, learning_rate_decay_fn, global_step)
        if learning_rate_decay_fn is not None and "learning_rate" in summaries:
            tf.summary.scalar("learning_rate", rate)
        applied = _build_optimizer(optimizer, rate)
        gradients = applied.compute_gradients(
            loss,
            tf.trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            gradients = [(_add_noise(g, gradient_noise_scale), var) for g, var in gradients]
        if gradient_multipliers is not None:
            gradients = _multiply(gradients, gradient_multipliers)
        if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
            norm = tf.global_norm([gradient for gradient, _ in gradients])
            tf.summary.scalar("global_norm/gradient_norm", norm)
        gradients = _clip(gradients, clip_gradients)
        if "loss" in summaries:
            tf.summary.scalar("loss", loss)
        _summarize(gradients, summaries, clipped=clip_gradients is not None)
        step = applied.apply_gradients(
            gradients, global_step=global_step if increment_global_step else None, name="train"
        )
        with tf.control_dependencies([step]):
            return tf.identity(loss)


def _check_summaries(summaries):
    for summary in summaries:
        if summary not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"summaries: {summary!r} is unknown; use {', '.join(OPTIMIZER_SUMMARIES)}"
            )


def _after_updates(loss, update_ops):
    """Returns the loss, computed after the update operations."""
    updates = set(update_ops)
    if not updates:
        return loss
    with tf.control_dependencies(sorted(updates, key=lambda update: update.name)):
        return tf.identity(loss)


def _learning_rate(learning_rate, decay, global_step):
    if learning_rate is None:
        return None
    if isinstance(learning_rate, tf.Tensor) and learning_rate.shape.ndims == 0:
        rate = learning_rate
    elif isinstance(learning_rate, numbers.Real):
        if learning_rate < 0.0:
            raise ValueError(f"learning_rate: {learning_rate} is negative")
        rate = tf.get_variable(
            "learning_rate",
            [],
            trainable=False,
            initializer=tf.constant_initializer(float(learning_rate)),
        )
    else:
        raise ValueError(
            f"learning_rate: expected a float or a scalar tensor, got {learning_rate!r}"
        )
    if decay is not None:
        if global_step is None:
            raise ValueError("global_step: required by learning_rate_decay_fn")
        rate = decay(rate, global_step)
    return rate


def _build_optimizer(optimizer, rate):
    if isinstance(optimizer, str):
        if rate is None:
            raise ValueError(
                f"learning_rate: required, because the optimizer is a name ({optimizer})"
            )
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"optimizer: {optimizer!r} is unknown; use {', '.join(OPTIMIZER_CLS_NAMES)}"
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, tf.train.Optimizer):
        return optimizer
    if isinstance(optimizer, type) and rate is None:
        raise ValueError(f"learning_rate: required, because the optimizer is a class ({optimizer})")
    if not callable(optimizer):
        raise ValueError(
            f"optimizer: expected a name, an Optimizer, its class or a function, got {optimizer!r}"
        )
    built = optimizer() if rate is None else optimizer(rate)
    if not isinstance(built, tf.train.Optimizer):
        raise ValueError(f"optimizer: expected the function to return an Optimizer, got {built!r}")
    return built


def _map_values(function, gradient):
    """Applies a function to the values of a gradient, dense or IndexedSlices."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def _add_noise(gradient, scale):
    if gradient is None:
        return None
    return _map_values(
        lambda values: values + tf.truncated_normal(tf.shape(values), dtype=values.dtype) * scale,
        gradient,
    )


def _multiply(gradients, multipliers):
    result = []
    for gradient, var in gradients:
        key = var.name if var.name in multipliers else None
        factor = (
            multipliers[key]
            if key
            else next((value for known, value in multipliers.items() if known is var), None)
        )
        if gradient is not None and factor is not None:
            gradient = _map_values(
                lambda values, factor=factor: values * tf.cast(factor, values.dtype), gradient
            )
        result.append((gradient, var))
    return result


def _clip(gradients, clip):
    """Returns gradients clipped to a global norm, by a function, or not at all (None)."""
    if clip is None:
        return gradients
    if isinstance(clip, numbers.Real):
        values, variables = zip(*gradients)
        values, _ = tf.clip_by_global_norm(values, clip)
        return list(zip(values, variables))
    if callable(clip):
        return clip(gradients)
    raise ValueError(f"clip_gradients: expected a number or a function, got {clip!r}")


def _summarize(gradients, summaries, clipped):
    for gradient, var in gradients:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        name = var.name.replace(":", "_")
        if "gradients" in summaries:
            tf.summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            tf.summary.scalar(f"gradient_norm/{name}", tf.global_norm([values]))
    if clipped and ("global_gradient_norm" in summaries or "gradient_norm" in summaries):
        norm = tf.global_norm([gradient for gradient, _ in gradients])
        tf.summary.scalar("global_norm/clipped_gradient_norm", norm)


def adaptive_clipping_fn(
    std_factor=2.0,
    decay=0.95,
    static_max_norm=None,
    global_step=None,
    report_summary=False,
    epsilon=1e-8,
    name=None,
):
    """Returns a `clip_gradients` function whose limit depends on the norms of earlier steps.

    The maximum norm is exp(mean + std_factor * deviation) of the log norms so far. Gradients with a
    larger norm are scaled to exp(mean), as in 1.x. Creates the
    variables `AdaptiveMaxNorm/mean` and `AdaptiveMaxNorm/sq_mean`.

    Args:
      std_factor: number of standard deviations above the mean.
      decay: decay of the moving averages.
      static_max_norm: largest norm of the gradients, or None.
      global_step: scalar tensor; with it, the decay is smaller in early steps. Or None.
      report_summary: whether to write a summary of the maximum norm.
      epsilon: small number that avoids division by zero.
      name: name of the variable scope.

    Returns:
      Function from [(gradient, variable)] to the clipped list.
    """

    def clip(gradients):
        values, variables = zip(*gradients)
        norm = tf.global_norm(values)
        with tf.variable_scope(name, "AdaptiveMaxNorm", [norm]):
            log_norm = tf.log(norm + epsilon)
            means = []
            rate = decay
            if global_step is not None:
                # Smaller decay at first, so that the initial zeros do not dominate.
                rate = tf.minimum(
                    decay, tf.to_float(global_step) / (tf.to_float(global_step) + 1.0)
                )
            for label, value in (("mean", log_norm), ("sq_mean", tf.square(log_norm))):
                average = tf.get_variable(
                    label, shape=value.shape, initializer=tf.zeros_initializer(), trainable=False
                )
                means.append(tf.assign(average, rate * average + (1.0 - rate) * value))
            mean, square = means
            deviation = tf.sqrt(tf.maximum(epsilon, square - tf.square(mean)))
            highest = tf.exp(mean + std_factor * deviation)
            target = tf.exp(mean)
        if report_summary:
            tf.summary.scalar("global_norm/adaptive_max_gradient_norm", highest)
        scale = tf.where(norm < highest, tf.ones_like(norm), target / norm)
        if static_max_norm is not None:
            scale = tf.minimum(static_max_norm / norm, scale)
        scaled = [
            None if v is None else _map_values(lambda values: values * scale, v) for v in values
        ]
        return list(zip(scaled, variables))

    return clip
