"""Writes records of jobs as runs of an MLflow experiment."""

import contextlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trainer.environment.variables import set_default
from trainer.errors import TemporaryError, UserError
from trainer.history.records import Record

KEY = "trainer.key"
# How often MLflow tries a request again; its own default waits for minutes.
RETRIES = ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
# Limits of one request, and of the length of a value.
MAX_METRICS, MAX_PARAMS, MAX_LENGTH = 1000, 100, 500
STATUS = {"complete": "FINISHED", "unknown": "FINISHED", "incomplete": "RUNNING"}
# Codes of MLflow that say that the request is wrong; others may be temporary.
WRONG = ("INVALID_PARAMETER_VALUE", "PERMISSION_DENIED", "UNAUTHENTICATED", "BAD_REQUEST")


class MlflowRuns:
    """The runs of an experiment; see exporting.Destination.

    Args:
        uri: of the tracking server, or of its database.
        experiment: its name; it is created if there is none.

    Raises:
        UserError: MLflow is not installed, or the server rejects the experiment.
        TemporaryError: the server does not answer.
    """

    def __init__(self, uri: str, experiment: str):
        set_default(*RETRIES)
        try:
            from mlflow import entities
            from mlflow.tracking import MlflowClient
        except ImportError as error:
            raise UserError(
                "this needs the package mlflow-skinny; pip install 'mlflow-skinny>=3.1,<4'"
            ) from error
        self._entities, self._uri = entities, uri
        with self._translate_errors():
            self._client = MlflowClient(uri)
            found = self._client.get_experiment_by_name(experiment)
            self._experiment = (
                found.experiment_id if found else self._client.create_experiment(experiment)
            )

    def write(self, record: Record) -> str:
        """Writes a record, or completes one that an earlier export has begun.

        Args:
            record: of a job.

        Returns:
            exported or unchanged.

        Raises:
            UserError: the server rejects it.
            TemporaryError: the server does not answer.
        """
        with self._translate_errors():
            run = self._find(record)
            if run.info.status == "FINISHED":
                return "unchanged"
            self._log(run.info.run_id, record)
            if STATUS[record.state] == "FINISHED":
                # It prints the address of the run.
                with contextlib.redirect_stdout(io.StringIO()):
                    ended = record.ended or None
                    self._client.set_terminated(run.info.run_id, "FINISHED", ended)
        return "exported"

    def _find(self, record: Record) -> Any:
        found = self._client.search_runs([self._experiment], f"tags.`{KEY}` = '{record.key}'")
        if found:
            return found[0]
        return self._client.create_run(
            self._experiment,
            start_time=record.started or None,
            run_name=record.name,
            tags={KEY: record.key},
        )

    def _log(self, run_id: str, record: Record) -> None:
        names = {name for name, _, _ in record.series}
        # A metric has the time of the start, so that what is there already is found.
        known = {
            (name, each.step)
            for name in sorted(names)
            for each in self._client.get_metric_history(run_id, _clean(name))
        }
        metrics = [
            self._entities.Metric(_clean(name), value, record.started, step)
            for name, step, value in record.series
            if (name, step) not in known
        ]
        params = [
            self._entities.Param(_clean(name), text[:MAX_LENGTH])
            for name, text in record.params.items()
        ]
        tags = [
            self._entities.RunTag(f"trainer.{_clean(name)}", text[:MAX_LENGTH])
            for name, text in record.tags.items()
        ]
        for start in range(0, len(params), MAX_PARAMS):
            self._client.log_batch(run_id, params=params[start : start + MAX_PARAMS])
        self._client.log_batch(run_id, tags=tags[:MAX_PARAMS])
        for start in range(0, len(metrics), MAX_METRICS):
            self._client.log_batch(run_id, metrics=metrics[start : start + MAX_METRICS])

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        from mlflow.exceptions import MlflowException

        try:
            yield
        except MlflowException as error:
            words = " ".join(str(error).split())[:200]
            if error.error_code in WRONG:
                raise UserError(f"--to={self._uri}: MLflow rejects the request: {words}") from error
            raise TemporaryError(
                f"--to={self._uri}: MLflow does not answer: {words}; try again"
            ) from error


def _clean(name: str) -> str:
    """Returns a name with the characters that MLflow accepts."""
    return re.sub(r"[^\w./ -]", "_", name, flags=re.ASCII)
