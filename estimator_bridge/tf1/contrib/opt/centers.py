"""What the optimizers of `tf.contrib.opt` for clusters with a center of the variables share.

Each worker trains variables of its own, which are local variables on its device. The parameter
servers hold the center, a global variable for each of them, which is what checkpoints contain.
"""

import contextlib

import tensorflow.compat.v1 as tf

__all__ = [
    "GLOBAL_VARIABLE_NAME",
    "CenterGetter",
    "CenterHook",
    "CenterOptimizer",
    "make_local",
    "parts_of",
    "read_at",
]

GLOBAL_VARIABLE_NAME = "global_center_variable"
_LOCAL = [tf.GraphKeys.LOCAL_VARIABLES]


class CenterGetter:
    """Custom getter that makes the variables of a worker and of the center.

    Args:
      worker_device: device of the worker's variables.
    """

    def __init__(self, worker_device):
        self.worker_device = worker_device
        # Variable of the worker -> variable of the center.
        self.centers = {}

    def __call__(self, getter, name, trainable, collections, *args, **kwargs):
        """Returns a variable. Those that are not trained are made as without this getter.

        Args:
          getter: function that makes a variable.
          name: its name.
          trainable: whether it is trained.
          collections: its collections; None for those of global variables.
          *args: further arguments of the getter.
          **kwargs: likewise.
        """

        def make(name, trainable, collections):
            return getter(name, *args, trainable=trainable, collections=collections, **kwargs)

        if not trainable:
            return self._make_untrained(make, name, collections)
        with self._on_worker():
            variable = make(name, True, _LOCAL)
        self._make_center(make, name, variable, kwargs.get("use_resource"))
        return variable

    def _make_untrained(self, make, name, collections):
        is_local = tf.GraphKeys.LOCAL_VARIABLES in (collections or [])
        with self._on_worker() if is_local else contextlib.nullcontext():
            return make(name, False, collections)

    def _on_worker(self):
        return tf.device(self.worker_device)

    def _make_center(self, make, name, variable, use_resource):
        raise NotImplementedError

    def make_beside(self, make, prefix, name, found, variable):
        """Makes a variable of the same shape and initializer beside one of the worker.

        Args:
          make: function of (name, trainable, collections) that makes a variable.
          prefix: of its name; that of the center is on the parameter servers, any other local.
          name: name of the worker's variable.
          found: dictionary, variable of the worker -> variable, to add it to.
          variable: the worker's variable.
        """
        is_center = prefix == GLOBAL_VARIABLE_NAME
        with contextlib.nullcontext() if is_center else self._on_worker():
            collections = [tf.GraphKeys.GLOBAL_VARIABLES] if is_center else _LOCAL
            beside = make(f"{prefix}/{name}", False, collections)
        found.update(zip(parts_of(variable), parts_of(beside)))


def parts_of(variable):
    """Returns the variables that make up one.

    Args:
      variable: tf.Variable, partitioned or not.

    Returns:
      List of the parts, or of the variable itself.
    """
    return list(variable) if hasattr(variable, "as_tensor") else [variable]


def make_local(variables):
    """Makes global variables local ones of the worker, which nothing saves.

    Args:
      variables: list of variables, such as slots; those that are local already stay so.
    """
    chosen = {id(one) for one in variables}
    every = tf.get_collection_ref(tf.GraphKeys.GLOBAL_VARIABLES)
    moved = [one for one in every if id(one) in chosen]
    every[:] = [one for one in every if id(one) not in chosen]
    for one in moved:
        tf.add_to_collection(tf.GraphKeys.LOCAL_VARIABLES, one)


def read_at(variable):
    """Returns the value of a variable, read on its device once the control inputs are there.

    A read on another device is sent there when the step begins, before its control inputs.

    Args:
      variable: tf.Variable.

    Returns:
      Tensor.
    """
    with tf.colocate_with(variable, ignore_existing=True):
        return variable.read_value()


class CenterHook(tf.train.SessionRunHook):
    """Starts the variables of a worker from the center, also in a session after a failure.

    Args:
      make_init_op: function that returns the operation.
    """

    def __init__(self, make_init_op):
        self._make_init_op = make_init_op
        self._init_op = None

    def begin(self):
        self._init_op = self._make_init_op()

    def after_create_session(self, session, coord):
        session.run(self._init_op)


class CenterOptimizer(tf.train.Optimizer):
    """Wraps an optimizer of a worker, and exchanges its variables with the center periodically.

    Args:
      opt: tf.train.Optimizer that makes the steps of the worker.
      period: int, number of the worker's steps from one exchange to the next.
      custom_getter: CenterGetter that made the variables.
      use_locking: whether to lock variables while they are assigned.
      name: name of the optimizer.
    """

    def __init__(self, opt, period, custom_getter, use_locking, name):
        super().__init__(use_locking, name)
        self._opt = opt
        self._period = period
        self._centers = custom_getter.centers
        # On a parameter server, the workers would count together.
        with tf.device(custom_getter.worker_device):
            self._local_step = tf.get_variable(
                "local_step", initializer=0, trainable=False, collections=_LOCAL
            )
        # In 1.15 too, its constants come before its steps, which their names count.
        opt._prepare()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step of the worker, with an exchange when it is due.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that each exchange increments, or None.
          name: ignored, as in 1.15.

        Returns:
          Boolean tensor; whether an exchange was due.

        Raises:
          ValueError: there is no gradient.
          KeyError: the custom getter did not make a variable.
        """
        grads_and_vars = list(grads_and_vars)
        done = self._step(grads_and_vars)
        variables = [var for grad, var in grads_and_vars if grad is not None]
        for var in variables:
            self._center_of(var)
        with tf.control_dependencies([done]):
            count = tf.assign_add(self._local_step, 1, use_locking=self._use_locking)
            is_due = tf.equal(tf.floormod(count, self._period), 0)
            return tf.cond(is_due, lambda: self._exchange(variables, global_step), tf.no_op)

    def _center_of(self, var):
        if var not in self._centers:
            raise KeyError(f"{var.name}: make it with the custom getter of {self.get_name()}")
        return self._centers[var]

    def _step(self, grads_and_vars):
        """Returns the operation of a step of the worker alone."""
        return self._opt.apply_gradients(grads_and_vars)

    def _exchange(self, variables, global_step):
        """Returns the operation of an exchange, within the branch that makes it."""
        raise NotImplementedError

    def _make_init_op(self):
        """Returns the operation that starts the variables of the worker from the center."""
        return tf.group(
            *(tf.assign(variable, read_at(center)) for variable, center in self._centers.items())
        )
