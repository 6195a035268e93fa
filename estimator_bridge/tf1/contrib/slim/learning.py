"""`slim.learning`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.training import loop

__all__ = ["create_train_op", "train"]

add_gradients_summaries = loop.add_gradients_summaries
clip_gradient_norms = loop.clip_gradient_norms
multiply_gradients = loop.multiply_gradients


def create_train_op(
    total_loss,
    optimizer,
    global_step=loop._GRAPHS_STEP,
    clip_gradient_norm=0,
    gradient_multipliers=None,
    **kwargs,
):
    """tf.contrib.training.create_train_op, with gradients scaled by variable and clipped by their
    norm.
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
    """Runs `train_op` until the global step reaches `number_of_steps` (None: until the input ends);
    returns the last loss.

    Args:
      init_fn: a function of the session, run after the variables have been initialised.

    Raises:
      TypeError: an argument that is not supplied.
    """
    if kwargs:
        raise TypeError(f"slim.learning.train: not supplied to 1.x programs: {sorted(kwargs)}")
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
