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
    """Returns the loss, as a tensor that applies one training step when it is evaluated.

    Variables: `OptimizeLoss/learning_rate` if the rate is a number, and the optimizer's below
      `OptimizeLoss`.

    Args:
      loss: scalar.
      global_step: scalar variable, or None for the graph's (then it may be missing, and is not
        counted).
      learning_rate: number, scalar tensor, or None if the optimizer has its own.
      optimizer: a name of OPTIMIZER_CLS_NAMES, an Optimizer, its class, or a function of the
        learning rate (or of nothing, if that is None) that returns one.
      gradient_noise_scale: standard deviation of noise to add to each gradient.
      gradient_multipliers: {variable or its name: factor}.
      clip_gradients: the highest global norm, or a function of [(gradient, variable)] that returns
        the same.
      learning_rate_decay_fn: a function of (learning_rate, global_step).
      update_ops: operations to run before the loss; None: the collection UPDATE_OPS.
      variables: what to train; None: all trainable variables.
      summaries: some of OPTIMIZER_SUMMARIES; None: learning_rate, loss and global_gradient_norm.

    Raises:
      ValueError: an argument of the wrong kind, or an unknown optimizer or summary.
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
    for summary in summaries:
        if summary not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided "
                f"{summary}."
            )
    with tf.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = set(
            tf.get_collection(tf.GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        )
        if updates:
            with tf.control_dependencies(sorted(updates, key=lambda update: update.name)):
                loss = tf.identity(loss)
        rate = _learning_rate(learning_rate, learning_rate_decay_fn, global_step)
        if rate is not None and "learning_rate" in summaries:
            tf.summary.scalar("learning_rate", rate)
        applied = _build_optimizer(optimizer, rate)
        gradients = applied.compute_gradients(
            loss,
            tf.trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            gradients = [(_noisy(g, gradient_noise_scale), var) for g, var in gradients]
        if gradient_multipliers is not None:
            gradients = _multiplied(gradients, gradient_multipliers)
        if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
            norm = tf.global_norm([gradient for gradient, _ in gradients])
            tf.summary.scalar("global_norm/gradient_norm", norm)
        if isinstance(clip_gradients, numbers.Real):
            gradients = _clipped(gradients, clip_gradients)
        elif callable(clip_gradients):
            gradients = clip_gradients(gradients)
        elif clip_gradients is not None:
            raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
        if "loss" in summaries:
            tf.summary.scalar("loss", loss)
        _summarize(gradients, summaries, clipped=clip_gradients is not None)
        step = applied.apply_gradients(
            gradients, global_step=global_step if increment_global_step else None, name="train"
        )
        with tf.control_dependencies([step]):
            return tf.identity(loss)


def _learning_rate(learning_rate, decay, global_step):
    if learning_rate is None:
        return None
    if isinstance(learning_rate, tf.Tensor) and learning_rate.shape.ndims == 0:
        rate = learning_rate
    elif isinstance(learning_rate, numbers.Real):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}.")
        rate = tf.get_variable(
            "learning_rate",
            [],
            trainable=False,
            initializer=tf.constant_initializer(float(learning_rate)),
        )
    else:
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type "
            f"{type(learning_rate)}"
        )
    if decay is not None:
        if global_step is None:
            raise ValueError("global_step is required for learning_rate_decay_fn.")
        rate = decay(rate, global_step)
    return rate


def _build_optimizer(optimizer, rate):
    if isinstance(optimizer, str):
        if rate is None:
            raise ValueError(
                "Learning rate is None, but should be specified if optimizer is string "
                f"({optimizer})."
            )
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided"
                f" {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, tf.train.Optimizer):
        return optimizer
    if isinstance(optimizer, type) and rate is None:
        raise ValueError(
            f"Learning rate is None, but should be specified if optimizer is class ({optimizer})."
        )
    if not callable(optimizer):
        raise ValueError(f"Unrecognized optimizer: {optimizer!r}")
    built = optimizer() if rate is None else optimizer(rate)
    if not isinstance(built, tf.train.Optimizer):
        raise ValueError(f"Unrecognized optimizer: function should return Optimizer, got {built!r}")
    return built


def _map_values(function, gradient):
    """Applies a function to a gradient's values, which may be slices of the whole."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def _noisy(gradient, scale):
    if gradient is None:
        return None
    return _map_values(
        lambda values: values + tf.truncated_normal(tf.shape(values), dtype=values.dtype) * scale,
        gradient,
    )


def _multiplied(gradients, multipliers):
    result = []
    for gradient, var in gradients:
        key = next((k for k in (var.name, var.op.name) if k in multipliers), None)
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


def _clipped(gradients, norm):
    values, variables = zip(*gradients)
    values, _ = tf.clip_by_global_norm(values, norm)
    return list(zip(values, variables))


def _summarize(gradients, summaries, clipped):
    for gradient, var in gradients:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        name = var.op.name
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
    """Returns a `clip_gradients` function: the highest norm follows the running mean and deviation
    of its logarithm.

    Variables (local to the scope `AdaptiveMaxNorm`): `mean` and `sq_mean`.
    """

    def clip(gradients):
        values, variables = zip(*gradients)
        norm = tf.global_norm(values)
        with tf.variable_scope(name, "AdaptiveMaxNorm", [norm]):
            log_norm = tf.log(norm + epsilon)
            means = []
            rate = decay
            if global_step is not None:
                # The averages start at once, not at their initial zero.
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
            if static_max_norm is not None:
                highest = tf.minimum(highest, static_max_norm)
            if report_summary:
                tf.summary.scalar("global_norm/adaptive_max_gradient_norm", highest)
        scale = tf.where(norm < highest, tf.ones_like(norm), highest / (norm + epsilon))
        scaled = [
            None if v is None else _map_values(lambda values: values * scale, v) for v in values
        ]
        return list(zip(scaled, variables))

    return clip
