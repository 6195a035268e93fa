"""TensorFlow's eager context of this process."""

from estimator_bridge.private_tf import eager_context

__all__ = ["renew_eager_context"]


def renew_eager_context() -> None:
    """Makes the eager context as if no eager operation had run; tensors of before must not be used.

    MultiWorkerMirroredStrategy accepts only an unused context, and reading TFRecord files uses it.
    """
    eager_context._reset_context()
