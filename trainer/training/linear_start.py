"""Lets the training of a new wide_deep job begin as the linear model of its training rows."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from estimator_bridge import estimator, tf
from estimator_bridge.model_files.checkpoints import write_values
from trainer.console import Console
from trainer.features.encoding import IDS, NUMBERS
from trainer.inputs.records import ROWS
from trainer.models import linear_start
from trainer.models.build import build_preparation
from trainer.models.heads import build_head
from trainer.training.job import Job, build_source, encode_sources

# Rows of a chunk that are kept.
CHUNK_ROWS = 4_096


class LinearStartHook(estimator.SessionRunHook):
    """Sets the variables of a model before its first step; must be the first hook.

    Both engines save the same variables, so they begin with the same values: the values of the
    untrained model are saved, some are replaced, and all are restored.

    Args:
        job: what is trained; `linear_start.find_obstacle` has found none.
        console: logs what was fitted.
    """

    def __init__(self, job: Job, console: Console):
        self._job = job
        self._console = console

    def begin(self) -> None:
        """Finds the global step in the graph."""
        self._step = tf.compat.v1.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Sets the variables, unless training goes on from a later step.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        if int(session.run(self._step)):
            return
        job = self._job
        config = job.config.train
        # The graph of training is complete.
        with tf.Graph().as_default():
            layout = build_preparation(job.config, job.schema, job.statistics).layout
            units = build_head(job.schema, "mean").logits_dimension
        blocks = linear_start.list_blocks(layout)
        width = sum(block.size for block in blocks)
        num_rows = job.train_scan.statistics.num_rows
        picked = linear_start.count_rows(num_rows, width, units)
        if not picked:
            self._console.log(
                f"start: untrained, as {num_rows:,} rows are too few for the {width:,} weights of "
                "the linear part"
            )
            return
        matrix, targets, weights = _read_rows(job, layout, -(-num_rows // picked))
        try:
            fitted = linear_start.fit(matrix, targets, weights, job.schema.task)
        except np.linalg.LinAlgError:
            fitted = np.full([1, 1], np.nan)
        if not np.isfinite(fitted).all():
            self._console.log("start: untrained, as no linear model could be fitted")
            return
        saver = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVERS)[0].saver_def
        with tempfile.TemporaryDirectory(prefix="linear-start-") as folder:
            before, after = str(Path(folder, "before")), str(Path(folder, "after"))
            session.run(saver.save_tensor_name, {saver.filename_tensor_name: before})
            reader = tf.train.load_checkpoint(before)
            values = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
            rate = config.linear_learning_rate or config.learning_rate
            linear_start.replace_values(values, blocks, fitted, rate)
            write_values(after, values)
            session.run(saver.restore_op_name, {saver.filename_tensor_name: after})
        self._console.log(
            f"start: as the linear model of {len(matrix):,} training rows "
            f"({fitted.size:,} weights); --train.linear_start=false begins without it"
        )


def _read_rows(job: Job, layout: Any, every: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns inputs, targets and weights of one of `every` training rows."""
    schema, label = job.schema, job.schema.label
    (rows,) = encode_sources(job, [build_source(job, True)])
    stream = rows.iterate_in_order()
    chunks = iter(lambda: stream.take(every * CHUNK_ROWS), None)
    records = np.concatenate([chunk[ROWS][::every] for chunk in chunks])
    arrays = {name: values[0] for name, values in rows.layout.unpack(records, len(records)).items()}
    is_text = schema.columns[label.column].type == "string"
    targets = linear_start.build_targets(label, arrays[label.column], is_text)
    weights = np.ones(len(records))
    if schema.weight:
        weights = arrays[schema.weight].astype(np.float64)
    inputs = {IDS: arrays[IDS], NUMBERS: arrays[NUMBERS]}
    return linear_start.build_matrix(layout, inputs), targets, weights
