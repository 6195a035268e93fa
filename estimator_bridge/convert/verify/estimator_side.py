"""Runs the Estimator for a comparison: outputs, training losses and speed."""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from estimator_bridge.errors import BridgeError
from estimator_bridge.model_files.saved_models import require_whole

from ..read.checkpoint import open_checkpoint
from ..read.rows import Rows
from ..read.user_code import describe_error

__all__ = [
    "OtherInputsError",
    "export_step",
    "find_export",
    "make_dataset",
    "predict_checkpoint",
    "predict_export",
    "train_on",
]

BATCH_ROWS = 512


class OtherInputsError(Exception):
    """An export has an input that the rows do not have."""


def make_dataset(
    tf: Any, rows: Rows, sparse: Container[str], with_labels: bool
) -> tuple[Any, Callable[..., Any]]:
    """Returns a dataset of rows, and a function that restores the SparseTensors of a batch.

    Args:
      tf: TensorFlow.
      rows: the rows.
      sparse: names of the features fed as SparseTensors.
      with_labels: whether the dataset has labels, too.
    """
    data = (rows.features, rows.labels) if with_labels else rows.features
    dataset = tf.data.Dataset.from_tensor_slices(data)
    fillers = {} if rows.fillers is None else rows.fillers

    def restore(features: dict[str, Any], *labels: Any) -> Any:
        features = {
            name: _sparse(tf, value, fillers.get(name)) if name in sparse else value
            for name, value in features.items()
        }
        return (features, *labels) if labels else features

    return dataset, restore


def _sparse(tf: Any, value: Any, filler: Any = None) -> Any:
    """Converts a padded tensor to a SparseTensor [batch, values]; the padding is `filler`."""
    value = tf.reshape(value, [-1, 1]) if value.shape.rank == 1 else value
    if filler is None:
        filler = "" if value.dtype == tf.string else -1 if value.dtype.is_integer else 0
    if value.dtype.is_floating and filler != filler:
        where = tf.where(tf.logical_not(tf.math.is_nan(value)))
    else:
        where = tf.where(tf.not_equal(value, tf.constant(filler, value.dtype)))
    # The width is that of the longest row; recurrent Estimators use it as the number of steps.
    width = tf.reduce_max(tf.concat([where[:, 1] + 1, [1]], 0))
    shape = tf.stack([tf.shape(value, out_type=tf.int64)[0], width])
    return tf.SparseTensor(where, tf.gather_nd(value, where), shape)


def predict_checkpoint(
    built: Any, checkpoint: str, rows: Rows, sparse: Container[str] = ()
) -> tuple[dict[str, np.ndarray], float]:
    """Runs Estimator.predict on the rows.

    Args:
      built: the Estimator.
      checkpoint: prefix of the checkpoint.
      rows: the rows.
      sparse: names of the features fed as SparseTensors.

    Returns:
      {output: array [rows, ...]}, and rows per second without the time to build the graph.

    Raises:
      BridgeError: the checkpoint is damaged, or the Estimator fails; the message names the
        variable or the row.
    """
    from estimator_bridge import tf

    def predict(batch_rows: int) -> Iterable[dict[Any, np.ndarray]]:
        def input_fn() -> Any:
            dataset, restore = make_dataset(tf, rows, sparse, with_labels=False)
            return dataset.batch(batch_rows).map(restore)

        return built.predict(input_fn, checkpoint_path=checkpoint, yield_single_examples=False)

    found: list[dict[Any, np.ndarray]] = []
    started = 0.0
    try:
        for batch in predict(BATCH_ROWS):
            # The first batch includes building the graph and restoring the checkpoint.
            started = started or time.perf_counter()
            found.append(batch)
    except Exception as error:  # User code may raise anything.
        where = ""
        if isinstance(error, tf.errors.OpError):
            # Damaged values are not the fault of a row.
            open_checkpoint(checkpoint).check()
            where = f" on row {_count_batches(predict(1), tf) + 1} of the compared rows"
        raise BridgeError(f"the Estimator fails{where}: {describe_error(error)}") from error
    secs = time.perf_counter() - started
    # With several heads, the name of an output is a pair (head, output).
    outputs = {
        name if isinstance(name, str) else "/".join(name): np.concatenate([b[name] for b in found])
        for name in found[0]
    }
    rest = len(rows) - len(next(iter(found[0].values())))
    return outputs, rest / secs if rest else 0.0


