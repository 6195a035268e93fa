"""Where runs export copies the records of jobs to: MLflow, or Vertex AI Experiments.

The files of the jobs stay the source of truth.
"""

import re
from typing import Protocol

from trainer.errors import UserError
from trainer.history.records import Record

VERTEX = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)")


class Destination(Protocol):
    """Where records are written."""

    def write(self, record: Record) -> str:
        """Writes a record, or completes one; returns what was done: exported or unchanged.

        Args:
            record: of a job.
        """


def open_destination(to: str, experiment: str, endpoint: str) -> Destination:
    """Returns where records are written.

    Args:
        to: projects/PROJECT/locations/REGION, or the tracking URI of MLflow.
        experiment: name of the experiment.
        endpoint: host:port of the service of Vertex AI; "": that of the region.

    Raises:
        UserError: a name is wrong, or a package is missing.
    """
    match = VERTEX.fullmatch(to)
    if match is not None:
        from trainer.history.vertex_experiments import VertexExperiments

        return VertexExperiments(match["project"], match["region"], experiment, endpoint)
    if not re.match(r"(https?|file|sqlite|postgresql|mysql|databricks)\b", to):
        raise UserError(
            f"--to={to}: name the tracking URI of MLflow, such as http://127.0.0.1:5000, or "
            "projects/PROJECT/locations/REGION for Vertex AI Experiments"
        )
    from trainer.history.mlflow_runs import MlflowRuns

    return MlflowRuns(to, experiment)
