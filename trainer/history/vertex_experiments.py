"""Writes records of jobs as experiment runs of Vertex AI Experiments.

An experiment and its runs are contexts of the project's default metadata store, of the types
system.Experiment and system.ExperimentRun. The service shows the parameters and metrics of a run
that its metadata contain.
"""

import re
from typing import Any, Optional

from trainer.errors import UserError
from trainer.history.records import Record
from trainer.vertex.connection import Connection

EXPERIMENT, RUN, VERSION = "system.Experiment", "system.ExperimentRun", "0.0.1"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
STATES = {"complete": "COMPLETE", "unknown": "COMPLETE", "incomplete": "RUNNING"}
MAX_LENGTH = 1000


class VertexExperiments:
    """The runs of an experiment; see exporting.Destination.

    Args:
        project: of the experiment.
        region: of the experiment.
        experiment: its name; it is created if there is none.
        endpoint: host:port of the service; "": that of the region.

    Raises:
        UserError: the name is wrong, the library is missing, or the service rejects the request.
        TemporaryError: the service cannot answer.
    """

    def __init__(self, project: str, region: str, experiment: str, endpoint: str):
        if not NAME.fullmatch(experiment):
            raise UserError(
                f"--experiment={experiment}: Vertex AI takes up to 80 of a-z, 0-9 and -; rename it"
            )
        client = "MetadataServiceClient"
        self._connection = Connection(client, project, region, endpoint or None)
        self._client, self._types = self._connection.client, self._connection.types
        self._store = f"{self._connection.parent}/metadataStores/default"
        self._experiment = experiment
        if self._get(self._store, self._client.get_metadata_store) is None:
            operation = self._connection.call(
                self._client.create_metadata_store,
                parent=self._connection.parent,
                metadata_store_id="default",
                metadata_store={},
            )
            self._connection.wait(operation)
        if self._get(self._name(experiment), self._client.get_context) is None:
            deleted = {"experiment_deleted": False}
            self._create(experiment, EXPERIMENT, experiment, deleted)

    def write(self, record: Record) -> str:
        """Writes a record, or updates one that is there.

        Args:
            record: of a job.

        Returns:
            exported or unchanged.

        Raises:
            UserError: the service rejects it.
            TemporaryError: the service cannot answer.
        """
        slug = re.sub(r"[^a-z0-9]+", "-", record.name.lower()).strip("-")[:20]
        number = f"{self._experiment}-{slug}-{record.key}"
        metadata = {
            "_params": {name: text[:MAX_LENGTH] for name, text in record.params.items()},
            "_metrics": record.best,
            "_state": STATES[record.state],
            "_trainer": {name: text[:MAX_LENGTH] for name, text in record.tags.items()},
        }
        found = self._get(self._name(number), self._client.get_context)
        if found is None:
            self._create(number, RUN, number.removeprefix(f"{self._experiment}-"), metadata)
        elif dict(found.metadata).get("_state") != STATES["complete"]:
            context = {"name": found.name, "metadata": metadata, "etag": found.etag}
            mask = {"paths": ["metadata"]}
            self._connection.call(self._client.update_context, context=context, update_mask=mask)
        # Also where it is there: an earlier export may have ended before this.
        self._connection.call(
            self._client.add_context_children,
            context=self._name(self._experiment),
            child_contexts=[self._name(number)],
        )
        was_complete = found is not None and dict(found.metadata).get("_state") == "COMPLETE"
        return "unchanged" if was_complete else "exported"

    def _name(self, number: str) -> str:
        return f"{self._store}/contexts/{number}"

    def _get(self, name: str, method: Any) -> Optional[Any]:
        from google.api_core import exceptions

        try:
            return self._connection.call(method, name=name)
        except UserError as error:
            if isinstance(error.__cause__, exceptions.NotFound):
                return None
            raise

    def _create(self, number: str, kind: str, name: str, metadata: dict[str, Any]) -> None:
        context = self._types.Context(
            display_name=name, schema_title=kind, schema_version=VERSION, metadata=metadata
        )
        self._connection.call(
            self._client.create_context, parent=self._store, context_id=number, context=context
        )
