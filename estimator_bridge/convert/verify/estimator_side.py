"""The Estimator's half of a comparison: answers, training losses and speed."""

import contextlib
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

from ..read.rows import Rows
from ..read.user_code import describe_error

__all__ = ["ask_checkpoint", "ask_export", "find_export", "train_on"]

BATCH_ROWS = 512


def _dataset(tf, rows: Rows, sparse, with_labels):
    data = (rows.features, rows.labels) if with_labels else rows.features
    dataset = tf.data.Dataset.from_tensor_slices(data)

    fillers = {} if rows.fillers is None else rows.fillers

    def restore(features, *labels):
        features = {
            name: _sparse(tf, value, fillers.get(name)) if name in sparse else value
            for name, value in features.items()
        }
        return (features, *labels) if labels else features

    return dataset, restore


def _sparse(tf, value, filler=None):
    """A SparseTensor [batch, values] again of a dense one; `filler`, "" or -1 means nothing."""
    value = tf.reshape(value, [-1, 1]) if value.shape.rank == 1 else value
    if filler is None:
        filler = "" if value.dtype == tf.string else -1 if value.dtype.is_integer else 0
    if value.dtype.is_floating and filler != filler:
        where = tf.where(tf.logical_not(tf.math.is_nan(value)))
    else:
        where = tf.where(tf.not_equal(value, tf.constant(filler, value.dtype)))
    # No wider than its longest row: recurrent Estimators take the width for the number of steps.
    width = tf.reduce_max(tf.concat([where[:, 1] + 1, [1]], 0))
    shape = tf.stack([tf.shape(value, out_type=tf.int64)[0], width])
    return tf.SparseTensor(where, tf.gather_nd(value, where), shape)


def ask_checkpoint(built: Any, checkpoint: str, rows: Rows, sparse=()) -> tuple[dict, float]:
    """Estimator.predict on the rows.

    Returns:
      answers by name, arrays [rows, ...]; rows a second, the graph's making left out.

    Raises:
      BridgeError: the Estimator fails; names the row, if it is one that it fails on.
    """
    from estimator_bridge import tf

    def predict(batch_rows):
        def input_fn():
            dataset, restore = _dataset(tf, rows, sparse, with_labels=False)
            return dataset.batch(batch_rows).map(restore)

        return built.predict(input_fn, checkpoint_path=checkpoint, yield_single_examples=False)

    found: list[dict] = []
    started = None
    try:
        for batch in predict(BATCH_ROWS):
            # The first batch includes building and restoring.
            started = time.perf_counter() if started is None else started
            found.append(batch)
    except Exception as error:  # Code of the user's, on rows of theirs.
        where = ""
        if isinstance(error, tf.errors.OpError):
            where = f" on row {_count_answered(predict(1), tf) + 1} of those compared"
        raise BridgeError(f"the Estimator fails{where}: {describe_error(error)}") from error
    secs = time.perf_counter() - started
    # Several heads name their answers by pairs.
    answers = {
        name if isinstance(name, str) else "/".join(name): np.concatenate([b[name] for b in found])
        for name in found[0]
    }
    rest = len(rows) - len(next(iter(found[0].values())))
    return answers, rest / secs if rest else 0.0


def _count_answered(answers, tf) -> int:
    """How many come before it fails."""
    number = 0
    with contextlib.suppress(tf.errors.OpError):
        for _ in answers:
            number += 1
    return number


def find_export(folder: str) -> Optional[str]:
    """The newest export below a model_dir, None where there is none."""
    found = [path for path in Path(folder).glob("export/*/*") if path.name.isdigit()]
    return str(max(found, key=lambda path: int(path.name))) if found else None


def export_step(path: str) -> Optional[int]:
    """The global step of an export; None if it has none."""
    import tensorflow as tf

    prefix = str(Path(path) / "variables" / "variables")
    try:
        return int(tf.train.load_variable(prefix, "global_step"))
    except (tf.errors.OpError, ValueError, KeyError):
        return None


def ask_export(path: str, rows: Rows) -> tuple[dict, float]:
    """The export's predict signature on the rows: raw tensors where it takes them, else
    tf.Examples.

    Raises:
      BridgeError: it has no such signature, or it fails.
    """
    from estimator_bridge import tf

    loaded = tf.saved_model.load(path)
    inputs = {name: tf.constant(values) for name, values in rows.features.items()}
    # Of several heads each has a predict signature of its own answers: that of all comes first.
    names = sorted(loaded.signatures, key=lambda name: name.split(":")[-1] != "predict")
    for name in names:
        signature = loaded.signatures[name]
        specs = signature.structured_input_signature[1]
        if "predict" in name and set(specs) <= set(inputs) and len(specs) > 0:
            return _ask_batches(tf, signature, {key: inputs[key] for key in specs}, len(rows))
    for name in ("predict", "example:predict", "serving_default"):
        signature = loaded.signatures.get(name)
        specs = signature.structured_input_signature[1] if signature is not None else {}
        if len(specs) == 1 and next(iter(specs.values())).dtype == tf.string:
            examples = tf.constant([_to_example(tf, rows, row) for row in range(len(rows))])
            return _ask_batches(tf, signature, {next(iter(specs)): examples}, len(rows))
    raise BridgeError(f"export {path}: no predict signature takes raw features or tf.Examples")


