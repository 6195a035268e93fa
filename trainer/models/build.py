"""Builds the Estimator of a job from its configuration and schema."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features.columns import FeatureColumns, build_feature_columns
from trainer.features.parts import derive_features
from trainer.features.text import split_texts
from trainer.models.canned import build_canned
from trainer.models.code import HParams
from trainer.models.custom import build_custom, guard
from trainer.models.fused.engine import Engine, choose_engine
from trainer.models.fused.model import build_fused, build_predictor, build_row_preparation
from trainer.models.fused.rows import Preparation
from trainer.models.fused.training import FusedModel
from trainer.models.heads import build_head, prepare_labels
from trainer.models.image import build_image
from trainer.models.memory import check_tables, measure_memory
from trainer.models.metrics import make_metric_fn
from trainer.models.optimizers import check_regularisation
from trainer.models.plugins import make_user_metric_fn
from trainer.models.recurrent import build_recurrent
from trainer.models.residual import build_residual
from trainer.models.trees import build_trees
from trainer.schema import Schema, Statistics

# Types of models that have a linear part, and types that have a deep part.
WIDE_TYPES = ("linear", "wide_deep")
DEEP_TYPES = ("dnn", "wide_deep", "residual")
# The signature that trainer.predict and trainer.export.checker use.
PREDICT = "predict"
# TensorFlow's name of the default signature.
DEFAULT = "serving_default"


def build_estimator(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    run_config: Any,
    max_steps: int,
    engine: Optional[Engine] = None,
) -> Any:
    """Builds the Estimator of a job, with the trainer's metrics and the key in its predictions.

    Args:
        config: model, train, eval and export.receiver are used. A user's own code receives all of
            it.
        schema: columns, label, weight and key.
        statistics: of the training data.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run.
        engine: engine that trains and evaluates; unset: the result of choose_engine.

    Returns:
        An Estimator.

    Raises:
        UserError: the options do not make a model, or the user's own code fails.
    """
    hparams = HParams(config, statistics, max_steps)
    receiver = config.export.receiver
    if config.model.type in config_lib.MODEL_TYPES:
        built = _build_included(config, schema, statistics, run_config, max_steps, engine)
    else:
        with _seed_python(run_config.tf_random_seed):
            built = build_custom(config.model.type, hparams, schema, run_config)
        built = guard(built, f"model.type {config.model.type}")
        built = _wrap(built, schema, statistics, receiver, has_our_head=False)
    built = estimator.add_metrics(built, make_metric_fn(schema, config.eval.threshold))
    if config.eval.metric_fn:
        metric_fn = make_user_metric_fn(config.eval.metric_fn, hparams, schema)
        built = estimator.add_metrics(built, metric_fn)
    return built


def _build_included(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    run_config: Any,
    max_steps: int,
    engine: Optional[Engine],
) -> Any:
    """Builds the Estimator of one of MODEL_TYPES, without metrics."""
    model, train, receiver = config.model, config.train, config.export.receiver
    columns = build_feature_columns(schema, statistics)
    _check_options(model, train, schema, columns)
    for_trees = model.type == "boosted_trees"
    head = build_head(schema, train.loss_reduction, for_trees=for_trees)
    if not run_config.num_ps_replicas:
        _check_memory(model.type, columns, head.logits_dimension)
    if for_trees:
        built = build_trees(config, schema, statistics, head, run_config)
    elif model.type == "image":
        with _seed_python(run_config.tf_random_seed):
            built = build_image(model, train, schema, head, run_config, max_steps)
    elif model.type == "residual":
        built = build_residual(model, train, head, columns.deep, run_config, max_steps)
    elif model.type == "rnn":
        built = build_recurrent(model, train, head, columns, run_config, max_steps)
    else:
        built = build_canned(model, train, head, columns, run_config, max_steps)
    engine = engine or choose_engine(config, schema, statistics)
    if not engine.is_fused:
        return _wrap(built, schema, statistics, receiver, has_our_head=True)
    units = head.logits_dimension
    preparation = build_row_preparation(config, schema, statistics, columns, units)
    fused = FusedModel(model, train, preparation, units, max_steps, engine.exchange, engine.servers)
    predicting = build_predictor(built, head, fused)
    predictor = _wrap(predicting, schema, statistics, receiver, has_our_head=True)
    return build_fused(predictor, head, fused)


def build_preparation(
    config: config_lib.Config, schema: Schema, statistics: Statistics
) -> Preparation:
    """Builds the preparation of rows for the fused engine.

    Args:
        config: model.type and train's optimizers.
        schema: columns, label and weight; the fused engine supports them.
        statistics: of the training data.
    """
    units = build_head(schema, "mean").logits_dimension
    columns = build_feature_columns(schema, statistics)
    return build_row_preparation(config, schema, statistics, columns, units)


def _check_memory(kind: str, columns: FeatureColumns, units: int) -> None:
    wide = columns.wide if kind in WIDE_TYPES else []
    deep = columns.deep if kind in (*DEEP_TYPES, "rnn") else []
    check_tables(wide, deep, units, measure_memory(), "this machine")


def _check_options(
    model: config_lib.ModelConfig,
    train: config_lib.TrainConfig,
    schema: Schema,
    columns: FeatureColumns,
) -> None:
    kind = model.type
    images = [name for name in schema.used_features if schema.columns[name].image is not None]
    if images and kind != "image":
        raise UserError(
            f"model.type {kind}: column {images[0]} is an image, which it cannot use; choose "
            "image, or give the column use: []"
        )
    parts = (("wide", WIDE_TYPES), ("deep", DEEP_TYPES), ("sequence", ("rnn",)))
    for part, kinds in parts:
        if kind in kinds and not getattr(columns, part):
            raise UserError(
                f"model.type {kind}: no column of the schema is used in the {part} part; "
                f"give one use: [{part}], or choose another model.type"
            )
    used: list[str] = []
    if kind == "baseline" or kind in WIDE_TYPES:
        used.append(train.linear_optimizer)
    if kind in DEEP_TYPES or kind in ("rnn", "image"):
        used.append(train.optimizer)
    if kind != "boosted_trees":
        check_regularisation(train, used)


def _wrap(
    inner: Any, schema: Schema, statistics: Statistics, receiver: str, has_our_head: bool
) -> Any:
    """Adds to an Estimator the properties that every model of the trainer has.

    Features are derived and texts are split first. Random numbers follow the run's seed. Every
    export has the signature "predict". Predictions and predict signatures contain the key
    unchanged.

    Args:
        inner: any Estimator.
        schema: labels and key.
        statistics: of the training data.
        receiver: example, json or csv: the input of an export's default signature.
        has_our_head: whether its head is a result of build_head, which needs prepared labels.

    Returns:
        An Estimator of the same model_dir, configuration and initial values.
    """

    build = inner.model_fn
    if has_our_head:
        # The function is already graph code. Its conversion by AutoGraph would take half a second.
        build = tf.autograph.experimental.do_not_convert(build)

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        prepared = features
        if has_our_head and labels is not None:
            training = mode == estimator.ModeKeys.TRAIN
            prepared, labels = prepare_labels(features, labels, schema, training)
        prepared = derive_features(split_texts(prepared, schema), schema, statistics)
        with _seed_python(config.tf_random_seed):
            spec = build(prepared, labels, mode, config)
        if mode != estimator.ModeKeys.PREDICT:
            return spec
        spec = _add_signatures(spec, receiver)
        return _forward_key(spec, schema.key, features[schema.key]) if schema.key else spec

    return estimator.Estimator(
        model_fn=model_fn, config=inner.config, warm_start_from=inner._warm_start_settings
    )


@contextlib.contextmanager
def _seed_python(seed: int) -> Iterator[None]:
    """Seeds Python's random generator within the block, and restores its state afterwards.

    An Estimator seeds its graph. Keras draws the seeds of its initializers and dropout layers from
    Python's generator instead, when it builds them. The user's own random numbers are unaffected.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def _add_signatures(spec: Any, receiver: str) -> Any:
    """Returns a spec whose export has "predict", and a default signature for its receiver.

    A head exports the signature "predict", but the model_fn of a user may lack it. The default
    signature of a head is a classification or regression signature. TensorFlow supports these only
    for tf.Example, so an export for raw tensors would have no default signature.
    """
    predictions = spec.predictions
    if not isinstance(predictions, dict):
        predictions = {"predictions": predictions}
    outputs = dict(spec.export_outputs or {})
    if PREDICT not in outputs:
        outputs[PREDICT] = estimator.export.PredictOutput(predictions)
    if receiver != "example":
        outputs[DEFAULT] = outputs[PREDICT]
    return spec._replace(predictions=predictions, export_outputs=outputs)


def _forward_key(spec: Any, key: str, values: Any) -> Any:
    """Returns a spec whose predictions and predict signatures contain the key."""
    outputs = {}
    for name, output in spec.export_outputs.items():
        if isinstance(output, estimator.export.PredictOutput):
            output = estimator.export.PredictOutput({**output.outputs, key: values})
        outputs[name] = output
    return spec._replace(predictions={**spec.predictions, key: values}, export_outputs=outputs)
