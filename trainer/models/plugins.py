"""A user's own metrics, serving receiver and hooks, each named package.module:name."""

import inspect
from collections.abc import Sequence
from typing import Any, Callable, Optional

from estimator_bridge import estimator, tf
from trainer.errors import UserError
from trainer.features.raw_inputs import list_inputs
from trainer.models.code import HParams, call_code, load_code, load_function, translate_user_errors
from trainer.schema import Schema

# A MonitoredSession recovers from these errors or ends with them; they are not caused by a hook.
SESSION_ERRORS = (tf.errors.AbortedError, tf.errors.UnavailableError, tf.errors.OutOfRangeError)


def make_user_metric_fn(
    reference: str, hparams: HParams, schema: Schema
) -> Callable[..., dict[str, Any]]:
    """Makes the metric_fn of estimator.add_metrics from the user's function.

    Args:
        reference: package.module:function; the function may have the parameters features, labels,
            predictions, hparams and schema, and returns name → Keras metric or (value, update
            operation).
        hparams: hyperparameters of the function.
        schema: columns and label.

    Returns:
        A function of features, labels and predictions. It raises a UserError if the user's function
        fails or returns something else.

    Raises:
        UserError: the function cannot be found.
    """
    where = f"eval.metric_fn {reference}"
    function = load_function(reference, "eval.metric_fn")

    def metric_fn(features: dict[str, Any], labels: Any, predictions: Any) -> dict[str, Any]:
        given = {"features": features, "labels": labels, "predictions": predictions}
        metrics = call_code(function, where, **given, hparams=hparams, schema=schema)
        if not isinstance(metrics, dict) or not all(map(_is_metric, metrics.values())):
            raise UserError(
                f"{where}: it returned {metrics!r:.80}; return a dict, name to Keras metric or "
                "(value, update operation)"
            )
        return metrics

    return metric_fn


def _is_metric(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2
    return pair or isinstance(value, tf.keras.metrics.Metric)


def make_user_receiver_fn(
    reference: str, hparams: HParams, schema: Schema, inputs: Optional[Sequence[str]] = None
) -> Callable[[], Any]:
    """Makes the serving_input_receiver_fn from the user's function, and calls it once as a test.

    Args:
        reference: package.module:function; the function may have the parameters hparams and schema,
            and returns a ServingInputReceiver or a TensorServingInputReceiver.
        hparams: hyperparameters of the function.
        schema: columns.
        inputs: features that the receiver must provide; None: the inputs of the schema.

    Returns:
        A function without arguments that returns the receiver.

    Raises:
        UserError: the function cannot be found, fails, returns something else, or does not provide
            a feature that the model needs.
    """
    where = f"export.receiver_fn {reference}"
    function = load_function(reference, "export.receiver_fn")
    needed = set(list_inputs(schema) if inputs is None else inputs)
    kinds = (estimator.export.ServingInputReceiver, estimator.export.TensorServingInputReceiver)

    def serving_input_receiver_fn() -> Any:
        receiver = call_code(function, where, hparams=hparams, schema=schema)
        if not isinstance(receiver, kinds):
            raise UserError(f"{where}: it returned {receiver!r:.60}, not a ServingInputReceiver")
        missing = needed - set(receiver.features if isinstance(receiver.features, dict) else ())
        if missing:
            raise UserError(
                f"{where}: its features lack {', '.join(sorted(missing))}, which the model needs"
            )
        return receiver

    with tf.Graph().as_default():
        serving_input_receiver_fn()
    return serving_input_receiver_fn


def build_user_hooks(
    references: Sequence[str], run_config: Any, hparams: HParams, schema: Optional[Schema]
) -> list[Any]:
    """Builds the user's hooks.

    Args:
        references: package.module:name of a hook, of its class, or of a function that returns one
            or several hooks; a class or function may have the parameters run_config, hparams and
            schema.
        run_config: an estimator.RunConfig.
        hparams: hyperparameters of the hooks.
        schema: columns; None if the job has no schema.

    Returns:
        The hooks, each wrapped so that its errors become UserErrors.

    Raises:
        UserError: a hook cannot be found, its function fails, or it is not a SessionRunHook.
    """
    hooks = []
    for reference in references:
        where = f"train.hooks {reference}"
        found = load_code(reference, "train.hooks")
        if not isinstance(found, estimator.SessionRunHook):
            if not callable(found):
                raise UserError(f"{where}: got {found!r:.60}, not a SessionRunHook")
            given = {"run_config": run_config, "hparams": hparams, "schema": schema}
            found = call_code(found, where, **given)
        for hook in found if isinstance(found, (list, tuple)) else [found]:
            if inspect.isclass(hook) or not isinstance(hook, estimator.SessionRunHook):
                raise UserError(f"{where}: it returned {hook!r:.60}, not a SessionRunHook")
            hooks.append(_UserHook(hook, where))
    return hooks


class _UserHook(estimator.SessionRunHook):
    """Forwards every call to a user's hook and translates its errors."""

    def __init__(self, hook: Any, where: str) -> None:
        self._hook = hook
        self._where = where

    def _call(self, name: str, *args: Any) -> Any:
        with translate_user_errors(self._where, f"its {name}", SESSION_ERRORS):
            return getattr(self._hook, name)(*args)

    def begin(self) -> None:
        """Called before the session is created."""
        self._call("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the session has been created.

        Args:
            session: the session.
            coord: its coordinator.
        """
        self._call("after_create_session", session, coord)

    def before_run(self, run_context: Any) -> Any:
        """Called before each run of the session; returns the hook's SessionRunArgs or None.

        Args:
            run_context: a SessionRunContext.
        """
        return self._call("before_run", run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Called after each run of the session.

        Args:
            run_context: a SessionRunContext.
            run_values: a SessionRunValues with the values that the hook fetched.
        """
        self._call("after_run", run_context, run_values)

    def end(self, session: Any) -> None:
        """Called when the session ends without an error.

        Args:
            session: the session.
        """
        self._call("end", session)
