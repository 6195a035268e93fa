"""Finds the training and the evaluation files of a job."""

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.files import DataFile, find_files
from trainer.inputs.split import build_split
from trainer.schema import Schema


def find_train_files(data: config_lib.DataConfig, schema: Schema) -> list[DataFile]:
    """Returns the training files.

    Args:
        data: the paths, and how rows are divided.
        schema: the columns.

    Raises:
        UserError: a path is wrong, or no column can divide the rows.
    """
    split = build_split(data, schema, is_eval=False)
    return [
        file._replace(split=split) for file in find_files(data.train, data.format, "data.train")
    ]


def find_eval_files(data: config_lib.DataConfig, schema: Schema) -> list[DataFile]:
    """Returns the evaluation files, which are the training files if their rows are divided.

    Args:
        data: the paths, and how rows are divided.
        schema: the columns.

    Raises:
        UserError: a path is wrong, or no column can divide the rows.
    """
    split = build_split(data, schema, is_eval=True)
    if split is not None:
        return [file._replace(split=split) for file in find_train_files(data, schema)]
    if not data.eval:
        raise UserError(
            "data.eval: no data given; set --data.eval=FILES, or --eval_share=0.2 to divide the "
            "training rows"
        )
    return find_files(data.eval, data.format, "data.eval")


def describe_split(data: config_lib.DataConfig) -> str:
    """Returns how the rows are divided, as text for the log and the summary.

    Args:
        data: eval_share or eval_after; eval_by names the columns that decide.
    """
    columns = ", ".join(data.eval_by)
    if data.eval_after is not None:
        return f"rows with {columns} from {data.eval_after} on"
    by = f"by {columns}" if len(data.eval_by) <= 3 else f"by {len(data.eval_by)} columns"
    return f"{100 * (data.eval_share or 0):g} % of the rows, chosen {by}"