def _count_batches(batches: Iterable[Any], tf: Any) -> int:
    """Returns the number of batches before an error."""
    number = 0
    with contextlib.suppress(tf.errors.OpError):
        for _ in batches:
            number += 1
    return number


def find_export(folder: str) -> Optional[str]:
    """Returns the newest export below a model_dir, or None.

    Args:
      folder: the model_dir.
    """
    found = [path for path in Path(folder).glob("export/*/*") if path.name.isdigit()]
    return str(max(found, key=lambda path: int(path.name))) if found else None


def export_step(path: str) -> Optional[int]:
    """Returns the global step of an export, or None if it has none.

    Args:
      path: folder of the export.
    """
    import tensorflow as tf

    prefix = str(Path(path) / "variables" / "variables")
    try:
        return int(tf.train.load_variable(prefix, "global_step"))
    except (tf.errors.OpError, ValueError, KeyError):
        return None


def predict_export(path: str, rows: Rows) -> tuple[dict[str, np.ndarray], float]:
    """Runs the predict signature of an export, with raw tensors if possible, else tf.Examples.

    Args:
      path: folder of the export.
      rows: the rows.

    Returns:
      {output: array [rows, ...]}, and rows per second.

    Raises:
      OtherInputsError: each signature needs an input that the rows do not have.
      BridgeError: its files are not whole, it has no predict signature, or it fails.
    """
    from estimator_bridge import tf

    require_whole(Path(path))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        # Eager execution is off if the Estimator is one of TensorFlow 1.x.
        signatures = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def
        signature, inputs = _choose_signature(tf, path, signatures, rows)
        feeds = {signature.inputs[name].name: values for name, values in inputs.items()}
        fetches = {name: tensor.name for name, tensor in signature.outputs.items()}
        return _predict_batches(tf, session, fetches, feeds)


def _choose_signature(
    tf: Any, path: str, signatures: Any, rows: Rows
) -> tuple[Any, dict[str, np.ndarray]]:
    """Returns the signature of an export that the rows fit, and its inputs."""
    # Each of several heads has a predict signature; the one with all outputs comes first.
    names = sorted(signatures, key=lambda name: (name.split(":")[-1] != "predict", name))
    for name in names:
        wanted = set(signatures[name].inputs)
        if "predict" in name and wanted and wanted <= set(rows.features):
            return signatures[name], {key: rows.features[key] for key in wanted}
    for name in ("predict", "example:predict", "serving_default"):
        inputs = signatures[name].inputs if name in signatures else {}
        if len(inputs) == 1 and next(iter(inputs.values())).dtype == tf.string.as_datatype_enum:
            examples = [_to_example(tf, rows, row) for row in range(len(rows))]
            return signatures[name], {next(iter(inputs)): np.array(examples, object)}
    missing = {
        name
        for signature in names
        if "predict" in signature
        for name in set(signatures[signature].inputs) - set(rows.features)
    }
    if missing:
        listed = ", ".join(sorted(missing))
        raise OtherInputsError(f"it has inputs that the compared rows do not have: {listed}")
    raise BridgeError(f"export {path}: no predict signature takes raw features or tf.Examples")


