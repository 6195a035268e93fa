"""The optional package with the messages of TensorFlow Serving."""

import importlib.util

from estimator_bridge.versions import installed_tensorflow
from trainer.errors import UserError


def require_serving_api(purpose: str, otherwise: str = "") -> None:
    """Checks that tensorflow-serving-api is installed.

    Args:
        purpose: what needs it, for the message.
        otherwise: the end of the message: what to do without it.

    Raises:
        UserError: it is not installed.
    """
    if importlib.util.find_spec("tensorflow_serving") is None:
        # Another version of the package would replace the installed TensorFlow.
        minor = ".".join((installed_tensorflow() or "2").split(".")[:2])
        raise UserError(
            f"{purpose} need tensorflow-serving-api; run "
            f"pip install 'tensorflow-serving-api=={minor}.*'{otherwise}"
        )
