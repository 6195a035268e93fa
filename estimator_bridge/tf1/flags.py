"""`tf.flags` as in TensorFlow 1.x."""

import functools
import types

import absl.flags

__all__ = ["as_in_1x"]

# A flag belongs to the program's module that calls DEFINE_*, not to this one: --help shows the
# flags of the main module.
absl.flags.disclaim_key_flags()


def as_in_1x(flags: types.ModuleType) -> types.ModuleType:
    """Returns `tf.flags` whose definitions may replace absl.logging's flags.

    Keras 2 imports absl.logging, which defines --log_dir, --verbosity and --v. TensorFlow 1.x did
    not, and old trainers define flags of these names. The flags of a trainer replace those of absl,
    which would otherwise raise DuplicateFlagError.

    Args:
      flags: the module `tf.compat.v1.flags`.
    """
    copy = types.ModuleType(flags.__name__, flags.__doc__)
    copy.__dict__.update(flags.__dict__)
    for name, define in vars(flags).items():
        if name.startswith("DEFINE_") and callable(define):
            setattr(copy, name, _replacing_logging_flags(define, flags.FLAGS))
    return copy


def _replacing_logging_flags(define, values):
    @functools.wraps(define)
    def replacing(*args, **kwargs):
        name = args[0] if args else kwargs.get("name", kwargs.get("flag_name"))
        if isinstance(name, str) and name in values:
            owner = values.find_module_defining_flag(name)
            short = kwargs.get("short_name")
            if owner == "absl.logging" or str(owner).endswith("/absl/logging/__init__.py"):
                # The one-letter name is a second key of the same flag.
                for key in {name, values[name].short_name} - {None, short}:
                    if key in values:
                        delattr(values, key)
                redefined = define(*args, **kwargs)
                # absl.app.run calls this method of the flag to set absl's own level.
                values[name]._update_logging_levels = lambda: None
                return redefined
        return define(*args, **kwargs)

    return replacing
