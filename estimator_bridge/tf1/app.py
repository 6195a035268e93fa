"""`tf.app` as in TensorFlow 1.x."""

import sys
import types

import absl.logging

__all__ = ["as_in_1x"]


def as_in_1x(app: types.ModuleType, flags: types.ModuleType) -> types.ModuleType:
    """Returns `tf.app` with other flags, and a `run` that does not change the root logger.

    The `run` of TensorFlow 2 uses absl.app, which adds absl's handler to the root logger, so that
    each line of tf.logging would appear twice.

    Args:
      app: the module `tf.compat.v1.app`.
      flags: the module `tf.flags` of the view.
    """

    def run(main=None, argv=None):
        """Parses the known flags, calls main(the rest of argv) and exits with its result."""
        main = main or sys.modules["__main__"].main
        use_handler = absl.logging.use_absl_handler

        def main_with_handler_back(arguments):
            absl.logging.use_absl_handler = use_handler
            return main(arguments)

        absl.logging.use_absl_handler = lambda: None
        try:
            app.run(main=main_with_handler_back, argv=argv)
        finally:
            absl.logging.use_absl_handler = use_handler

    copy = types.ModuleType(app.__name__, app.__doc__)
    copy.__dict__.update(app.__dict__)
    copy.__dict__.update(flags=flags, run=run)
    return copy
