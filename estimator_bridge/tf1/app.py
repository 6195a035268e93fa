"""`tf.app` as in TensorFlow 1.x."""

import logging
import sys
import types

import absl.flags
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
            _keep_own_verbosity()
            _set_level()
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


def _keep_own_verbosity():
    """Gives a program's own flag `verbosity` its default back, which absl.app replaces by 0."""
    flag = absl.flags.FLAGS["verbosity"]
    if type(flag).__module__ != absl.logging.__name__ and not flag.present:
        flag.unparse()


def _set_level():
    """Makes tf.logging write what --verbosity says, by default INFO, as in 1.13 to 1.15."""
    logger = logging.getLogger("tensorflow")
    if logger.level == logging.NOTSET:
        logger.setLevel(absl.logging.get_absl_logger().getEffectiveLevel())
