"""`tf.keras.mixed_precision.experimental` of TensorFlow 2.1 to 2.8, on the package after it."""

import importlib
from typing import Any

__all__ = ["NAMES", "build"]

NAMES = (
    *("LossScaleOptimizer", "Policy", "get_layer_policy", "global_policy"),
    *("set_global_policy", "set_policy"),
)


def build(keras: str) -> dict[str, Any]:
    """Returns the classes and functions by name.

    Args:
      keras: the package of Keras 2.
    """
    import tensorflow as tf

    public = importlib.import_module(f"{keras}.api._v2.keras.mixed_precision")
    private = importlib.import_module(f"{keras}.src.mixed_precision.loss_scale_optimizer")
    base: Any = private.LossScaleOptimizer
    dynamic_scale = tf.compat.v1.mixed_precision.DynamicLossScale
    fixed_scale = tf.compat.v1.mixed_precision.FixedLossScale

    class _Kind(type(base)):  # type: ignore[misc]
        # The inherited one knows the first argument by another name.
        __call__ = type.__call__

    class LossScaleOptimizer(base, metaclass=_Kind):
        """Scales the loss of another optimizer.

        Args:
          optimizer: the other one.
          loss_scale: 'dynamic', a number, or a LossScale of TensorFlow; its state is not used.
        """

        def __init__(self, optimizer: Any, loss_scale: Any = "dynamic"):
            if loss_scale == "dynamic":
                super().__init__(optimizer)
            elif hasattr(loss_scale, "increment_period"):
                if loss_scale.multiplier != 2:
                    raise ValueError(
                        f"multiplier={loss_scale.multiplier}: the loss scale of a Keras optimizer "
                        "is multiplied by 2"
                    )
                super().__init__(
                    optimizer,
                    initial_scale=loss_scale.initial_loss_scale,
                    dynamic_growth_steps=loss_scale.increment_period,
                )
            else:
                fixed = loss_scale() if callable(loss_scale) else loss_scale
                super().__init__(optimizer, dynamic=False, initial_scale=float(fixed))

    class Policy(public.Policy):  # type: ignore[name-defined]
        """Types of a layer's variables and computations, and the scale of the loss.

        Args:
          name: such as 'mixed_float16'.
          loss_scale: 'dynamic', a number, a LossScale or None; 'auto' is dynamic for mixed_float16.
        """

        def __init__(self, name: str, loss_scale: Any = "auto"):
            super().__init__(name)
            if loss_scale == "auto":
                loss_scale = "dynamic" if name == "mixed_float16" else None
            if loss_scale == "dynamic":
                loss_scale = dynamic_scale()
            elif isinstance(loss_scale, (int, float)):
                loss_scale = fixed_scale(float(loss_scale))
            self._loss_scale = loss_scale

        @property
        def loss_scale(self) -> Any:
            """The LossScale of optimizers; None without one."""
            return self._loss_scale

    def get_layer_policy(layer: Any) -> Any:
        """Returns the policy of a layer."""
        return layer.dtype_policy

    return {
        "LossScaleOptimizer": LossScaleOptimizer,
        "Policy": Policy,
        "get_layer_policy": get_layer_policy,
        "global_policy": public.global_policy,
        "set_global_policy": public.set_global_policy,
        "set_policy": public.set_global_policy,
    }
