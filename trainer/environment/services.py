"""The folders, data and metric file that Vertex AI gives to a job: its AIP_* variables."""

import os
from collections.abc import Mapping
from typing import NamedTuple, Optional

from trainer.environment.texts import check_path
from trainer.errors import UserError

AIP_DATA = ("AIP_TRAINING_DATA_URI", "AIP_VALIDATION_DATA_URI", "AIP_TEST_DATA_URI")
AIP_NAMES = ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR", *AIP_DATA)
METRIC_FILE = "CLOUD_ML_HP_METRIC_FILE"


class Service(NamedTuple):
    """The values, other than the cluster, that Vertex AI sets for a job.

    Each is None or empty if it is not set.

    Attributes:
        model_dir: folder of the exported model itself; it has no subfolder per export.
        checkpoint_dir: the job_dir to use if the user gave none.
        log_dir: folder in which TensorBoard looks for event files.
        train_data: training files of a managed data set.
        eval_data: evaluation files of a managed data set.
        metric_file: file from which a tuning trial's metrics are read.
    """

    model_dir: Optional[str] = None
    checkpoint_dir: Optional[str] = None
    log_dir: Optional[str] = None
    train_data: tuple[str, ...] = ()
    eval_data: tuple[str, ...] = ()
    # The service reads this file.
    metric_file: str = "/tmp/hypertune/output.metrics"  # noqa: S108


def read_service() -> Service:
    """Returns the values that the environment of this process sets.

    Raises:
        UserError: the managed data set is a BigQuery table, or a text has unprintable characters.
    """
    return parse_service(os.environ)


def parse_service(environ: Mapping[str, str]) -> Service:
    """Reads the AIP_* variables.

    Args:
        environ: variable → text.

    Returns:
        The values that are set. If there are no validation data, eval_data are the test data.

    Raises:
        UserError: the managed data set is a BigQuery table, or a text has unprintable characters.
    """
    names = (*AIP_NAMES, METRIC_FILE)
    values = {name: check_path(environ.get(name, "").strip(), name) for name in names}
    data = {name: tuple(filter(None, values[name].split(","))) for name in AIP_DATA}
    tables = [uri for uris in data.values() for uri in uris if uri.startswith("bq://")]
    if tables:
        raise UserError(
            f"AIP_TRAINING_DATA_URI: {tables[0]} is a BigQuery table; export it to gs:// as CSV "
            "and name the files in --train_data and --eval_data"
        )
    return Service(
        model_dir=values["AIP_MODEL_DIR"] or None,
        checkpoint_dir=values["AIP_CHECKPOINT_DIR"] or None,
        log_dir=values["AIP_TENSORBOARD_LOG_DIR"] or None,
        train_data=data["AIP_TRAINING_DATA_URI"],
        eval_data=data["AIP_VALIDATION_DATA_URI"] or data["AIP_TEST_DATA_URI"],
        metric_file=values[METRIC_FILE] or Service().metric_file,
    )
