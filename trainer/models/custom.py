"""A model of the user's own: model.type package.module:function."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.models.code import HParams, call_code, load_function, translate_user_errors
from trainer.schema import Schema, Statistics


def build_custom(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    run_config: Any,
    max_steps: int,
):
    """Calls the user's function, which gets those of run_config, hparams, schema that it names.

    Args:
        config: names the function; its user section holds the hyperparameters.
        schema, statistics: of the data.
        run_config: an estimator.RunConfig with a model_dir, which the Estimator must use.
        max_steps: length of the run.

    Returns:
        the function's Estimator; a compiled Keras model that it returns becomes one.

    Raises:
        UserError: the function cannot be found, fails, or returns something else.
    """
    where = f"model.type {config.model.type}"
    function = load_function(config.model.type, "model.type")
    hparams = HParams(config, statistics, max_steps)
    built = call_code(function, where, run_config=run_config, hparams=hparams, schema=schema)
    return check_estimator(built, where, run_config)


def check_estimator(built: Any, where: str, run_config: Any):
    """The Estimator that a user's code returned, once it is known to be one for this job.

    Raises:
        UserError: it is none, or would keep its checkpoints elsewhere.
    """
    if isinstance(built, tf.keras.Model):
        with translate_user_errors(where, "turning its Keras model into an Estimator"):
            built = convert_keras(built, run_config)
    if not isinstance(built, (estimator.Estimator, tf.compat.v1.estimator.Estimator)):
        raise UserError(
            f"{where}: it returned {built!r:.60}, not an Estimator; return one, or a compiled "
            "Keras model"
        )
    if built.model_dir != run_config.model_dir:
        raise UserError(
            f"{where}: its Estimator keeps its checkpoints in {built.model_dir} instead of "
            f"{run_config.model_dir}; build it with config=run_config"
        )
    return built


def convert_keras(keras_model: Any, run_config: Any):
    """The Estimator of a compiled Keras model, which starts from all of the model's values.

    Its checkpoints name variables as any other Estimator's do.
    """
    built = tf.keras.estimator.model_to_estimator(
        keras_model, config=run_config, checkpoint_format="saver"
    )
    settings = built._warm_start_settings
    if settings is not None:
        # Unless told so, only what is trainable is taken over, and so the moving averages of a
        # batch normalisation would silently begin anew.
        built._warm_start_settings = settings._replace(vars_to_warm_start=[".*"])
    return built


def guard(inner: Any, where: str):
    """Wraps an Estimator so that an error in its model_fn becomes one line about `where`.

    Returns:
        an Estimator of the same model_dir, configuration and initial values.
    """

    def model_fn(features, labels, mode, config):
        with translate_user_errors(where, f"its model_fn in mode {mode!r}"):
            return inner.model_fn(features, labels, mode, config)

    return estimator.Estimator(
        model_fn=model_fn, config=inner.config, warm_start_from=inner._warm_start_settings
    )
