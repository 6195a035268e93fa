"""The functions that TFX's Trainer and Tuner components call, by a path or from a module file.

    Trainer(run_fn="trainer.tfx.run_fn", custom_config={"label": "tips_xf"}, ...)
    Tuner(tuner_fn="trainer.tfx.tuner_fn", custom_config={"label": "tips_xf", "search": [...]}, ...)

docs/tfx.md describes custom_config. TFX is not imported: the functions read attributes of the
FnArgs that they are given.
"""

from typing import Any

from trainer.tfx import child
from trainer.tfx.arguments import flatten


def run_fn(fn_args: Any) -> None:
    """Trains, evaluates and exports, and copies the best export to serving_model_dir.

    Args:
        fn_args: tfx.components.FnArgs.

    Raises:
        UserError: custom_config, the data or an option are wrong.
    """
    child.call("trainer.tfx.running:run", flatten(fn_args))


def tuner_fn(fn_args: Any) -> Any:
    """Returns a tuner whose trials are jobs of this trainer.

    Args:
        fn_args: tfx.components.FnArgs.

    Returns:
        A named tuple (tuner, fit_kwargs) with the fields of tfx.components.TunerFnResult.

    Raises:
        UserError: custom_config, the search space or an option are wrong.
    """
    # keras_tuner takes seconds to load.
    from trainer.tfx import tuning

    return tuning.build_tuner(fn_args)
