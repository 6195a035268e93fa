"""`tf.contrib.slim.learning`: the training loop."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.training import loop

__all__ = ["create_train_op", "train"]

add_gradients_summaries = loop.add_gradients_summaries
clip_gradient_norms = loop.clip_gradient_norms
multiply_gradients = loop.multiply_gradients


def create_train_op(
    total_loss,
    optimizer,
    global_step=loop._DEFAULT_STEP,
    clip_gradient_norm=0,
    gradient_multipliers=None,
    **kwargs,
):
    """Returns the total loss as a tensor that applies one step when it is evaluated.

    Args:
      total_loss: scalar tensor.
      optimizer: a tf.train.Optimizer.
      global_step: variable to increment; None for none. The default is the graph's global step.
      clip_gradient_norm: maximum norm of each gradient; 0 for no clipping.
      gradient_multipliers: {variable or its name: factor}, or None.
      **kwargs: further arguments of tf.contrib.training.create_train_op.

    Returns:
      Scalar tensor.
    """

    def transform(gradients):
        if gradient_multipliers:
            gradients = loop.multiply_gradients(gradients, gradient_multipliers)
        if clip_gradient_norm > 0:
            gradients = loop.clip_gradient_norms(gradients, clip_gradient_norm)
        return gradients

    return loop.create_train_op(
        total_loss, optimizer, global_step, transform_grads_fn=transform, **kwargs
    )


def train(
    train_op,
    logdir,
    master="",
    is_chief=True,
    global_step=None,
    number_of_steps=None,
    init_op=None,
    init_feed_dict=None,
    local_init_op=None,
    init_fn=None,
    ready_op=None,
    summary_op=None,
    save_summaries_secs=600,
    saver=None,
    save_interval_secs=600,
    log_every_n_steps=1,
    session_config=None,
    **kwargs,
):
    """Runs `train_op` until a global step.

    Args:
      train_op: tensor that applies one step and returns the loss.
      logdir: directory for checkpoints and summaries, or None.
      master: address of the session's target.
      is_chief: whether this process initializes variables and writes checkpoints.
      global_step: variable of the global step; None for the graph's.
      number_of_steps: global step at which training ends; None for the end of the input.
      init_op: operation that initializes variables; None for the default.
      init_feed_dict: feed_dict of `init_op`, or None.
      local_init_op: operation that initializes local variables; None for the default.
      init_fn: function of the session that runs after the initialization, or None.
      ready_op: tensor that is empty once the model is ready; None for the default.
      summary_op: scalar string tensor; None for all summaries of the graph.
      save_summaries_secs: seconds between summaries.
      saver: tf.train.Saver, or None for the default.
      save_interval_secs: seconds between checkpoints.
      log_every_n_steps: int, steps between lines of the log.
      session_config: tf.ConfigProto of the session.
      **kwargs: arguments that are not supported.

    Returns:
      The last loss.

    Raises:
      TypeError: an argument is not supported.
    """
    if kwargs:
        raise TypeError(f"slim.learning.train: these arguments are not supported: {sorted(kwargs)}")
    global_step = global_step if global_step is not None else tf.train.get_or_create_global_step()
    hooks = [
        tf.train.LoggingTensorHook(
            {"loss": train_op, "step": global_step}, every_n_iter=log_every_n_steps
        )
    ]
    if number_of_steps is not None:
        hooks.append(tf.train.StopAtStepHook(last_step=number_of_steps))
    scaffold = tf.train.Scaffold(
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        init_fn=(lambda _, session: init_fn(session)) if init_fn else None,
        ready_op=ready_op,
        local_init_op=local_init_op,
        summary_op=summary_op,
        saver=saver,
    )
    loss = None
    with tf.train.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        save_checkpoint_secs=save_interval_secs,
        save_summaries_secs=save_summaries_secs,
        save_summaries_steps=None,
        config=session_config,
    ) as session:
        while not session.should_stop():
            loss = session.run(train_op)
    return loss
