"""`tf.app` as TensorFlow 1.x had it."""

import sys
import types

import absl.logging

__all__ = ["as_in_1x"]


def as_in_1x(app, flags) -> types.ModuleType:
    """Returns `tf.app` with the given flags, and a `run` that leaves the root logger alone.

    Today's runs through absl.app, which puts absl's handler on the root logger: each line of
    tf.logging would appear twice.
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
    copy.flags, copy.run = flags, run
    return copy
