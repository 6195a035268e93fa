"""Metrics, serving receiver and hooks of the user's own, each named package.module:name."""

import inspect
from collections.abc import Sequence
from typing import Any, Callable, Optional

from estimator_bridge import estimator, tf
from trainer.errors import UserError
from trainer.features.raw_inputs import list_inputs
from trainer.models.code import HParams, call_code, load_code, load_function, translate_user_errors
from trainer.schema import Schema

# A session that meets these is made anew, or has come to its end; no hook is to blame.
SESSION_ERRORS = (tf.errors.AbortedError, tf.errors.UnavailableError, tf.errors.OutOfRangeError)


def make_user_metric_fn(reference: str, hparams: HParams, schema: Schema) -> Callable:
    """Makes the metric_fn of add_metrics from the user's function.

    Args:
        reference: package.module:function; it may ask for features, labels, predictions, hparams
            and schema, and returns name → Keras metric or (value, update operation).
        hparams, schema: what it may ask for besides.

    Raises:
        UserError: the function cannot be found; when called: it fails, or returns something else.
    """
    where = f"eval.metric_fn {reference}"
    function = load_function(reference, "eval.metric_fn")

    def metric_fn(features, labels, predictions):
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
) -> Callable:
    """Makes the serving_input_receiver_fn from the user's function, and tries it once.

    Args:
        reference: package.module:function; it may ask for hparams and schema, and returns a
            ServingInputReceiver or a TensorServingInputReceiver.
        hparams, schema: what it may ask for.
        inputs: features that it must bring; None: those of the schema.

    Raises:
        UserError: the function cannot be found, fails, returns something else, or a feature that
            the model needs is missing.
    """
    where = f"export.receiver_fn {reference}"
    function = load_function(reference, "export.receiver_fn")
    needed = set(list_inputs(schema) if inputs is None else inputs)
    kinds = (estimator.export.ServingInputReceiver, estimator.export.TensorServingInputReceiver)

    def serving_input_receiver_fn():
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
        references: package.module:name of a hook, of its class, or of a function returning one or
            several; a class or function may ask for run_config, hparams and schema.
        run_config, hparams, schema: what it may ask for.

    Raises:
        UserError: it cannot be found, fails, or is no SessionRunHook.
    """
    hooks = []
    for reference in references:
        where = f"train.hooks {reference}"
        found = load_code(reference, "train.hooks")
        if not isinstance(found, estimator.SessionRunHook):
            if not callable(found):
                raise UserError(f"{where}: it is {found!r:.60}, not a SessionRunHook")
            given = {"run_config": run_config, "hparams": hparams, "schema": schema}
            found = call_code(found, where, **given)
        for hook in found if isinstance(found, (list, tuple)) else [found]:
            if inspect.isclass(hook) or not isinstance(hook, estimator.SessionRunHook):
                raise UserError(f"{where}: it made {hook!r:.60}, not a SessionRunHook")
            hooks.append(_GuardedHook(hook, where))
    return hooks


class _GuardedHook(estimator.SessionRunHook):
    """Hands everything on to a user's hook; what it raises becomes one line."""

    def __init__(self, hook: Any, where: str):
        self._hook = hook
        self._where = where

    def _call(self, name: str, *args: Any) -> Any:
        with translate_user_errors(self._where, f"its {name}", SESSION_ERRORS):
            return getattr(self._hook, name)(*args)

    def begin(self):
        """Before the session is made."""
        self._call("begin")

    def after_create_session(self, session, coord):
        """The session is there."""
        self._call("after_create_session", session, coord)

    def before_run(self, run_context):
        """Before each step; returns what the hook wants to be fetched."""
        return self._call("before_run", run_context)

    def after_run(self, run_context, run_values):
        """After each step."""
        self._call("after_run", run_context, run_values)

    def end(self, session):
        """The session ends."""
        self._call("end", session)
