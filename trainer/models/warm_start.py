"""Warm start: initial values from the checkpoint of another job."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.model_files.checkpoints import find_corruption
from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.errors import UserError
from trainer.features.columns import is_one_hot, name_feature, name_sequence, name_shared_embedding
from trainer.schema import Schema

# Scope of the variables of Keras' optimizers.
OPTIMIZERS = "training/"


def warm_start(
    inner: Any,
    train: config_lib.TrainConfig,
    schema: Schema,
    log: Callable[[str], None],
) -> Any:
    """Wraps an Estimator so that training starts from the values of another checkpoint.

    A variable is restored if its name matches train.warm_start_vars and its shape is the same. If
    the vocabulary of a column has changed, its rows are restored word by word; a new word keeps its
    initial value. Moving averages and frozen variables are restored too. Slot variables of an
    optimizer are restored only for Ftrl. All other variables keep the initial values of the model,
    for example the weights of a Keras model.

    Args:
        inner: any Estimator; its model_dir must not contain a checkpoint.
        train: warm_start (the prefix of a checkpoint's files, or a job_dir for its newest
            checkpoint) and warm_start_vars.
        schema: current columns.
        log: logs a line.

    Returns:
        An Estimator of the same model_dir and configuration.

    Raises:
        UserError: there is no such checkpoint, it is damaged, or none of its variables fits.
    """
    assert train.warm_start is not None
    checkpoint = find_checkpoint(train.warm_start)
    fault = find_corruption(checkpoint, allow_nan=True)
    if fault is not None:
        raise UserError(
            f"train.warm_start: the files of checkpoint {checkpoint} are damaged ({fault}); copy "
            "them again, or name another checkpoint"
        )
    source = _Source(
        checkpoint,
        dict(tf.train.list_variables(checkpoint)),
        _changed_vocabularies(checkpoint, schema, Path(inner.model_dir), log),
    )
    own = inner._warm_start_settings

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        spec = inner.model_fn(features, labels, mode, config)
        if mode == estimator.ModeKeys.TRAIN:
            if own is not None:
                # If the inner Estimator applied its own warm-start settings, it would do so last
                # and overwrite the values of the checkpoint.
                tf.compat.v1.train.warm_start(
                    own.ckpt_to_initialize_from,
                    own.vars_to_warm_start,
                    own.var_name_to_vocab_info,
                    own.var_name_to_prev_var_name,
                )
            _restore(source, train.warm_start_vars, log)
        return spec

    return estimator.Estimator(model_fn=model_fn, config=inner.config)


def find_checkpoint(path: str) -> str:
    """Returns the local path of a checkpoint: the prefix of its files.

    Args:
        path: prefix of a checkpoint's files, or a job_dir for its newest checkpoint; either may be
            a gs:// address.

    Raises:
        UserError: there is no checkpoint.
    """
    if Path(f"{path}.index").is_file():
        return path
    if storage.is_remote(path):
        here: str = storage.fetch_checkpoint(path, "train.warm_start")
        if Path(f"{here}.index").is_file():
            return here
    newest: Optional[str] = tf.train.latest_checkpoint(path) if Path(path).is_dir() else None
    if newest is None:
        raise UserError(
            f"train.warm_start: no checkpoint at {path!r}; name a job_dir or a model.ckpt-STEP"
        )
    return newest


class _Source(NamedTuple):
    """The checkpoint to start from.

    Attributes:
        checkpoint: prefix of its files.
        shapes: name → shape of its variables.
        vocabularies: name ending of a variable → VocabInfo, for columns with a changed vocabulary.
    """

    checkpoint: str
    shapes: dict[str, list[int]]
    vocabularies: dict[str, Any]


def _restore(source: _Source, pattern: str, log: Callable[[str], None]) -> None:
    """Initialises variables of the current graph from the checkpoint; logs their names."""
    checkpoint, stored, vocabularies = source
    shapes = {
        variable.op.name: variable.shape.as_list() for variable in tf.compat.v1.global_variables()
    }
    model = _list_model_variables(shapes)
    wanted = [name for name in model if re.search(pattern, name)]
    by_word = {
        name: info
        for name in wanted
        for ending, info in vocabularies.items()
        if f"/{name}".endswith(f"/{ending}") and name in stored
    }
    same = [name for name in wanted if name not in by_word and stored.get(name) == shapes[name]]
    if not same and not by_word:
        raise UserError(
            f"train.warm_start: no variable of {checkpoint} fits this model "
            f"(it has {', '.join(sorted(stored)[:5])} ...); check train.warm_start_vars and model"
        )
    fresh = [name for name in model if name not in same and name not in by_word]
    listed = f" ({', '.join(fresh[:5])}{' ...' if len(fresh) > 5 else ''})" if fresh else ""
    log(
        f"warm start from {checkpoint}: {len(same)} variable(s) restored, {len(by_word)} word by "
        f"word, {len(fresh)} new{listed}"
    )
    # Ftrl computes a weight from its slots alone. Without the slots, the first update would discard
    # the restored weight.
    slots = {
        slot: name
        for name in (*same, *by_word)
        for slot in shapes
        if "Ftrl" in slot and f"/{name}/" in f"/{slot}/" and slot in stored
    }
    tf.compat.v1.train.warm_start(
        checkpoint,
        # Regular expressions that match the start of a tensor's name: "name:0" or "name/part_0:0".
        vars_to_warm_start=[f"{re.escape(name)}(:|/part_)" for name in (*same, *by_word, *slots)],
        var_name_to_vocab_info={
            **by_word,
            **{slot: by_word[name] for slot, name in slots.items() if name in by_word},
        },
    )


def _list_model_variables(names: Iterable[str]) -> list[str]:
    """Lists the model's own variables: trained and frozen variables, and moving averages."""
    trained = [variable.op.name for variable in tf.compat.v1.trainable_variables()]
    rest = [
        name
        for name in names
        if name not in trained
        and not name.startswith((OPTIMIZERS, "global_step"))
        and not name.endswith("_power")
        # Slot variables of TensorFlow 1's optimizers are named <variable>/<slot>.
        and name.rpartition("/")[0] not in trained
    ]
    return trained + rest


