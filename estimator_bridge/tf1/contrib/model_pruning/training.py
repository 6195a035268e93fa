"""The training loop of `tf.contrib.slim` with an update of the masks after each step."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.slim import learning as _learning

__all__ = ["train"]

_DEFAULT = tf.train.Supervisor.USE_DEFAULT


def train(
    train_op,
    logdir,
    mask_update_op,
    train_step_fn=_learning.train_step,
    train_step_kwargs=_DEFAULT,
    log_every_n_steps=1,
    graph=None,
    master="",
    is_chief=True,
    global_step=None,
    number_of_steps=None,
    init_op=_DEFAULT,
    init_feed_dict=None,
    local_init_op=_DEFAULT,
    init_fn=None,
    ready_op=_DEFAULT,
    summary_op=_DEFAULT,
    save_summaries_secs=600,
    summary_writer=_DEFAULT,
    startup_delay_steps=0,
    saver=None,
    save_interval_secs=600,
    sync_optimizer=None,
    session_config=None,
    trace_every_n_steps=None,
):
    """Runs `train_op` until a global step, and `mask_update_op` after each step.

    Args:
      train_op: tensor that applies one step and returns the loss.
      logdir: directory for checkpoints and summaries, or None.
      mask_update_op: operation that updates the masks, or only at some of the steps.
      train_step_fn: function of (session, train_op, global_step, train_step_kwargs) that runs a
        step, and returns the loss and whether training ends.
      train_step_kwargs: as in tf.contrib.slim.learning.train, like all further arguments.
      log_every_n_steps: int, steps between lines of the log; None for no lines.
      graph: tf.Graph, or None for the default.
      master: address of the session's target.
      is_chief: whether this process initializes variables and writes checkpoints.
      global_step: variable of the global step; None for the graph's.
      number_of_steps: global step at which training ends; None for the end of the input.
      init_op: operation that initializes variables, or None.
      init_feed_dict: feed_dict of `init_op`, or None.
      local_init_op: operation that initializes local variables and tables, or None.
      init_fn: function of the session that runs after the initialization, or None.
      ready_op: tensor that is empty once the model is ready, or None.
      summary_op: scalar string tensor; by default all summaries of the graph; None for none.
      save_summaries_secs: seconds between summaries; 0 for none.
      summary_writer: tf.summary.FileWriter; by default one for logdir; None for none.
      startup_delay_steps: int, global step for which a worker that is not the chief waits.
      saver: tf.train.Saver, or None for one of all variables.
      save_interval_secs: seconds between checkpoints.
      sync_optimizer: tf.train.SyncReplicasOptimizer or a list of them, or None.
      session_config: tf.ConfigProto of the session.
      trace_every_n_steps: int, steps between traces of a step in logdir; None for none.

    Returns:
      The last loss.

    Raises:
      ValueError: arguments do not fit each other.
    """

    def step_and_prune(session, train_op, global_step, train_step_kwargs):
        loss, ends = train_step_fn(session, train_op, global_step, train_step_kwargs)
        session.run(mask_update_op)
        return loss, ends

    return _learning.train(
        train_op,
        logdir,
        train_step_fn=step_and_prune,
        train_step_kwargs=train_step_kwargs,
        log_every_n_steps=log_every_n_steps,
        graph=graph,
        master=master,
        is_chief=is_chief,
        global_step=global_step,
        number_of_steps=number_of_steps,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        init_fn=init_fn,
        ready_op=ready_op,
        summary_op=summary_op,
        save_summaries_secs=save_summaries_secs,
        summary_writer=summary_writer,
        startup_delay_steps=startup_delay_steps,
        saver=saver,
        save_interval_secs=save_interval_secs,
        sync_optimizer=sync_optimizer,
        session_config=session_config,
        trace_every_n_steps=trace_every_n_steps,
    )
