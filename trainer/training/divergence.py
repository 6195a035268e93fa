"""Keeps a model that has diverged out of job_dir."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer.models.fused.served import SERVED_WRONG


class FiniteListener(estimator.CheckpointSaverListener):
    """Saves no checkpoint of a model with NaN in a variable, or infinity in a trainable one.

    The loss of a step is computed before its update, so that a finite loss does not mean a finite
    model. A job that is started again must not resume from such a model.
    """

    def __init__(self) -> None:
        self._graph: Any = None

    def begin(self) -> None:
        """Adds one check per variable to the graph, on the variable's device, once."""
        graph = tf.compat.v1.get_default_graph()
        if self._graph is graph:
            return
        self._graph = graph
        served = tf.compat.v1.get_collection(SERVED_WRONG)
        self._wrong = served[0] if served else self._build_check()

    def _build_check(self) -> Any:
        """Returns the names of variables that must not be saved, a tensor."""
        trainable = {each.name for each in tf.compat.v1.trainable_variables()}
        names, checks = [], []
        for variable in tf.compat.v1.global_variables():
            if not variable.dtype.base_dtype.is_floating:
                continue
            with tf.compat.v1.device(variable.device):
                value = tf.convert_to_tensor(variable)
                if variable.name in trainable:
                    wrong = tf.logical_not(tf.math.is_finite(value))
                else:
                    wrong = tf.math.is_nan(value)
                checks.append(tf.reduce_any(wrong))
            names.append(variable.name.partition(":")[0])
        if not checks:
            return tf.zeros([0], tf.string)
        return tf.boolean_mask(tf.constant(names), tf.stack(checks))

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Ends the run if the model must not be saved.

        Args:
            session: the session whose variables would be saved.
            global_step_value: the global step.

        Raises:
            NanLossDuringTrainingError: a variable is not finite.
        """
        names = session.run(self._wrong)
        if len(names):
            raise Diverged(names[0].decode(), global_step_value)


class Diverged(estimator.NanLossDuringTrainingError):
    """A variable became infinite or NaN.

    Args:
        variable: its name.
        step: global step.
    """

    def __init__(self, variable: str, step: int):
        super().__init__()
        self.variable = variable
        self.step = step

    def __str__(self) -> str:
        return f"variable {self.variable} is infinite or NaN at step {self.step}"