def _list_endings(name: str, schema: Schema) -> list[str]:
    """Lists the name endings of variables with one row per word of a column's vocabulary."""
    weights = schema.columns[name].weights
    weighted = name_feature(name)
    if weights:
        weighted += f"_weighted_by_{name_feature(weights)}"
    endings = [f"{weighted}/weights"]
    keys = (weighted, name_feature(name_sequence(name)))
    endings += [f"{key}_embedding/embedding_weights" for key in keys]
    for shared in schema.shared_embeddings:
        if name in shared.columns:
            endings.append(f"{name_shared_embedding(shared.columns, schema)}/embedding_weights")
    return endings


def _changed_vocabularies(
    checkpoint: str, schema: Schema, folder: Path, log: Callable[[str], None]
) -> dict[str, Any]:
    """Returns name ending of a variable → VocabInfo, for columns with a changed vocabulary."""
    path = Path(checkpoint).parent / job_layout.SCHEMA
    before = storage.get_object(storage.read_json(path) or {}, "columns", path)
    infos: dict[str, Any] = {}
    for name, column in schema.columns.items():
        old = storage.get_object(before, name, path).get("vocabulary")
        if old is not None and not isinstance(old, list):
            raise storage.describe_damage(path, f"columns.{name}.vocabulary: got {old!r:.60}")
        if not old or not column.vocabulary or list(column.vocabulary) == list(old):
            continue
        files = {}
        for age, words in (("old", old), ("new", column.vocabulary)):
            files[age] = folder / "vocabulary" / f"{name_feature(name)}.{age}.txt"
            files[age].parent.mkdir(parents=True, exist_ok=True)
            storage.write_text(files[age], "".join(f"{word}\n" for word in words))
        info = estimator.VocabInfo(
            new_vocab=str(files["new"]),
            new_vocab_size=len(column.vocabulary),
            num_oov_buckets=column.oov_buckets,
            old_vocab=str(files["old"]),
            old_vocab_size=len(old),
        )
        infos.update({ending: info for ending in _list_endings(name, schema)})
        if is_one_hot(name, schema):
            what = (
                "its weights in the deep part are restored by position, not word by word"
                if len(old) == len(column.vocabulary)
                else "the layer that reads it gets another shape, and starts anew; with an "
                "embedding, it would be restored"
            )
            log(
                f"warm start: the vocabulary of column {name} has changed, and it has no "
                f"embedding: {what}"
            )
    return infos
