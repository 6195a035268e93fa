"""`tf.contrib.slim.learning`: the training loop."""

import os
import time

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import timeline
from estimator_bridge.tf1.contrib.training import loop

__all__ = ["create_train_op", "train", "train_step"]

# Marks the default; None means none.
_DEFAULT = tf.train.Supervisor.USE_DEFAULT
# How long a thread of a Supervisor may take to end, as in Supervisor itself.
_GRACE_SECS = 120

add_gradients_summaries = loop.add_gradients_summaries
clip_gradient_norms = loop.clip_gradient_norms
multiply_gradients = loop.multiply_gradients


def create_train_op(
    total_loss,
    optimizer,
    global_step=loop._DEFAULT_STEP,
    update_ops=None,
    variables_to_train=None,
    clip_gradient_norm=0,
    summarize_gradients=False,
    gate_gradients=tf.train.Optimizer.GATE_OP,
    aggregation_method=None,
    colocate_gradients_with_ops=False,
    gradient_multipliers=None,
    check_numerics=True,
):
    """Returns the total loss as a tensor that applies one step when it is evaluated.

    Args:
      total_loss: scalar tensor.
      optimizer: a tf.train.Optimizer.
      global_step: variable to increment; None for none. The default is the graph's global step.
      update_ops: operations to run before the loss; None for the collection UPDATE_OPS.
      variables_to_train: list of variables; None for all trainable variables.
      clip_gradient_norm: maximum norm of each gradient; 0 for no clipping.
      summarize_gradients: whether to write summaries of the gradients.
      gate_gradients: as in tf.train.Optimizer.compute_gradients.
      aggregation_method: as in tf.train.Optimizer.compute_gradients.
      colocate_gradients_with_ops: as in tf.train.Optimizer.compute_gradients.
      gradient_multipliers: {variable or its name: factor}, or None.
      check_numerics: whether to check that the loss is finite.

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
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transform,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )


def train_step(sess, train_op, global_step, train_step_kwargs):
    """Runs one step: the default of `train`, for functions that do more.

    Args:
      sess: tf.Session.
      train_op: tensor that applies one step and returns the loss.
      global_step: variable of the global step.
      train_step_kwargs: dict with any of `should_log` and `should_stop`, scalar bool tensors, and
        `should_trace`, one that needs `logdir` and may have `summary_writer`.

    Returns:
      The loss, and whether training ends.
    """
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir: needed in train_step_kwargs with should_trace")
        if sess.run(train_step_kwargs["should_trace"]):
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            metadata = tf.RunMetadata()
    began = time.monotonic()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    elapsed = time.monotonic() - began
    if metadata is not None:
        _write_trace(metadata, int(step), train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        tf.logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
    stop = "should_stop" in train_step_kwargs and sess.run(train_step_kwargs["should_stop"])
    return loss, stop


def _write_trace(metadata, step, kwargs):
    """Writes what a step took as a file for chrome://tracing, and as a summary."""
    path = os.path.join(kwargs["logdir"], f"tf_trace-{step}.json")
    tf.logging.info("Writing trace to %s", path)
    with tf.gfile.Open(path, "w") as file:
        file.write(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    if "summary_writer" in kwargs:
        kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


def _default_kwargs(global_step, number_of_steps, log_every_n_steps, trace_every_n_steps):
    """Returns the `train_step_kwargs` of `train` without its own."""
    found = {}
    with tf.name_scope("train_step"):
        if number_of_steps:
            found["should_stop"] = tf.greater_equal(global_step, number_of_steps)
        for key, every in (
            ("should_log", log_every_n_steps),
            ("should_trace", trace_every_n_steps),
        ):
            if every:
                found[key] = tf.equal(tf.math.floormod(global_step, every), 0)
    return found


def _check(train_op, logdir, number_of_steps, options):
    """Raises a ValueError for arguments that do not fit."""
    if train_op is None:
        raise ValueError("train_op: expected a tensor, got None")
    if logdir is None:
        if options["summary_op"] not in (_DEFAULT, None):
            raise ValueError("summary_op: needs a logdir")
        if options["saver"] is not None:
            raise ValueError("saver: needs a logdir")
        if options["trace_every_n_steps"] is not None:
            raise ValueError("trace_every_n_steps: needs a logdir")
    if options["sync_optimizer"] is not None and options["startup_delay_steps"] > 0:
        raise ValueError("startup_delay_steps: expected 0 with sync_optimizer")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError(f"number_of_steps: expected a positive number, got {number_of_steps}")


def _wait_for_step(session, global_step, first, last):
    """Waits until other workers have trained so many steps."""
    tf.logging.info("Waiting for step %d, now at %d", first, session.run(global_step))
    while session.run(global_step) < min(first, last or first):
        time.sleep(1)


def _initializers(init_op, local_init_op, ready_op, optimizers, is_chief):
    """Returns arguments of a Supervisor; None and defaults are replaced."""
    with tf.name_scope("init_ops"):
        if init_op is _DEFAULT:
            init_op = tf.global_variables_initializer()
        if ready_op is _DEFAULT:
            ready_op = tf.report_uninitialized_variables()
        if local_init_op is _DEFAULT:
            local_init_op = tf.group(tf.local_variables_initializer(), tf.tables_initializer())
        found = {"init_op": init_op, "ready_op": ready_op, "local_init_op": local_init_op}
        if optimizers:
            own = [one.chief_init_op if is_chief else one.local_step_init_op for one in optimizers]
            found["local_init_op"] = tf.group(*own, *([local_init_op] if local_init_op else []))
            ready = [one.ready_for_local_init_op for one in optimizers]
            found["ready_for_local_init_op"] = tf.concat(ready, 0)
    return found


def _work_of_chief(optimizers):
    """Returns the queue runners of synchronous optimizers, and what fills their queues first."""
    return (
        [one.get_chief_queue_runner() for one in optimizers],
        [one.get_init_tokens_op() for one in optimizers],
    )


def _run(supervisor, session, step, wait, work, ignore_live_threads):
    """Runs steps until the last one, or the end of the input, and saves; returns the last loss."""
    saves = supervisor.is_chief and supervisor.save_path
    services = []
    if saves:
        services = supervisor.start_standard_services(session)
    else:
        wait(session)
    runners, tokens = work
    threads = supervisor.start_queue_runners(session)
    tf.logging.info("Starting Queues.")
    if runners:
        threads += supervisor.start_queue_runners(session, runners)
    session.run(tokens)
    loss, stop = None, False
    try:
        while not stop and not supervisor.should_stop():
            loss, stop = step(session)
        if stop:
            tf.logging.info("Stopping Training.")
    except tf.errors.OutOfRangeError as error:
        tf.logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
    if saves:
        tf.logging.info("Finished training! Saving model to disk.")
        # A timed save that ended after the last one would make an older checkpoint the newest.
        supervisor.request_stop()
        for service in services:
            service.join(_GRACE_SECS)
        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
    return loss


def train(
    train_op,
    logdir,
    train_step_fn=train_step,
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
    session_wrapper=None,
    trace_every_n_steps=None,
    ignore_live_threads=False,
):
    """Runs `train_op` until a global step.

    Args:
      train_op: tensor that applies one step and returns the loss.
      logdir: directory for checkpoints and summaries, or None.
      train_step_fn: function of (session, train_op, global_step, train_step_kwargs) that runs a
        step, and returns the loss and whether training ends.
      train_step_kwargs: dict for train_step_fn; by default `should_stop`, `should_log` and
        `should_trace` as `number_of_steps`, `log_every_n_steps` and `trace_every_n_steps` say.
      log_every_n_steps: int, steps between lines of the log; None for no lines.
      graph: tf.Graph, or None for the default.
      master: address of the session's target.
      is_chief: whether this process initializes variables and writes checkpoints.
      global_step: variable of the global step; None for the graph's.
      number_of_steps: global step at which training ends; None for the end of the input. At least
        one step is trained.
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
      session_wrapper: function from the session to the one that train_step_fn gets, or None.
      trace_every_n_steps: int, steps between traces of a step in logdir; None for none.
      ignore_live_threads: whether threads that still run at the end are no error.

    Returns:
      The last loss.

    Raises:
      ValueError: arguments do not fit each other.
    """
    options = {
        "summary_op": summary_op,
        "saver": saver,
        "trace_every_n_steps": trace_every_n_steps,
        "sync_optimizer": sync_optimizer,
        "startup_delay_steps": startup_delay_steps,
    }
    _check(train_op, logdir, number_of_steps, options)
    optimizers = tf.nest.flatten(sync_optimizer) if sync_optimizer else []
    graph = graph or tf.get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = tf.train.get_or_create_global_step()
        saver = saver or tf.train.Saver()
        supervised = _initializers(init_op, local_init_op, ready_op, optimizers, is_chief)
        if summary_op is _DEFAULT:
            summary_op = tf.summary.merge_all()
        work = _work_of_chief(optimizers if is_chief else [])
        if train_step_kwargs is _DEFAULT:
            train_step_kwargs = _default_kwargs(
                global_step, number_of_steps, log_every_n_steps, trace_every_n_steps
            )
            if "should_trace" in train_step_kwargs:
                train_step_kwargs["logdir"] = logdir
        supervisor = tf.train.Supervisor(
            graph=graph,
            is_chief=is_chief,
            logdir=logdir,
            init_feed_dict=init_feed_dict,
            init_fn=init_fn,
            saver=saver,
            global_step=global_step,
            summary_op=summary_op,
            summary_writer=summary_writer,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs,
            **supervised,
        )
        if summary_writer is not None:
            train_step_kwargs["summary_writer"] = supervisor.summary_writer

        def wait(session):
            if startup_delay_steps > 0:
                _wait_for_step(session, global_step, startup_delay_steps, number_of_steps)

        def step(session):
            return train_step_fn(session, train_op, global_step, train_step_kwargs)

        while True:
            try:
                with supervisor.managed_session(
                    master, start_standard_services=False, config=session_config
                ) as session:
                    tf.logging.info("Starting Session.")
                    session = session_wrapper(session) if session_wrapper else session
                    return _run(supervisor, session, step, wait, work, ignore_live_threads)
            except tf.errors.AbortedError:
                # A parameter server was started again.
                tf.logging.info("Retrying training!")
