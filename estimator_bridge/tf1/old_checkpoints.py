"""Reads checkpoints in which variables have the names of an earlier version of this package.

Earlier versions gave some variables of `tf.contrib` and of Keras other names than TensorFlow 1.15.
When a checkpoint lacks a name that a Saver restores, and has the variable under such a name, the
Saver restores from a temporary copy with the present names.
"""

import collections
import functools
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import saver as saver_module

__all__ = ["find_old_names", "install"]

# What an earlier version wrote → what it corresponds to now. Both names are rewritten by all
# rules; two names of the same form and shape are those of one variable.
_RULES = [
    # Scopes that TensorFlow 1.15 does not have.
    (r"(?<=/)(?:highway_wrapper|bidirectional_rnn|linear_model|input_layer)(?:_\d+)?/", ""),
    (r"(sequence_input_layer(?:_\d+)?/)columns/", r"\1"),
    # Cells of the recurrent layers of Keras.
    (r"(?<=/)(?:lstm|gru|simple_rnn)_cell(?:_\d+)?/(?=(?:recurrent_)?kernel|bias)", ""),
    (r"(^|/)conv_lstm2d(?=_\d+/|/)", r"\1conv_lst_m2d"),
    # The scope of an attention mechanism had the name that the user gave to the mechanism.
    (
        r"(attention_wrapper(?:_\d+)?/)[^/]+?(_\d+)?/(?=query_layer/kernel|attention_[vgb]|"
        r"attention_score_bias)",
        r"\1mechanism\2/",
    ),
    # GRUBlockCell and CoupledInputForgetGateLSTMCell.
    (r"/gates/kernel(?=/|$)", "/w_ru"),
    (r"/gates/bias(?=/|$)", "/b_ru"),
    (r"/candidate/kernel(?=/|$)", "/w_c"),
    (r"/candidate/bias(?=/|$)", "/b_c"),
    (r"/W_0(?=/|$)", "/weights"),
    (r"/B(?=/|$)", "/bias"),
    (r"/W_F_diag(?=/|$)", "/w_f_diag"),
    (r"/W_O_diag(?=/|$)", "/w_o_diag"),
    # WALSMatrixFactorization.
    (r"^on_rows$", "is_row_sweep"),
    # Layers and feature columns.
    (r"/(?:kernel|weight|embedding_weights)(?=/|$)", "/weights"),
    (r"/(?:biases|bias_weights?)(?=/|$)", "/bias"),
]

# The slots of partitioned variables: learn's optimizers ran in the scopes of the head.
_SLOT = re.compile(r"(/(?:weights|bias))/.*?(?=[^/]+$)")


def _form(name: str) -> str:
    for pattern, replacement in _RULES:
        name = re.sub(pattern, replacement, name)
    return _SLOT.sub(r"\1/", name)


def find_old_names(
    wanted: Iterable[str],
    shapes: Mapping[str, Optional[Sequence[int]]],
    found: Mapping[str, Sequence[int]],
) -> dict[str, str]:
    """Finds the names under which an earlier version of this package saved variables.

    Args:
      wanted: the names that are restored.
      shapes: name → shape, of those that are known.
      found: name → shape, of all variables in the checkpoint.

    Returns:
      Name → name in the checkpoint, for each wanted name; empty if one of them is not there.
    """
    wanted = list(wanted)
    by_form = collections.defaultdict(list)
    for name in found:
        if name not in wanted:
            by_form[_form(name)].append(name)
    result = {}
    for name in wanted:
        shape = shapes.get(name)
        candidates = [
            old for old in by_form[_form(name)] if shape is None or list(found[old]) == list(shape)
        ]
        if name in found:
            result[name] = name
        elif len(candidates) == 1:
            result[name] = candidates[0]
        else:
            return {}
    return result