def _predict_batches(
    tf: Any, session: Any, fetches: dict[str, str], feeds: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], float]:
    """Runs tensors on batches of fed rows; returns their values, and rows per second."""
    num_rows = len(next(iter(feeds.values())))

    def predict(start: int) -> dict[str, np.ndarray]:
        batch = {name: values[start : start + BATCH_ROWS] for name, values in feeds.items()}
        try:
            found: dict[str, np.ndarray] = session.run(fetches, batch)
            return found
        except tf.errors.OpError as error:
            last = min(start + BATCH_ROWS, num_rows)
            raise BridgeError(
                f"the export fails on one of the rows {start + 1} to {last}: "
                f"{describe_error(error)}"
            ) from error

    # The first call is slower.
    predict(0)
    started = time.perf_counter()
    found = [predict(start) for start in range(0, num_rows, BATCH_ROWS)]
    secs = time.perf_counter() - started
    outputs = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    return outputs, num_rows / secs


def _to_example(tf: Any, rows: Rows, row: int) -> Any:
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
    *,
    sparse: Container[str] = (),
    perturbed: bool = False,
) -> tuple[list[float], float]:
    """Trains on given batches in a copy of the model_dir.

    Args:
      built: the Estimator.
      checkpoint: prefix of the checkpoint to continue from.
      rows: rows with labels.
      batches: row numbers [steps, rows of a batch].
      sparse: names of the features fed as SparseTensors.
      perturbed: whether to change every weight by one rounding error of float32 first. The change
        of the losses then shows the effect of rounding alone.

    Returns:
      The loss of each step, and steps per second.

    Raises:
      BridgeError: the Estimator fails, or its loss is NaN; the message names the rows of that step.
    """
    from estimator_bridge import estimator, tf

    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(checkpoint)
        # One of SaverDef.V1 is the file itself.
        for ending in ("", ".*"):
            for path in prefix.parent.glob(prefix.name + ending):
                shutil.copy(path, folder)
        (Path(folder) / "checkpoint").write_text(f'model_checkpoint_path: "{prefix.name}"\n')
        is_v1 = isinstance(built, tf.compat.v1.estimator.Estimator) and not isinstance(
            built, estimator.Estimator
        )
        make = tf.compat.v1.estimator.Estimator if is_v1 else estimator.Estimator
        # The copy is deleted, so checkpoints would be useless.
        saves = {"save_checkpoints_steps": None, "save_checkpoints_secs": None}
        config = built.config.replace(model_dir=folder, save_summary_steps=0, **saves)
        copy = make(model_fn=built._model_fn, config=config, params=built.params or None)

        def input_fn() -> Any:
            chosen = rows.take(batches.ravel())
            dataset, restore = make_dataset(tf, chosen, sparse, with_labels=True)
            return dataset.batch(batches.shape[1]).map(restore)

        hook = _losses_hook(tf, perturbed)
        try:
            copy.train(input_fn, hooks=[hook])
        except Exception as error:  # User code may raise anything.
            if isinstance(error, (tf.errors.OpError, BridgeError)):
                open_checkpoint(checkpoint).check()
            # A loss that is NaN was recorded before the error.
            step = len(hook.losses) - (not np.isfinite(hook.losses[-1:]).all())
            first, last = batches[step].min() + 1, batches[step].max() + 1
            raise BridgeError(
                f"training: the Estimator fails at step {step + 1}, with rows {first} to {last} "
                f"(--steps=0 skips training): {describe_error(error)}"
            ) from error
        steps = len(hook.losses) - 1
        return hook.losses, steps / (hook.last - hook.first) if steps > 0 else 0.0


def _losses_hook(tf: Any, perturbed: bool) -> Any:
    class Losses(tf.compat.v1.train.SessionRunHook):
        """Records the loss of every step, and the times of the first and the last."""

        def __init__(self) -> None:
            self.losses: list[float] = []
            self.first = self.last = 0.0

        def begin(self) -> None:
            self._loss = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]
            self._perturb = [
                variable.assign(variable * (1 + 2**-23))
                for variable in (tf.compat.v1.trainable_variables() if perturbed else ())
            ]

        def after_create_session(self, session: Any, coord: Any) -> None:
            session.run(self._perturb)

        def before_run(self, run_context: Any) -> Any:
            return tf.compat.v1.train.SessionRunArgs(self._loss)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.losses.append(float(run_values.results))
            self.last = time.perf_counter()
            self.first = self.first or self.last

    return Losses()
