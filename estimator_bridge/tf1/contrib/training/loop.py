"""The training loop of `tf.contrib.training` and slim: building a train op and running it."""

import tensorflow.compat.v1 as tf

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "multiply_gradients",
    "train",
]


def _map_values(function, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def clip_gradient_norms(gradients_to_variables, max_norm):
    """Clips each gradient by its own norm.

    Args:
      gradients_to_variables: list of (gradient, variable).
      max_norm: number, maximum norm of a gradient.

    Returns:
      List of (gradient, variable).
    """
    return [
        (None if g is None else _map_values(lambda v: tf.clip_by_norm(v, max_norm), g), var)
        for g, var in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm):
    """Returns clip_gradient_norms as a `transform_grads_fn`.

    Args:
      max_norm: number, maximum norm of a gradient.

    Returns:
      Function of a list of (gradient, variable).
    """
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def multiply_gradients(grads_and_vars, gradient_multipliers):
    """Multiplies the gradients of some variables.

    Args:
      grads_and_vars: list of (gradient, variable).
      gradient_multipliers: {variable or its name: factor}.

    Returns:
      List of (gradient, variable).

    Raises:
      ValueError: the dict is empty, or it names a variable without a gradient.
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
                raise ValueError(f"gradient_multipliers: {var.op.name} has no gradient")
            gradient = _map_values(lambda v, factor=factor: v * tf.cast(factor, v.dtype), gradient)
        result.append((gradient, var))
    return result


def add_gradients_summaries(grads_and_vars):
    """Adds a histogram of each gradient and a scalar of its norm.

    Args:
      grads_and_vars: list of (gradient, variable).

    Returns:
      List of summaries.
    """
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


_DEFAULT_STEP = 0


def create_train_op(
    total_loss,
    optimizer,
    global_step=_DEFAULT_STEP,
    update_ops=None,
    variables_to_train=None,
    transform_grads_fn=None,
    summarize_gradients=False,
    gate_gradients=tf.train.Optimizer.GATE_OP,
    aggregation_method=None,
    colocate_gradients_with_ops=False,
    check_numerics=True,
):
    """Returns the total loss as a tensor that applies one step when it is evaluated.

    Args:
      total_loss: scalar tensor.
      optimizer: a tf.train.Optimizer.
      global_step: variable to increment; None for none. The default is the graph's global step,
        which is created if missing.
      update_ops: operations to run before the loss; None for the collection UPDATE_OPS.
      variables_to_train: list of variables; None for all trainable variables.
      transform_grads_fn: function from [(gradient, variable)] to such a list, or None.
      summarize_gradients: whether to add summaries of the gradients.
      gate_gradients: gating of tf.train.Optimizer.
      aggregation_method: aggregation method of tf.gradients.
      colocate_gradients_with_ops: whether to place gradients on the devices of their operations.
      check_numerics: whether to fail if the loss is not finite.

    Returns:
      Scalar tensor.
    """
    if global_step is _DEFAULT_STEP:
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
            train_op = tf.identity(total_loss, "control_dependency")
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
    run_metadata=None,
):
    """Runs `train_op` until a hook requests a stop.

    Args:
      train_op: tensor that applies one step.
      logdir: directory for checkpoints and summaries, or None.
      master: address of the session's target.
      is_chief: whether this process initializes variables and writes checkpoints.
      scaffold: tf.train.Scaffold, or None.
      hooks: list of tf.train.SessionRunHook, or None.
      chief_only_hooks: hooks of the chief only, or None.
      save_checkpoint_secs: seconds between checkpoints; 0 or None for none.
      save_summaries_steps: steps between summaries; 0 or None for none.
      config: tf.ConfigProto of the session.
      max_wait_secs: seconds that a worker waits for the chief's session.
      run_metadata: tf.RunMetadata that receives the last step's, or None.

    Returns:
      The last value of `train_op`, or None.

    Raises:
      ValueError: the chief has no `logdir`, but checkpoints or summaries are enabled.
    """
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        raise ValueError("logdir: required by save_summaries_steps and save_checkpoint_secs")
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
            loss = session.run(train_op, run_metadata=run_metadata)
        return loss
