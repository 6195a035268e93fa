"""Classes of `tf.keras.experimental` that later versions removed, written on Keras 2."""

import importlib
import math
from typing import Any

__all__ = ["NAMES", "build"]

NAMES = ("LinearCosineDecay", "NoisyLinearCosineDecay", "PeepholeLSTMCell")


def build(keras: str) -> dict[str, type]:
    """Returns the classes by name.

    Args:
      keras: the package of Keras 2.
    """
    import tensorflow as tf

    schedules = importlib.import_module(f"{keras}.api._v2.keras.optimizers.schedules")
    # The cell of compat.v1 has the defaults of this class: hard_sigmoid, implementation 1.
    layers = importlib.import_module(f"{keras}.api._v1.keras.layers")

    class LinearCosineDecay(schedules.LearningRateSchedule):  # type: ignore[name-defined]
        """A learning rate that falls linearly times a cosine.

        The formula is the documented one: rate * ((alpha + 1 - t) * cosine + beta), where t is the
        share of decay_steps and cosine is (1 + cos(2 pi num_periods t)) / 2.

        Args:
          initial_learning_rate: the rate at step 0.
          decay_steps: steps until the rate stays.
          num_periods: periods of the cosine in decay_steps.
          alpha: is added to the linear part.
          beta: is added to the product.
          name: of the operations.
        """

        def __init__(
            self,
            initial_learning_rate: Any,
            decay_steps: Any,
            num_periods: float = 0.5,
            alpha: float = 0.0,
            beta: float = 0.001,
            name: Any = None,
        ):
            super().__init__()
            self._settings = {
                "initial_learning_rate": initial_learning_rate,
                "decay_steps": decay_steps,
                "num_periods": num_periods,
                "alpha": alpha,
                "beta": beta,
                "name": name,
            }

        def __call__(self, step: Any) -> Any:
            chosen = self._settings
            with tf.name_scope(chosen["name"] or type(self).__name__):
                rate = tf.convert_to_tensor(chosen["initial_learning_rate"])
                steps = tf.cast(chosen["decay_steps"], rate.dtype)
                taken = tf.minimum(tf.cast(step, rate.dtype), steps)
                turns = tf.cast(chosen["num_periods"], rate.dtype) * taken / steps
                cosine = 0.5 * (1.0 + tf.cos(tf.cast(2.0 * math.pi, rate.dtype) * turns))
                linear = self._add_noise((steps - taken) / steps, taken)
                alpha, beta = (tf.cast(chosen[name], rate.dtype) for name in ("alpha", "beta"))
                return rate * ((alpha + linear) * cosine + beta)

        def _add_noise(self, linear: Any, step: Any) -> Any:
            return linear

        def get_config(self) -> dict[str, Any]:
            return dict(self._settings)

    class NoisyLinearCosineDecay(LinearCosineDecay):
        """LinearCosineDecay with Gaussian noise on the linear part.

        Args:
          initial_learning_rate: the rate at step 0.
          decay_steps: steps until the rate stays.
          initial_variance: variance of the noise at step 0.
          variance_decay: the variance is divided by (1 + step) to this power.
          num_periods: periods of the cosine in decay_steps.
          alpha: is added to the linear part.
          beta: is added to the product.
          name: of the operations.
        """

        def __init__(  # noqa: PLR0913 - the arguments of the original
            self,
            initial_learning_rate: Any,
            decay_steps: Any,
            initial_variance: float = 1.0,
            variance_decay: float = 0.55,
            num_periods: float = 0.5,
            alpha: float = 0.0,
            beta: float = 0.001,
            name: Any = None,
        ):
            super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
            self._settings.update(initial_variance=initial_variance, variance_decay=variance_decay)

        def _add_noise(self, linear: Any, step: Any) -> Any:
            start, power = self._settings["initial_variance"], self._settings["variance_decay"]
            variance = start / tf.pow(1.0 + step, tf.cast(power, step.dtype))
            return linear + tf.random.normal(tf.shape(linear), stddev=tf.sqrt(variance))

    class PeepholeLSTMCell(layers.LSTMCell):  # type: ignore[name-defined]
        """An LSTM cell whose gates see the cell state: Gers and Schmidhuber, 2000.

        Input and forget gate see the state before the step, the output gate sees the new one. Each
        has weights of shape [units].
        """

        def build(self, input_shape: Any) -> None:
            super().build(input_shape)
            for gate in ("input_gate", "forget_gate", "output_gate"):
                weight = self.add_weight(
                    shape=(self.units,),
                    name=f"{gate}_peephole_weights",
                    initializer=self.kernel_initializer,
                )
                setattr(self, f"{gate}_peephole_weights", weight)

        def _compute_carry_and_output(self, x: Any, h_tm1: Any, c_tm1: Any) -> Any:
            kernels = tf.split(self.recurrent_kernel, 4, axis=1)
            # Implementation 1 of the cell has one state for each gate's dropout.
            gates = [one + tf.matmul(h, w) for one, h, w in zip(x, h_tm1, kernels)]
            return self._step(gates, c_tm1)

        def _compute_carry_and_output_fused(self, z: Any, c_tm1: Any) -> Any:
            return self._step(z, c_tm1)

        def _step(self, gates: Any, state: Any) -> Any:
            z_input, z_forget, z_state, z_output = gates
            opened = self.recurrent_activation(z_input + self.input_gate_peephole_weights * state)
            kept = self.recurrent_activation(z_forget + self.forget_gate_peephole_weights * state)
            new = kept * state + opened * self.activation(z_state)
            shown = self.recurrent_activation(z_output + self.output_gate_peephole_weights * new)
            return new, shown

    return dict(zip(NAMES, (LinearCosineDecay, NoisyLinearCosineDecay, PeepholeLSTMCell)))
