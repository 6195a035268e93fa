"""Opens the model of a trained job for an evaluation; imports no TensorFlow."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

import estimator_bridge
from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.console import Console
from trainer.errors import UserError
from trainer.job_dir.trained_job import Model, load_model
from trainer.metrics import slices
from trainer.schema import Schema

SLICED_TASKS = ("binary", "multiclass", "regression")


class Slicing(NamedTuple):
    """The slices of an evaluation.

    Attributes:
        by: columns, or columns joined by *.
        min_rows: a slice of fewer rows is marked.
    """

    by: Sequence[str] = ()
    min_rows: int = 100

    def check(self, schema: Schema) -> list[list[str]]:
        """Returns the columns of each slicing.

        Args:
            schema: of the model.

        Raises:
            UserError: a column is unknown or private, or the task has no slices.
        """
        by = slices.parse_by(self.by, schema)
        if by and schema.task not in SLICED_TASKS:
            raise UserError(
                f"--by: a {schema.task} model has no slices; only {', '.join(SLICED_TASKS)} have"
            )
        return by


class Replaced(NamedTuple):
    """What an evaluation replaces, and whether it may run code that the job names.

    Attributes:
        data: option, such as data.eval → value.
        threshold: score from which a row is called positive; None: the job's.
        allow_code: whether code that the job's configuration names may be imported.
    """

    data: Mapping[str, Any]
    threshold: Optional[float] = None
    allow_code: bool = False

    def apply(self, config: config_lib.Config) -> config_lib.Config:
        """Returns the job's configuration with the replaced options.

        Args:
            config: of the job.

        Raises:
            UserError: a value is invalid.
        """
        sections = config.model_dump()
        checked = config_lib.load_config(None, self.data).data
        names = {name[len("data.") :] for name in self.data}
        sections["data"].update(checked.model_dump(include=names))
        if checked.eval:
            # Files of their own are read as a whole.
            sections["data"].update(eval_share=None, eval_after=None, eval_by=())
        if self.threshold is not None:
            if not 0 < self.threshold < 1:
                raise UserError(f"--threshold={self.threshold:g}: must lie between 0 and 1")
            sections["eval"]["threshold"] = self.threshold
        return config_lib.Config.model_validate(sections)


def require_sliced_task(job_dir: str, schema: Schema) -> None:
    """Refuses a model whose predictions have no page, no slices and no importance of columns.

    Args:
        job_dir: of the job, for the message.
        schema: of the model.

    Raises:
        UserError: the model is of another task.
    """
    if schema.task not in SLICED_TASKS:
        raise UserError(
            f"job_dir {job_dir}: a {schema.task} model; only {', '.join(SLICED_TASKS)} models have "
            "a page; trainer.evaluate measures the others"
        )


def open_model(job_dir: str, replaced: Replaced, copies: storage.Copies, console: Console) -> Model:
    """Returns the description of a job's model, with the options of an evaluation.

    Args:
        job_dir: of the job, on this machine or gs://.
        replaced: the options.
        copies: fetches files from Cloud Storage.
        console: warns of code that runs.

    Raises:
        UserError: a file is missing or invalid, or an option is.
    """
    wanted = {*job_layout.MODEL_FILES, job_layout.METRICS, job_layout.METRICS_LOG}
    folder = copies.fetch(job_dir, "--job_dir", lambda name: name in wanted)
    model = load_model(folder, replaced.allow_code, console.warn)
    model = model._replace(config=replaced.apply(model.config))
    estimator_bridge.set_verbosity("error")
    estimator_bridge.prefer_onednn()
    return model