def _ask_batches(tf, signature, inputs, num_rows) -> tuple[dict, float]:
    def ask(start):
        batch = {name: values[start : start + BATCH_ROWS] for name, values in inputs.items()}
        try:
            return {name: value.numpy() for name, value in signature(**batch).items()}
        except tf.errors.OpError as error:
            last = min(start + BATCH_ROWS, num_rows)
            raise BridgeError(
                f"the export fails on one of the rows {start + 1} to {last}: "
                f"{describe_error(error)}"
            ) from error

    # The first call of each batch size is slower.
    ask(0)
    ask(num_rows - num_rows % BATCH_ROWS if num_rows % BATCH_ROWS else 0)
    started = time.perf_counter()
    found = [ask(start) for start in range(0, num_rows, BATCH_ROWS)]
    secs = time.perf_counter() - started
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}, (
        num_rows / secs
    )


def _to_example(tf, rows, row) -> bytes:
    features = {}
    for name, column in rows.features.items():
        values = np.atleast_1d(column[row])
        if column.dtype == object:
            kept = [value for value in values if value != b""]
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=kept))
        elif column.dtype.kind == "i":
            kept = [int(value) for value in values if value != -1]
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=kept))
        else:
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
        features[name] = feature
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def train_on(
    built: Any,
    checkpoint: str,
    rows: Rows,
    batches: np.ndarray,
    sparse=(),
    disturbed: bool = False,
) -> tuple[list, float]:
    """Trains a copy of the checkpoint on given batches; the Estimator's own folder is not touched.

    Args:
      built: the Estimator.
      checkpoint: prefix to go on from.
      rows: with labels.
      batches: row numbers [steps, rows a batch].
      sparse: names of features that the Estimator takes as SparseTensors.
      disturbed: first change every weight by the smallest amount that float32 knows. How far the
        losses then go is how far rounding alone carries them.

    Returns:
      the loss of each step; steps a second.

    Raises:
      BridgeError: the Estimator fails, or its loss is not a number; names the rows of that step.
    """
    from estimator_bridge import estimator, tf

    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(checkpoint)
        for path in prefix.parent.glob(prefix.name + ".*"):
            shutil.copy(path, folder)
        (Path(folder) / "checkpoint").write_text(f'model_checkpoint_path: "{prefix.name}"\n')
        first_version = isinstance(built, tf.compat.v1.estimator.Estimator) and not isinstance(
            built, estimator.Estimator
        )
        make = tf.compat.v1.estimator.Estimator if first_version else estimator.Estimator
        # Nobody reads what it would save.
        saves = {"save_checkpoints_steps": None, "save_checkpoints_secs": None}
        config = built.config.replace(model_dir=folder, save_summary_steps=0, **saves)
        copy = make(model_fn=built._model_fn, config=config, params=built.params or None)

        def input_fn():
            chosen = rows.take(batches.ravel())
            dataset, restore = _dataset(tf, chosen, sparse, with_labels=True)
            return dataset.batch(batches.shape[1]).map(restore)

        hook = _losses_hook(tf, disturbed)
        try:
            copy.train(input_fn, hooks=[hook])
        except Exception as error:  # Code of the user's, on rows of theirs.
            # A loss that is not a number was still counted.
            step = len(hook.losses) - (not np.isfinite(hook.losses[-1:]).all())
            first, last = batches[step].min() + 1, batches[step].max() + 1
            raise BridgeError(
                f"the Estimator fails in training (--steps=0 leaves that out), at step {step + 1} "
                f"with rows from {first} to {last}: {describe_error(error)}"
            ) from error
        steps = len(hook.losses) - 1
        return hook.losses, steps / (hook.last - hook.first) if steps > 0 else 0.0


def _losses_hook(tf, disturbed):
    class Losses(tf.compat.v1.train.SessionRunHook):
        """Keeps the loss of every step, and when the first and the last ended."""

        def __init__(self):
            self.losses, self.first, self.last = [], None, None

        def begin(self):
            self._loss = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]
            self._disturb = [
                variable.assign(variable * (1 + 2**-23))
                for variable in (tf.compat.v1.trainable_variables() if disturbed else ())
            ]

        def after_create_session(self, session, coord):
            session.run(self._disturb)

        def before_run(self, run_context):
            return tf.compat.v1.train.SessionRunArgs(self._loss)

        def after_run(self, run_context, run_values):
            self.losses.append(float(run_values.results))
            self.last = time.perf_counter()
            self.first = self.first or self.last

    return Losses()
