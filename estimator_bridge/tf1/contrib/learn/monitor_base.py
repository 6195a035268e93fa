"""What `tf.contrib.learn.monitors` have in common, and the hook that runs them.

A monitor names tensors before a step, and gets their values after it. Programs derive their own.
"""

import inspect

import tensorflow.compat.v1 as tf

__all__ = ["BaseMonitor", "EveryN", "RunHookAdapterForMonitors", "value_of"]


class BaseMonitor:
    """Base class of monitors. Training calls the methods with the number of the step, from 1."""

    def __init__(self):
        self._trains = False
        self._epoch = self._running = self._max_steps = self._estimator = None

    @property
    def run_on_all_workers(self):
        """Whether workers that are not the chief run the monitor too."""
        return False

    def set_estimator(self, estimator):
        """Sets the estimator that trains; `fit` calls it.

        Args:
          estimator: tf.contrib.learn.Estimator.

        Raises:
          ValueError: it is None.
        """
        if estimator is None:
            raise ValueError("The monitor needs an estimator, not None.")
        self._estimator = estimator

    def begin(self, max_steps=None):
        """Is called before training, with the graph as the default.

        Args:
          max_steps: the last step, or None.

        Raises:
          ValueError: training has begun.
        """
        if self._trains:
            raise ValueError("The monitor has begun already.")
        self._max_steps, self._trains = max_steps, True

    def end(self, session=None):
        """Is called after training.

        Args:
          session: the tf.Session, which is still open.

        Raises:
          ValueError: training has not begun.
        """
        if not self._trains:
            raise ValueError("The monitor has not begun.")
        self._max_steps, self._trains = None, False

    def epoch_begin(self, epoch):
        """May be called at the begin of an epoch.

        Args:
          epoch: its number.

        Raises:
          ValueError: another epoch has not ended, or the number is negative.
        """
        if self._epoch is not None:
            raise ValueError(f"Epoch {self._epoch} has not ended.")
        if epoch < 0:
            raise ValueError(f"There is no epoch {epoch}.")
        self._epoch = epoch

    def epoch_end(self, epoch):
        """May be called at the end of an epoch.

        Args:
          epoch: its number.

        Raises:
          ValueError: it is not the current epoch.
        """
        if self._epoch != epoch:
            raise ValueError(f"Epoch {epoch} ends during epoch {self._epoch}.")
        self._epoch = None

    def step_begin(self, step):
        """Is called before a step.

        Args:
          step: its number.

        Returns:
          List of the tensors, or their names, whose values `step_end` gets.

        Raises:
          ValueError: the number is negative, or above the last step.
        """
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"There is no step {step}.")
        self._running = step
        return []

    def step_end(self, step, output):
        """Is called after a step.

        Args:
          step: its number.
          output: {tensor or name: value}, of all monitors.

        Returns:
          Whether to stop training.

        Raises:
          ValueError: it is not the current step.
        """
        if self._running != step:
            raise ValueError(f"Step {step} ends during step {self._running}.")
        self._running = None
        return False

    def post_step(self, step, session):
        """Is called after `step_end` of all monitors.

        Args:
          step: the number of the step.
          session: the tf.Session.
        """