def _restored(graph: tf.Graph, saver: Any) -> tuple[list[str], dict[str, Any]]:
    """Returns the names that a Saver restores, and the shapes of those with a variable."""
    filename = graph.get_tensor_by_name(saver.as_saver_def().filename_tensor_name)
    names = []
    for operation in filename.consumers():
        if operation.type == "RestoreV2":
            value = tf.make_ndarray(operation.inputs[1].op.get_attr("value"))
            names += [name.decode() for name in value.ravel()]
    shapes = {}
    for collection in (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.LOCAL_VARIABLES):
        for variable in graph.get_collection(collection):
            if variable._save_slice_info is None and variable.shape.is_fully_defined():
                shapes[variable.op.name] = variable.shape.as_list()
    return names, shapes


# What earlier versions did not save: learning rates, and what WALSMatrixFactorization adds.
_ADDED = re.compile(r"(?:.*/)?learning_rate|is_sweep_done|WALS_\w+|(?:row|col)_weights_shard_\d+")


def _initial_values(session: Any, wanted: Iterable[str], found: Iterable[str]) -> dict[str, Any]:
    """Returns the initial values of what were no variables in earlier versions."""
    missing = {name for name in wanted if _ADDED.fullmatch(name) and name not in found}
    return {
        variable.op.name: session.run(variable.initial_value)
        for variable in session.graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
        if variable.op.name in missing
    }


def _gramians(reader: Any, wanted: Iterable[str], found: Iterable[str]) -> dict[str, Any]:
    """Returns the gramians of WALSMatrixFactorization, computed from its factors."""
    if "on_rows" not in found:
        return {}
    result = {}
    for side in ("row", "col"):
        name, parts = f"{side}_gramian", f"{side}_factors_shard_"
        if name in wanted:
            shards = [reader.get_tensor(one) for one in found if one.startswith(parts)]
            result[name] = sum(shard.T @ shard for shard in shards)
    return result


def _copy(reader: Any, names: Mapping[str, str], more: Mapping[str, Any], prefix: str) -> None:
    """Writes a checkpoint with the values of another under other names, and with more values."""
    from estimator_bridge.model_files.checkpoints import write_values

    values = {name: reader.get_tensor(old) for name, old in names.items()}
    write_values(prefix, {**values, **more})


def _check_folder(save_path: Any) -> None:
    """Raises what 1.15 does where a checkpoint's folder is missing.

    Args:
      save_path: prefix of a checkpoint that is not there, or None.

    Raises:
      NotFoundError: its folder is not there either.
    """
    folder = os.path.dirname(os.fsdecode(save_path or ""))
    if folder and "://" not in folder and not os.path.isdir(folder):
        raise tf.errors.NotFoundError(None, None, f"{folder}; No such file or directory")


def install() -> None:
    """Makes every Saver restore checkpoints that an earlier version of this package wrote."""
    cls = saver_module.Saver
    restore = cls.restore
    if hasattr(restore, "_reads_old_names"):
        return

    @functools.wraps(restore)
    def restore_any(self, sess, save_path):
        try:
            return restore(self, sess, save_path)
        except (tf.errors.NotFoundError, ValueError):
            if save_path is None or not tf.train.checkpoint_exists(str(save_path)):
                _check_folder(save_path)
                raise
            reader = tf.train.load_checkpoint(str(save_path))
            wanted, shapes = _restored(sess.graph, self)
            found = reader.get_variable_to_shape_map()
            more = _initial_values(sess, wanted, found) | _gramians(reader, wanted, found)
            names = find_old_names([one for one in wanted if one not in more], shapes, found)
            if not names:
                raise
            with tempfile.TemporaryDirectory() as folder:
                renamed = str(Path(folder) / "model.ckpt")
                _copy(reader, names, more, renamed)
                result = restore(self, sess, renamed)
        changed = sum(name != old for name, old in names.items())
        tf.logging.warn(
            "%s: %d of %d variables have names of an earlier version of estimator_bridge; "
            "they are read, and will be saved with the names of TensorFlow 1.15.",
            *(save_path, changed, len(names)),
        )
        if any(
            "_X_" in old.rsplit("/weights", 1)[0] and "linear_model/" in old
            for old in names.values()
        ):
            tf.logging.warn(
                "%s: crossed columns without hash_key have the buckets of TensorFlow 1.15 now, "
                "not those of this checkpoint: their weights must be trained again.",
                save_path,
            )
        return result

    vars(restore_any)["_reads_old_names"] = True
    cls.restore = restore_any
