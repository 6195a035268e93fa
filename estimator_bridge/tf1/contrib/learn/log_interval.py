"""How often training with an Estimator of `tf.contrib.learn` is logged."""

import copy

__all__ = ["FixedLogInterval"]

# 1.15 used this number, whatever `RunConfig.log_step_count_steps` was.
_STEPS = 100


class FixedLogInterval:
    """Makes an Estimator log its loss and its speed every 100 steps."""

    def _train_with_estimator_spec(self, *arguments):
        given = self._config
        self._config = copy.copy(given)
        self._config._log_step_count_steps = _STEPS
        try:
            return super()._train_with_estimator_spec(*arguments)
        finally:
            self._config = given