class EveryN(BaseMonitor):
    """Base class of monitors that act in the first steps, and then in every nth step.

    Args:
      every_n_steps: int, steps between two that the monitor acts in.
      first_n_steps: int, the last of the first steps.
    """

    def __init__(self, every_n_steps=100, first_n_steps=1):
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._newest, self._acted = None, 0
        self._acts = False

    def every_n_step_begin(self, step):
        """Is called before a step in which the monitor acts.

        Args:
          step: its number.

        Returns:
          List of the tensors, or their names, whose values `every_n_step_end` gets.
        """
        return []

    def every_n_step_end(self, step, outputs):
        """Is called after a step in which the monitor acts.

        Args:
          step: its number.
          outputs: {tensor or name: value}, of all monitors.

        Returns:
          Whether to stop training.
        """
        return False

    def every_n_post_step(self, step, session):
        """Is called after `every_n_step_end`, and for the last step.

        Args:
          step: the number of the step.
          session: the tf.Session.
        """

    def step_begin(self, step):
        """Calls `every_n_step_begin` if the monitor acts in a step.

        Args:
          step: its number.

        Returns:
          What that returns, else an empty list.
        """
        super().step_begin(step)
        self._acts = (
            step <= self._first_n_steps
            or step >= self._acted + self._every_n_steps
            or step == self._max_steps
        )
        return self.every_n_step_begin(step) if self._acts else []

    def step_end(self, step, output):
        """Calls `every_n_step_end` if the monitor acts in a step.

        Args:
          step: its number.
          output: {tensor or name: value}, of all monitors.

        Returns:
          What that returns, else False.
        """
        super().step_end(step, output)
        return self._acts and self.every_n_step_end(step, output)

    def post_step(self, step, session):
        """Calls `every_n_post_step` if the monitor acts in a step.

        Args:
          step: its number.
          session: the tf.Session.
        """
        super().post_step(step, session)
        if self._acts:
            self.every_n_post_step(step, session)
            self._acted = step
        self._newest = step

    def end(self, session=None):
        """Calls `every_n_post_step` for the last step, unless it has been called.

        Args:
          session: the tf.Session, which is still open.
        """
        super().end(session=session)
        if self._newest != self._acted:
            self.every_n_post_step(self._newest, session)


class RunHookAdapterForMonitors(tf.train.SessionRunHook):
    """Runs monitors as a hook.

    Args:
      monitors: list of monitors.
    """

    def __init__(self, monitors):
        self._monitors = monitors

    def begin(self):
        self._next_step = None
        self._global_step = tf.train.get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context):
        """Requests what the monitors name.

        Args:
          run_context: the tf.train.SessionRunContext.

        Raises:
          ValueError: a monitor gives no list, or a name of several tensors.
        """
        session = run_context.session
        if self._next_step is None:
            self._next_step = session.run(self._global_step) + 1
        wanted = {}
        for monitor in self._monitors:
            named = monitor.step_begin(self._next_step) or []
            if not isinstance(named, list):
                raise ValueError(f"step_begin of {type(monitor).__name__} gave no list.")
            wanted.update({name: _find(session.graph, name) for name in named})
        return tf.train.SessionRunArgs({"step": self._global_step, "monitors": wanted})

    def after_run(self, run_context, run_values):
        """Gives the monitors their values; stops training if one of them says so.

        Args:
          run_context: the tf.train.SessionRunContext.
          run_values: the tf.train.SessionRunValues.
        """
        values = run_values.results["monitors"]
        # Each of them gets its values, also after one that stops.
        if any([monitor.step_end(self._next_step, values) for monitor in self._monitors]):
            run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._next_step, run_context.session)
        self._next_step = run_values.results["step"] + 1

    def end(self, session):
        """Ends the monitors.

        Args:
          session: the tf.Session, which is still open.
        """
        self._next_step = None
        for monitor in self._monitors:
            takes_it = "session" in inspect.signature(monitor.end).parameters
            monitor.end(**({"session": session} if takes_it else {}))


def _find(graph, named):
    """Returns the tensor with a name, which may be that of an operation with one result."""
    if not isinstance(named, str) or ":" in named:
        return graph.as_graph_element(named)
    tensors = graph.get_operation_by_name(named).outputs
    if len(tensors) != 1:
        raise ValueError(f"{named}: the operation has {len(tensors)} results; name one of them.")
    return tensors[0]


def value_of(outputs, named):
    """Returns the value of a tensor.

    Args:
      outputs: {tensor or name: value}.
      named: the tensor, or its name.
    """
    return outputs[named if named in outputs else named.name]
