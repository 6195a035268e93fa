"""The training loop of `tf.contrib.training` (and of slim): a train op, and running it."""

import tensorflow.compat.v1 as tf

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "multiply_gradients",
    "train",
]


def _each_values(function, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def clip_gradient_norms(gradients_to_variables, max_norm):
    """Clips each gradient by its own norm."""
    return [
        (None if g is None else _each_values(lambda v: tf.clip_by_norm(v, max_norm), g), var)
        for g, var in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm):
    """Returns clip_gradient_norms as a `transform_grads_fn`."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def multiply_gradients(grads_and_vars, gradient_multipliers):
    """Multiplies the gradients of some variables, {variable or its name: factor}.

    Raises:
      ValueError: a variable that has no gradient is in the dict.
    """
    if not isinstance(gradient_multipliers, dict) or not gradient_multipliers:
        raise ValueError("gradient_multipliers: expected a dict that is not empty")
    factors = {
        getattr(k, "op", k) if not isinstance(k, str) else k: v
        for k, v in gradient_multipliers.items()
    }
    result = []
    for gradient, var in grads_and_vars:
        factor = factors.get(var.op.name, factors.get(var.op))
        if factor is not None:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            gradient = _each_values(lambda v, factor=factor: v * tf.cast(factor, v.dtype), gradient)
        result.append((gradient, var))
    return result


def add_gradients_summaries(grads_and_vars):
    """Returns summaries of each gradient and of its norm."""
    summaries = []
    for gradient, var in grads_and_vars:
        if gradient is None:
            tf.logging.info("Var %s has no gradient", var.op.name)
            continue
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        summaries.append(tf.summary.histogram(var.op.name + "_gradient", values))
        summaries.append(
            tf.summary.scalar(var.op.name + "_gradient_norm", tf.global_norm([values]))
        )
    return summaries


_GRAPHS_STEP = 0


def create_train_op(
    total_loss,
    optimizer,
    global_step=_GRAPHS_STEP,
    update_ops=None,
    variables_to_train=None,
    transform_grads_fn=None,
    summarize_gradients=False,
    gate_gradients=tf.train.Optimizer.GATE_OP,
    aggregation_method=None,
    colocate_gradients_with_ops=False,
    check_numerics=True,
):
    """Returns the total loss, as a tensor that applies one step when it is evaluated.

    Args:
      global_step: None not to count; left out, the graph's, made if there is none.
      update_ops: run before the loss; None: the collection UPDATE_OPS.
      transform_grads_fn: a function of [(gradient, variable)] that returns the same.
      check_numerics: fail where the loss is not finite.
    """
    if global_step is _GRAPHS_STEP:
        global_step = tf.train.get_or_create_global_step()
    updates = set(tf.get_collection(tf.GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
    if updates:
        with tf.control_dependencies(sorted(updates, key=lambda update: update.name)):
            total_loss = tf.identity(total_loss)
    gradients = optimizer.compute_gradients(
        total_loss,
        variables_to_train or tf.trainable_variables(),
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn:
        gradients = transform_grads_fn(gradients)
    if summarize_gradients:
        with tf.name_scope("summarize_grads"):
            add_gradients_summaries(gradients)
    applied = optimizer.apply_gradients(gradients, global_step=global_step)
    with tf.name_scope("train_op"):
        if check_numerics:
            total_loss = tf.check_numerics(total_loss, "LossTensor is inf or nan")
        with tf.control_dependencies([applied]):
            train_op = tf.identity(total_loss)
    tf.add_to_collection(tf.GraphKeys.TRAIN_OP, train_op)
    return train_op


def train(
    train_op,
    logdir,
    master="",
    is_chief=True,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=600,
    save_summaries_steps=100,
    config=None,
    max_wait_secs=7200,
):
    """Runs `train_op` until a hook asks to stop; returns its last value, or None."""
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        raise ValueError(
            "logdir cannot be None when save_summaries_steps or save_checkpoint_secs is set"
        )
    with tf.train.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op)
        return loss
