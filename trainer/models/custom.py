"""A user's own model: model.type package.module:function."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer.errors import UserError
from trainer.models.code import HParams, call_code, load_function, translate_user_errors
from trainer.schema import Schema


def build_custom(reference: str, hparams: HParams, schema: Schema, run_config: Any) -> Any:
    """Builds the Estimator of a user's model.

    Args:
        reference: package.module:function; the function may have the parameters run_config,
            hparams and schema.
        hparams: hyperparameters of the function.
        schema: columns, label, weight and key.
        run_config: an estimator.RunConfig with a model_dir, which the Estimator must use.

    Returns:
        The Estimator that the function returns. A compiled Keras model is converted into one.

    Raises:
        UserError: the function cannot be found, fails, or returns something else.
    """
    where = f"model.type {reference}"
    function = load_function(reference, "model.type")
    built = call_code(function, where, run_config=run_config, hparams=hparams, schema=schema)
    return check_estimator(built, where, run_config)


def check_estimator(built: Any, where: str, run_config: Any) -> Any:
    """Checks the result of a user's code and returns its Estimator.

    Args:
        built: the result of the code: an Estimator, or a compiled Keras model.
        where: option and reference of the code, for messages.
        run_config: an estimator.RunConfig with the model_dir of the job.

    Raises:
        UserError: the result is neither of these, or its checkpoints would be in another folder.
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
            f"{where}: the model_dir of its Estimator is {built.model_dir}, not "
            f"{run_config.model_dir}; build it with config=run_config"
        )
    _collect_savers(built)
    return built


def _collect_savers(built: Any) -> None:
    """Makes the saver of a model_fn's Scaffold the first of its graph's collection of savers.

    TensorFlow adds only its own savers to the collection. A hook of training finds the saver there.
    """
    call_model_fn = built._call_model_fn

    def call_and_collect(*args: Any, **options: Any) -> Any:
        spec = call_model_fn(*args, **options)
        saver = spec.scaffold.saver if spec.scaffold is not None else None
        savers = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.SAVERS)
        if saver is not None and saver not in savers:
            savers.insert(0, saver)
        return spec

    built._call_model_fn = call_and_collect


def convert_keras(keras_model: Any, run_config: Any) -> Any:
    """Returns the Estimator of a compiled Keras model, which starts from the model's values.

    Its checkpoints use the same variable names as the checkpoints of other Estimators.

    Args:
        keras_model: a compiled tf.keras.Model.
        run_config: an estimator.RunConfig with a model_dir.
    """
    built = tf.keras.estimator.model_to_estimator(
        keras_model, config=run_config, checkpoint_format="saver"
    )
    settings = built._warm_start_settings
    if settings is not None:
        # By default, only trainable variables are restored. The moving averages of batch
        # normalisation would restart from their initial values without a warning.
        built._warm_start_settings = settings._replace(vars_to_warm_start=[".*"])
    return built


def guard(inner: Any, where: str) -> Any:
    """Wraps an Estimator so that errors in its model_fn become UserErrors.

    Args:
        inner: any Estimator.
        where: option and reference of its code, for messages.

    Returns:
        An Estimator of the same model_dir, configuration and initial values.
    """

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        with translate_user_errors(where, f"its model_fn in mode {mode!r}"):
            return inner.model_fn(features, labels, mode, config)

    return estimator.Estimator(
        model_fn=model_fn, config=inner.config, warm_start_from=inner._warm_start_settings
    )
